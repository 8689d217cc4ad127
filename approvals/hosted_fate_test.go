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

// publishes is the question of a provider whether it may carry out a call.
func publishes(id string) agent.Item {
	return agent.Item{Type: agent.ItemMCPApprovalRequest, Raw: json.RawMessage(
		`{"type":"mcp_approval_request","id":"` + id + `","name":"publish","server_label":"wiki","arguments":"{}"}`)}
}

// answers is a model that gives one answer after the other.
func answers(all ...func(req *agent.ModelRequest) (*agent.ModelResponse, error)) patientModel {
	n := 0
	return func(_ context.Context, req *agent.ModelRequest) (*agent.ModelResponse, error) {
		n++
		return all[min(n, len(all))-1](req)
	}
}

func says(items ...agent.Item) func(*agent.ModelRequest) (*agent.ModelResponse, error) {
	return func(*agent.ModelRequest) (*agent.ModelResponse, error) {
		return &agent.ModelResponse{Items: items}, nil
	}
}

func fails(err error) func(*agent.ModelRequest) (*agent.ModelResponse, error) {
	return func(*agent.ModelRequest) (*agent.ModelResponse, error) { return nil, err }
}

// free is a tool that nobody has to be asked about.
func free(name string, invoke func(context.Context, *agent.ToolCall) (agent.ToolOutput, error)) agent.Tool {
	return agent.Tool{
		Name: name, Description: "Does it.", Parameters: json.RawMessage(`{"type":"object"}`),
		Validate: func(json.RawMessage) error { return nil }, Invoke: invoke,
	}
}

// openWiki is an MCP server of which nobody has to be asked about a call.
func openWiki() agent.Tool {
	server := wiki()
	server.NeedsApproval = func(context.Context, *agent.ToolCall) (bool, error) { return false, nil }
	return server
}

// peek is such a tool.
func peek() agent.Tool {
	return free("peek", func(context.Context, *agent.ToolCall) (agent.ToolOutput, error) {
		return agent.ToolOutput{Text: "seen"}, nil
	})
}

// TestSilentProviderThenRefuses: the provider took a request and said nothing of the call; that it refuses a later
// request does not say that the call was not carried out.
func TestSilentProviderThenRefuses(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.agent(answers(says(publishes("mcpr_1")), says(call("c1", "peek", `{}`)), fails(agent.ErrNotTaken)),
		wiki(), peek())
	b.start()
	id := b.submit()
	q := b.question(id)
	b.must(q, bob, approvals.Approve, "")
	b.reaches(id, approvals.RunFailed)
	if got := b.request(q.ID).Outcome; got != approvals.OutcomeUnknown {
		t.Errorf("outcome %q", got)
	}
}

// TestTwoCutOff: the process dies while the provider carries out two calls. People say of one that it shall be tried
// again; what they say holds, and nobody reads that the call was not carried out.
func TestTwoCutOff(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	p := &mcpProvider{asks: []string{"mcpr_1", "mcpr_2"}, answer: `"output":"page 7"`}
	p.carried = func(context.Context) error {
		b.mortal.kill()
		return errors.New("the process is gone")
	}
	b.agent(p, wiki())
	b.start()
	id := b.submit()
	b.until("both questions", func() bool { return len(b.pending(id)) == 2 })
	for _, q := range b.pending(id) {
		b.must(q, bob, approvals.Approve, "")
	}
	b.crashed()
	for n := 0; n < 6 && b.run(id).Status != approvals.RunDone; n++ {
		b.until("the run to stand still", func() bool {
			return len(b.pending(id)) > 0 && b.run(id).Status == approvals.RunWaiting ||
				b.run(id).Status == approvals.RunDone
		})
		for _, q := range b.pending(id) {
			if q.Kind == agent.OutcomeUnknown {
				b.must(q, bob, approvals.Retry, "")
			} else {
				t.Errorf("asked %s about %s", q.Kind, q.Interruption)
				b.must(q, bob, approvals.Approve, "")
			}
			break
		}
	}
	b.reaches(id, approvals.RunDone)
	slices.Sort(p.ran)
	if got := strings.Join(p.ran, " "); got != "mcpr_1 mcpr_1 mcpr_2 mcpr_2" {
		t.Errorf("carried out: %s", got)
	}
	if len(p.refused) > 0 {
		t.Errorf("the provider read %q", p.refused)
	}
	for _, q := range b.requests(id) {
		if q.Outcome == approvals.OutcomeFailed {
			t.Errorf("%s about %s has failed", q.Kind, q.Interruption)
		}
	}
	if n := len(b.requests(id)); n != 4 {
		t.Errorf("%d questions", n)
	}
}

// TestSilentBesideGivenUp: a function that people gave up is not said to be one that a provider was told to carry out.
func TestSilentBesideGivenUp(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	doubt := free("doubt", func(context.Context, *agent.ToolCall) (agent.ToolOutput, error) {
		return agent.ToolOutput{}, agent.ErrOutcomeUnknown
	})
	b.agent(answers(says(call("c1", "doubt", `{}`)), says(publishes("mcpr_1")),
		says(agent.AssistantMessage("Done."))), wiki(), doubt)
	b.start()
	id := b.submit()
	b.must(b.question(id), bob, approvals.GiveUp, "nobody knows")
	b.until("the next question", func() bool { return len(b.pending(id)) == 1 })
	b.must(b.question(id), bob, approvals.Approve, "")
	b.reaches(id, approvals.RunDone)
	b.until("the answer", b.delivered)
	if said := strings.Join(b.surface.texts(approvals.NotifyNotice), "\n"); strings.Contains(said, "doubt") ||
		!strings.Contains(said, "wiki.publish. The model's provider") {
		t.Errorf("people read %q", said)
	}
}

// TestSilentWithoutQuestion: nobody had to be asked about the call, and the run goes on in another execution before it
// ends. People are told nevertheless that the provider was silent.
func TestSilentWithoutQuestion(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	server := openWiki()
	b.agent(answers(says(publishes("mcpr_1")), says(call("c1", "pay", `{"amount":5}`)),
		says(agent.AssistantMessage("Done."))), append(b.tools(), server)...)
	b.start()
	id := b.submit()
	b.must(b.question(id), bob, approvals.Approve, "")
	b.reaches(id, approvals.RunDone)
	b.until("the answer", b.delivered)
	if said := strings.Join(b.surface.texts(approvals.NotifyNotice), "\n"); !strings.Contains(said,
		"wiki.publish. The model's provider was told to do so") {
		t.Errorf("people read %q", said)
	}
}

// TestAnswerThatCannotBeUsed: the provider's answer says what came of the call, but it cannot be used. People read what
// the provider said.
func TestAnswerThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.agent(answers(says(publishes("mcpr_1")), says(agent.Item{Type: "mcp_call", Raw: json.RawMessage(
		`{"type":"mcp_call","id":"m1","approval_request_id":"mcpr_1","name":"publish","server_label":"wiki",` +
			`"arguments":"{}","output":"page 7"}`)})), wiki())
	b.start()
	id := b.submit()
	q := b.question(id)
	b.must(q, bob, approvals.Approve, "")
	b.reaches(id, approvals.RunFailed)
	if got := b.request(q.ID).Outcome; got != approvals.OutcomeRan {
		t.Errorf("outcome %q", got)
	}
}

// TestAnswerOfTheSameQuestion: the provider answers an approval with the very same question. It is not told once more.
func TestAnswerOfTheSameQuestion(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	told := 0
	tell := func(items ...agent.Item) func(req *agent.ModelRequest) (*agent.ModelResponse, error) {
		return func(req *agent.ModelRequest) (*agent.ModelResponse, error) {
			told += len(req.OpenApprovals())
			return &agent.ModelResponse{Items: items}, nil
		}
	}
	b.agent(answers(tell(publishes("mcpr_1")), tell(publishes("mcpr_1")), tell(agent.AssistantMessage("Done."))),
		wiki())
	b.start()
	id := b.submit()
	b.must(b.question(id), bob, approvals.Approve, "")
	b.until("the end", func() bool { return b.run(id).Status.Ended() })
	if told != 1 {
		t.Errorf("told %d times, the run is %s", told, b.run(id).Status)
	}
}

// TestRefusedBesideACut: of two agents that are used as tools, one is cut off while the provider carries a call out,
// and the provider refuses the request of the other. People read that nothing is known of the first call alone.
func TestRefusedBesideACut(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	cut := make(chan struct{})
	inside := func(name string, last func(*agent.ModelRequest) (*agent.ModelResponse, error)) agent.Tool {
		a := &agent.Agent{
			Name: name, Model: answers(says(publishes("mcpr_"+name)), last), Tools: []agent.Tool{openWiki()},
		}
		return a.AsTool("ask_"+name, "Asks.")
	}
	x := inside("x", func(*agent.ModelRequest) (*agent.ModelResponse, error) {
		<-cut
		return nil, errors.New("the answer was lost")
	})
	y := inside("y", func(*agent.ModelRequest) (*agent.ModelResponse, error) {
		defer close(cut)
		return nil, agent.ErrNotTaken
	})
	b.agent(answers(says(call("c1", "ask_x", `{"input":"go"}`), call("c2", "ask_y", `{"input":"go"}`))), x, y)
	b.start()
	id := b.submit()
	b.reaches(id, approvals.RunFailed)
	for _, e := range b.recorded(id) {
		switch {
		case e.Kind == agent.KindAgent:
		case e.Call == "mcpr_x" && (!e.Done.IsZero() || !e.GivenUp):
			t.Errorf("the call that was cut off is %q", e.Outcome())
		case e.Call == "mcpr_y" && e.Outcome() != approvals.OutcomeFailed:
			t.Errorf("the call that was refused is %q", e.Outcome())
		}
	}
}
