package approvals_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"countersign/agent"
	"countersign/approvals"
)

// mcpProvider is a model whose provider carries out the calls of an MCP server: it asks before a call, and carries the
// call out whenever a request says that it is approved.
type mcpProvider struct {
	asks    []string // ids of the questions of the first answer, with one call each
	others  []agent.Item
	answer  string                      // members of the item that says what came of a call; empty: there is none
	carried func(context.Context) error // called while the provider carries out calls

	mu       sync.Mutex
	ran      []string // calls that were carried out
	refused  []string // what stood in the place of an approval
	requests int
}

func (p *mcpProvider) Respond(ctx context.Context, req *agent.ModelRequest) (*agent.ModelResponse, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests++
	if p.requests == 1 {
		items := slices.Clone(p.others)
		for _, id := range p.asks {
			items = append(items, agent.Item{Type: agent.ItemMCPApprovalRequest, Raw: json.RawMessage(
				`{"type":"mcp_approval_request","id":"` + id +
					`","name":"publish","server_label":"wiki","arguments":"{}"}`)})
		}
		return &agent.ModelResponse{ID: "resp_1", Items: items}, nil
	}
	var items []agent.Item
	for _, it := range req.Items {
		switch {
		case it.Type != agent.ItemMCPApprovalResponse:
		case !strings.Contains(string(it.Raw), `"approve":true`):
			p.refused = append(p.refused, it.Output)
		case !slices.ContainsFunc(req.Items, func(o agent.Item) bool {
			return o.Type == "mcp_call" && strings.Contains(string(o.Raw), `"`+it.CallID+`"`)
		}):
			p.ran = append(p.ran, it.CallID)
			if p.answer == "" {
				continue
			}
			items = append(items, agent.Item{Type: "mcp_call", Raw: json.RawMessage(
				`{"type":"mcp_call","id":"` + "m_" + it.CallID + `","approval_request_id":"` + it.CallID +
					`","name":"publish","server_label":"wiki","arguments":"{}",` + p.answer + `}`)})
		}
	}
	if p.carried != nil && len(p.ran) > 0 {
		carried := p.carried
		p.carried = nil
		if err := carried(ctx); err != nil {
			return nil, err
		}
	}
	return &agent.ModelResponse{Items: append(items, agent.AssistantMessage("Done."))}, nil
}

// wiki is the MCP server that the provider talks to.
func wiki() agent.Tool {
	server := agent.NewHostedTool(agent.KindHostedMCP, "wiki",
		json.RawMessage(`{"type":"mcp","server_label":"wiki","server_url":"https://wiki.example/mcp"}`), nil)
	server.NeedsApproval = agent.AlwaysAsk
	return server
}

// TestWhatTheProviderSays: while the provider carries a call out it is running, and afterwards people read what the
// provider says of it, or that it says nothing.
func TestWhatTheProviderSays(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		answer  string
		outcome approvals.Outcome
		told    bool // that nothing is known
	}{
		"carried out":    {`"output":"page 7"`, approvals.OutcomeRan, false},
		"failed":         {`"output":null,"error":"no such page"`, approvals.OutcomeFailed, false},
		"failed, a word": {`"status":"failed"`, approvals.OutcomeFailed, false},
		"not over":       {`"status":"calling"`, approvals.OutcomeUnknown, true},
		"silent":         {``, approvals.OutcomeUnknown, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			p := &mcpProvider{asks: []string{"mcpr_1"}, answer: tt.answer}
			var meanwhile approvals.Outcome
			var asked *approvals.Request
			p.carried = func(context.Context) error {
				meanwhile = b.request(asked.ID).Outcome
				return nil
			}
			b.agent(p, wiki())
			b.start()
			id := b.submit()
			asked = b.question(id)
			b.must(asked, bob, approvals.Approve, "")
			b.reaches(id, approvals.RunDone)
			if meanwhile != approvals.OutcomeRunning {
				t.Errorf("while it was carried out it was %q", meanwhile)
			}
			if got := b.request(asked.ID).Outcome; got != tt.outcome {
				t.Errorf("outcome %q, want %q", got, tt.outcome)
			}
			b.until("the answer", b.delivered)
			notices := strings.Join(b.surface.texts(approvals.NotifyNotice), "\n")
			told := strings.Contains(notices, "wiki.publish. The model's provider was told to do so")
			if told != tt.told {
				t.Errorf("people read %q", notices)
			}
		})
	}
}

// TestProviderCutOff: the process dies, or the answer is lost for another reason, while the provider carries a call
// out. People are asked what became of it, and without their word the provider is not told again.
func TestProviderCutOff(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		verdict approvals.Verdict
		ran     int
		reads   string
	}{
		{approvals.Retry, 2, ""},
		{approvals.MarkDone, 1, "has been carried out already"},
		{approvals.GiveUp, 1, "a person has given it up"},
	} {
		t.Run(string(tt.verdict), func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			p := &mcpProvider{asks: []string{"mcpr_1"}, answer: `"output":"page 7"`}
			p.carried = func(context.Context) error {
				b.mortal.kill()
				return errors.New("the process is gone")
			}
			b.agent(p, wiki())
			b.start()
			id := b.submit()
			b.must(b.question(id), bob, approvals.Approve, "")
			b.crashed()
			q := b.question(id)
			if q.Kind != agent.OutcomeUnknown || len(p.ran) != 1 {
				t.Fatalf("asked %s after %v", q.Kind, p.ran)
			}
			b.must(q, bob, tt.verdict, "page 7")
			b.reaches(id, approvals.RunDone)
			if len(p.ran) != tt.ran {
				t.Errorf("carried out %d times, want %d", len(p.ran), tt.ran)
			}
			read := strings.Join(p.refused, " ")
			if !strings.Contains(read, tt.reads) || (tt.reads == "") != (read == "") {
				t.Errorf("the provider read %q", read)
			}
		})
	}
}

// TestProviderTakesNothing: the provider refuses the request that tells it to carry a call out. People do not read that
// nobody knows what came of the call. Where it has only forgotten the conversation, it is told once more, and nobody is
// asked.
func TestProviderTakesNothing(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		err     error
		ends    approvals.RunStatus
		outcome approvals.Outcome
	}{
		"refused":                       {agent.ErrNotTaken, approvals.RunFailed, approvals.OutcomeFailed},
		"has forgotten":                 {agent.ErrConversationGone, approvals.RunDone, approvals.OutcomeRan},
		"control: nobody knows, failed": {errors.New("cut short"), approvals.RunFailed, approvals.OutcomeUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			p := &mcpProvider{asks: []string{"mcpr_1"}, answer: `"output":"page 7"`}
			p.carried = func(context.Context) error { return tt.err }
			b.agents.set(approvals.AgentConfig{
				Agent: &agent.Agent{Name: "ops", Model: p, Tools: []agent.Tool{wiki()}}, ProviderConversation: true,
			})
			b.start()
			id := b.submit()
			q := b.question(id)
			b.must(q, bob, approvals.Approve, "")
			b.reaches(id, tt.ends)
			if got := b.request(q.ID).Outcome; got != tt.outcome {
				t.Errorf("outcome %q, want %q", got, tt.outcome)
			}
			if n := len(b.requests(id)); n != 1 {
				t.Errorf("%d questions", n)
			}
		})
	}
}

// TestProviderWaitsForOthers: the provider is told of a call when nothing of the same answer waits any more.
func TestProviderWaitsForOthers(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	p := &mcpProvider{asks: []string{"mcpr_1"}, others: []agent.Item{call("c1", "pay", `{"amount":5}`)},
		answer: `"output":"page 7"`}
	b.agent(p, append(b.tools(), wiki())...)
	b.start()
	id := b.submit()
	b.until("both questions", func() bool { return len(b.pending(id)) == 2 })
	both := b.pending(id)
	i := slices.IndexFunc(both, func(r *approvals.Request) bool { return r.Tool.Kind == agent.KindHostedMCP })
	b.must(both[i], bob, approvals.Approve, "")
	b.until("the run to wait on", func() bool {
		return b.run(id).Status == approvals.RunWaiting && b.request(both[i].ID).Applied
	})
	if got := b.request(both[i].ID); got.Outcome != approvals.OutcomeNone || got.Status != approvals.RequestApproved {
		t.Errorf("the call is %q, the request %s", got.Outcome, got.Status)
	}
	if n := len(b.requests(id)); n != 2 {
		t.Errorf("%d requests", n)
	}
	b.must(both[1-i], bob, approvals.Approve, "")
	b.reaches(id, approvals.RunDone)
	if got := b.request(both[i].ID); got.Outcome != approvals.OutcomeRan || len(p.ran) != 1 {
		t.Errorf("the call is %q, carried out: %v", got.Outcome, p.ran)
	}
	if n := len(b.requests(id)); n != 2 {
		t.Errorf("%d requests", n)
	}
}
