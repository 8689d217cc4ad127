package approvals_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"countersign/agent"
	"countersign/approvals"
)

// leftOut stands in the memory of a place for its oldest turn.
const leftOut = "The 1 oldest turns of this conversation were left out or shortened because it has become long."

func TestMemoryOfAPlace(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var mu = make(chan *agent.ModelRequest, 10)
	b.model(model(func(req *agent.ModelRequest) ([]agent.Item, error) {
		mu <- req
		return asks(call("c1", "pay", `{}`))(req)
	}))
	b.start()
	first := b.submit()
	r := b.question(first)
	if _, err := b.service.CancelRun(t.Context(), ws, first, ann, "changed my mind"); err != nil {
		t.Fatal(err)
	}
	second := b.submit()
	b.must(b.question(second), bob, approvals.Approve, "")
	b.reaches(second, approvals.RunDone)
	<-mu
	req := <-mu // the first turn of the second run
	var got []string
	for _, it := range req.Items {
		got = append(got, string(it.Type)+" "+it.Text+it.Name+it.Output)
	}
	want := []string{
		"message please", "function_call pay",
		"function_call_output There is no result: the run ended before this call was decided or had finished.",
		"message please",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("the second run starts with\n%s", strings.Join(got, "\n"))
	}
	if got := b.request(r.ID); got.Status != approvals.RequestCancelled || got.CancelledBy != ann {
		t.Errorf("the first run's request is %s by %q", got.Status, got.CancelledBy)
	}
}

// patientModel is a Model that learns of the end of its context.
type patientModel func(ctx context.Context, req *agent.ModelRequest) (*agent.ModelResponse, error)

func (m patientModel) Respond(ctx context.Context, req *agent.ModelRequest) (*agent.ModelResponse, error) {
	return m(ctx, req)
}

// TestMemoryHasNoOpenApproval has a run end while the model's provider may carry out a call that was approved: the next
// run of the place does not tell the provider to carry it out.
func TestMemoryHasNoOpenApproval(t *testing.T) {
	t.Parallel()
	for _, cancelled := range []bool{true, false} {
		b := newBench(t)
		description := json.RawMessage(`{"type":"mcp","server_label":"wiki","server_url":"https://wiki.example/mcp"}`)
		server := agent.NewHostedTool(agent.KindHostedMCP, "wiki", description, nil)
		server.NeedsApproval = agent.AlwaysAsk
		carriesOut, told := make(chan struct{}), make(chan *agent.ModelRequest, 1)
		b.agent(patientModel(func(ctx context.Context, req *agent.ModelRequest) (*agent.ModelResponse, error) {
			switch asked := slices.ContainsFunc(req.Items, func(it agent.Item) bool { return it.IsCall() }); {
			case !asked:
				return &agent.ModelResponse{Items: []agent.Item{{
					Type: agent.ItemMCPApprovalRequest,
					Raw: json.RawMessage(`{"type":"mcp_approval_request","id":"mcpr_1","name":"publish",` +
						`"server_label":"wiki","arguments":"{}"}`),
				}}}, nil
			case req.Items[len(req.Items)-1].IsOutput():
				close(carriesOut)
				if !cancelled {
					return nil, errors.New("the answer was lost")
				}
				<-ctx.Done()
				return nil, ctx.Err()
			}
			told <- req
			return &agent.ModelResponse{Items: []agent.Item{agent.AssistantMessage("Hello.")}}, nil
		}), server)
		b.start()
		first := b.submit()
		b.must(b.question(first), bob, approvals.Approve, "")
		<-carriesOut
		if cancelled {
			if _, err := b.service.CancelRun(t.Context(), ws, first, ann, "changed my mind"); err != nil {
				t.Fatal(err)
			}
		} else {
			b.reaches(first, approvals.RunFailed)
		}
		b.submit()
		again := <-told
		if len(again.OpenApprovals()) > 0 {
			t.Errorf("cancelled %v: the provider is told again that the call is approved", cancelled)
		}
		text := again.Items[slices.IndexFunc(again.Items, func(it agent.Item) bool { return it.IsOutput() })].Output
		if !strings.Contains(text, "not known whether this call was carried out") {
			t.Errorf("cancelled %v: the provider is told %q", cancelled, text)
		}
	}
}

func TestMemoryLeavesOutTheOldest(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var last *agent.ModelRequest
	echo := model(func(req *agent.ModelRequest) ([]agent.Item, error) {
		last = req
		return []agent.Item{agent.AssistantMessage(strings.Repeat("y", 400))}, nil
	})
	b.agents.set(approvals.AgentConfig{Agent: &agent.Agent{Name: "ops", Model: echo}, HistoryTokens: 300})
	step := b.step()
	for range 4 {
		if err := step(runJob(b.submit())); err != nil {
			t.Fatal(err)
		}
	}
	if got := last.Items[0]; got.Text != leftOut || len(last.Items) != 6 {
		t.Errorf("%d items, first %q", len(last.Items), got.Text)
	}
	if got := last.Items[len(last.Items)-1].Text; got != "please" {
		t.Errorf("last item %q", got)
	}
}

// TestMemoryKeepsTheGistOfATooLongRun has one run alone fill the memory.
func TestMemoryKeepsTheGistOfATooLongRun(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var last *agent.ModelRequest
	tools := b.tools()
	tools[1].Invoke = func(context.Context, *agent.ToolCall) (agent.ToolOutput, error) {
		return agent.ToolOutput{Text: strings.Repeat("z", 5000)}, nil
	}
	m := model(func(req *agent.ModelRequest) ([]agent.Item, error) {
		last = req
		if len(outputs(req)) == 0 {
			return []agent.Item{call("c1", "note", `{}`)}, nil
		}
		return []agent.Item{agent.AssistantMessage("noted")}, nil
	})
	b.agents.set(approvals.AgentConfig{Agent: &agent.Agent{Name: "ops", Model: m, Tools: tools}, HistoryTokens: 300})
	step := b.step()
	var first []agent.Item
	for range 2 {
		if err := step(runJob(b.submit())); err != nil {
			t.Fatal(err)
		}
		first = last.Items
	}
	var got []string
	for _, it := range first[:4] {
		got = append(got, string(it.Role)+" "+it.Text)
	}
	want := "developer " + leftOut + "\nuser please\nassistant noted\nuser please"
	if strings.Join(got, "\n") != want {
		t.Errorf("the second run starts with\n%s", strings.Join(got, "\n"))
	}
}
