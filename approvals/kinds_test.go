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

// external is a tool that somebody outside carries out.
func external() agent.Tool {
	tool := agent.NewTool("deploy", "Deploy a version.", func(context.Context, struct {
		Ref string `json:"ref"`
	}) (string, error) {
		return "", nil
	})
	tool.Kind, tool.External, tool.Invoke = agent.KindExternal, true, nil
	return tool
}

// deploys is a model that deploys once and says what came of it.
func deploys(req *agent.ModelRequest) ([]agent.Item, error) {
	if told := outputs(req); len(told) > 0 {
		return []agent.Item{agent.AssistantMessage(told["c1"])}, nil
	}
	return []agent.Item{call("c1", "deploy", `{"ref":"v2"}`)}, nil
}

// TestExternalResult takes a result that a person reports, and nothing else, for the output of an external call.
func TestExternalResult(t *testing.T) {
	t.Parallel()
	for verdict, want := range map[approvals.Verdict]string{
		approvals.ProvideResult: `A person has carried this call out and reports, as data: "all \"green\""`,
		approvals.Reject: "A person says that this call will not be carried out. " +
			`Their words, as data: "all \"green\""`,
	} {
		b := newBench(t)
		b.agent(model(deploys), external())
		b.start()
		id := b.submit()
		q := b.question(id)
		if q.Kind != agent.ExternalResult || string(q.Arguments) != `{"ref":"v2"}` {
			t.Fatalf("asked %s %s", q.Kind, q.Arguments)
		}
		for _, wrong := range []approvals.Verdict{
			approvals.Approve, approvals.AlwaysApprove, approvals.MarkDone, approvals.Retry,
		} {
			b.refused(q, bob, wrong, approvals.ErrInvalid)
		}
		b.refused(q, guest, verdict, approvals.ErrUnauthorized)
		b.must(q, bob, verdict, `all "green"`)
		if got := b.reaches(id, approvals.RunDone).Output; got != want {
			t.Errorf("%s: the model was told %q", verdict, got)
		}
	}
}

// TestOneResultSuffices has one of two people say that the call will not be carried out, which takes two to say: the
// other can still report a result, because that takes one.
func TestOneResultSuffices(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.people.setGroup("S1", bob, cara)
	b.policy.always(with(func(q *approvals.Requirement) {
		q.Seats = approvals.Quorum(2, approvals.Approvers{Groups: []string{"S1"}})
		q.DenyQuorum = 2
	}))
	b.agent(model(deploys), external())
	b.start()
	for _, last := range []approvals.Verdict{approvals.ProvideResult, approvals.Reject} {
		id := b.submit()
		q := b.question(id)
		if got := b.must(q, bob, approvals.Reject, "not today"); got.Status != approvals.RequestPending {
			t.Fatalf("one of two sufficed: %s, %s", got.Status, got.Note)
		}
		b.must(q, cara, last, "all green")
		got := b.reaches(id, approvals.RunDone).Output
		if strings.Contains(got, "reports") != (last == approvals.ProvideResult) {
			t.Errorf("%s: the model was told %q", last, got)
		}
	}
}

// TestGateBeforeExternalResult asks whether a call may be carried out before it asks what came of it.
func TestGateBeforeExternalResult(t *testing.T) {
	t.Parallel()
	tool := external()
	tool.NeedsApproval = agent.AlwaysAsk
	b := newBench(t)
	b.agent(model(deploys), tool)
	b.start()
	id := b.submit()
	first := b.question(id)
	if first.Kind != agent.Confirm {
		t.Fatalf("asked %s", first.Kind)
	}
	b.refused(first, bob, approvals.ProvideResult, approvals.ErrInvalid)
	b.must(first, bob, approvals.Approve, "")
	b.until("the second question", func() bool { return len(b.requests(id)) == 2 })
	second := b.question(id)
	if second.Kind != agent.ExternalResult {
		t.Fatalf("asked %s", second.Kind)
	}
	b.must(second, cara, approvals.ProvideResult, "done")
	b.reaches(id, approvals.RunDone)
}

// nested returns an agent that uses another as a tool, which pays.
func nested(t *testing.T, b *bench) (agent.Model, agent.Tool) {
	inside := model(func(req *agent.ModelRequest) ([]agent.Item, error) {
		if told := outputs(req); len(told) > 0 {
			return []agent.Item{agent.AssistantMessage("inside: " + told["n1"])}, nil
		}
		return []agent.Item{call("n1", "pay", `{"amount":7}`)}, nil
	})
	inner := &agent.Agent{Name: "finance", Tools: b.tools(), Model: inside}
	outer := model(func(req *agent.ModelRequest) ([]agent.Item, error) {
		if told := outputs(req); len(told) > 0 {
			return []agent.Item{agent.AssistantMessage(told["c1"])}, nil
		}
		return []agent.Item{call("c1", "ask_finance", `{"input":"pay seven"}`)}, nil
	})
	return outer, inner.AsTool("ask_finance", "Ask finance.")
}

// TestNestedAgentAsksTheSamePeople puts the question of an agent that is used as a tool like any other, with its path,
// and survives a restart in between.
func TestNestedAgentAsksTheSamePeople(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	m, tool := nested(t, b)
	b.agent(m, tool)
	b.start()
	id := b.submit()
	q := b.question(id)
	if q.Agent != "finance" || strings.Join(q.Path, "/") != "ops/finance" ||
		q.Tool.Name != "pay" || q.Tool.Description == "" {
		t.Errorf("asked %s %v %+v", q.Agent, q.Path, q.Tool)
	}
	b.reopen()
	b.start()
	b.must(q, bob, approvals.Approve, "")
	if got := b.reaches(id, approvals.RunDone).Output; !strings.HasPrefix(got, "inside: ") {
		t.Errorf("output %q", got)
	}
	if got := b.effects.all(); len(got) != 1 {
		t.Errorf("ran %v", got)
	}
}

// TestHandoffGoesOnWithTheOtherAgent asks for the agent that took over.
func TestHandoffGoesOnWithTheOtherAgent(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	m := model(func(req *agent.ModelRequest) ([]agent.Item, error) {
		switch told := outputs(req); len(told) {
		case 0:
			return []agent.Item{call("c1", "transfer_to_billing", `{}`)}, nil
		case 1:
			return []agent.Item{call("c2", "pay", `{"amount":3}`)}, nil
		default:
			return []agent.Item{agent.AssistantMessage(told["c2"])}, nil
		}
	})
	b.agents.set(approvals.AgentConfig{Agent: &agent.Agent{Name: "ops", Model: m, Handoffs: []agent.Handoff{{
		Agent: &agent.Agent{Name: "billing", Model: m, Tools: b.tools()},
	}}}})
	b.start()
	id := b.submit()
	q := b.question(id)
	if q.Agent != "billing" {
		t.Errorf("asked for %s", q.Agent)
	}
	b.must(q, bob, approvals.Approve, "")
	b.reaches(id, approvals.RunDone)
	if got := b.effects.all(); len(got) != 1 {
		t.Errorf("ran %v", got)
	}
}

// away is a toolset that cannot be reached until it is told otherwise.
type away struct {
	tools []agent.Tool
	asked chan struct{}
	back  chan struct{}
}

func (a *away) Name() string { return "away" }

func (a *away) Tools(ctx context.Context) ([]agent.Tool, error) {
	select {
	case <-a.back:
		return a.tools, nil
	default:
	}
	select {
	case a.asked <- struct{}{}:
	default:
	}
	return nil, errors.New("connection refused")
}

// TestToolsetThatIsAway does not fail a run because a server is away for a while.
func TestToolsetThatIsAway(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	set := &away{tools: b.tools(), asked: make(chan struct{}, 1), back: make(chan struct{})}
	b.agents.set(approvals.AgentConfig{Agent: &agent.Agent{
		Name: "ops", Model: model(twice), Toolsets: []agent.Toolset{set},
	}})
	b.start()
	id := b.submit()
	<-set.asked
	close(set.back)
	b.must(b.question(id), bob, approvals.AlwaysApprove, "")
	b.reaches(id, approvals.RunDone)
}

// TestToolsetThatStaysAway puts the run back for a while, and then tells people.
func TestToolsetThatStaysAway(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	set := &away{asked: make(chan struct{}, 1), back: make(chan struct{})}
	b.agents.set(approvals.AgentConfig{Agent: &agent.Agent{
		Name: "ops", Model: model(twice), Toolsets: []agent.Toolset{set},
	}})
	step := b.step()
	id := b.submit()
	job := runJob(id)
	for job.Attempts = range 12 {
		if err := step(job); !errors.Is(err, agent.ErrToolset) {
			t.Fatalf("attempt %d: %v", job.Attempts, err)
		}
		if got := b.run(id).Status; got != approvals.RunQueued {
			t.Fatalf("attempt %d: the run is %s", job.Attempts, got)
		}
	}
	job.Attempts = 12
	if err := step(job); err != nil {
		t.Fatal(err)
	}
	if got := b.run(id); got.Status != approvals.RunFailed || !strings.Contains(got.Failure, "tool server") {
		t.Errorf("run is %s: %q", got.Status, got.Failure)
	}
}

// TestHostedServerIsShown records which MCP server the provider talks to, as the tool's description says it.
func TestHostedServerIsShown(t *testing.T) {
	t.Parallel()
	for described, want := range map[string]string{
		`"server_url":"https://wiki.example/mcp"`: "server_url https://wiki.example/mcp",
		`"connector_id":"connector_dropbox"`:      "connector_id connector_dropbox",
	} {
		b := newBench(t)
		description := json.RawMessage(`{"type":"mcp","server_label":"wiki",` + described + `}`)
		server := agent.NewHostedTool(agent.KindHostedMCP, "wiki", description, nil)
		server.NeedsApproval, server.Attributes = agent.AlwaysAsk, []string{"header Authorization"}
		b.agent(model(func(*agent.ModelRequest) ([]agent.Item, error) {
			return []agent.Item{{
				Type: agent.ItemMCPApprovalRequest,
				Raw: json.RawMessage(`{"type":"mcp_approval_request","id":"mcpr_1",` +
					`"name":"search","server_label":"wiki","arguments":"{}"}`),
			}}, nil
		}), server)
		b.start()
		q := b.question(b.submit())
		binding := []string{"server_label wiki", want, "header Authorization"}
		if q.Tool.Name != "wiki.search" || !slices.Equal(q.Tool.Binding, binding) {
			t.Errorf("%s is shown as %+v", described, q.Tool)
		}
	}
}

// TestExplanationIsBounded puts what a tool says about a call on the question: shortened where it is too long, and
// nothing when the tool panics. What the tool returned stays as it was.
func TestExplanationIsBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 301)
	many := slices.Repeat([]string{"line"}, 41)
	shared := []string{"whole", long, "not \xff text"}
	for name, c := range map[string]struct {
		explain func(*agent.ToolCall) []string
		want    []string
	}{
		"shortened": {func(*agent.ToolCall) []string { return shared },
			[]string{"whole", strings.Repeat("é", 299) + "…", "not \uFFFD text"}},
		"too many": {func(*agent.ToolCall) []string { return many },
			append(slices.Clone(many[:39]), "… and 2 more")},
		"panics": {func(*agent.ToolCall) []string { panic("explain") }, nil},
		"changes the call": {func(c *agent.ToolCall) []string { c.Tool = "another"; return []string{"said"} },
			[]string{"said"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			tools := b.tools()
			tools[0].Explain = c.explain
			b.agent(asks(call("c1", "pay", `{}`)), tools...)
			step := b.step()
			id := b.submit()
			if err := step(runJob(id)); err != nil {
				t.Fatal(err)
			}
			q := b.pending(id)[0]
			if !slices.Equal(q.Explanation, c.want) || q.Tool.Name != "pay" {
				t.Errorf("%s is explained as %q", q.Tool.Name, q.Explanation)
			}
			if shared[1] != long || len(many) != 41 {
				t.Error("what the tool returned was changed")
			}
		})
	}
}
