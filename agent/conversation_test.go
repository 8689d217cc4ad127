package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"countersign/agent"
)

// provider is a model whose provider keeps conversations, until it forgets them.
type provider struct {
	kept     map[string]int // items by response id
	requests []*agent.ModelRequest
	answers  [][]agent.Item
}

func (p *provider) Respond(_ context.Context, req *agent.ModelRequest) (*agent.ModelResponse, error) {
	have, ok := p.kept[req.PreviousResponseID]
	if req.PreviousResponseID != "" && !ok {
		return nil, agent.ErrConversationGone
	}
	p.requests = append(p.requests, req)
	id := "resp_" + string(rune('a'+len(p.requests)-1))
	items := p.answers[0]
	p.answers = p.answers[1:]
	p.kept[id] = have + len(req.Items) + len(items)
	return &agent.ModelResponse{ID: id, Items: items}, nil
}

func gated() agent.Tool {
	return agent.Tool{
		Name: "pay", Description: "Pays.", Parameters: json.RawMessage(`{"type":"object"}`),
		Validate: func(json.RawMessage) error { return nil }, NeedsApproval: agent.AlwaysAsk,
		Invoke: func(context.Context, *agent.ToolCall) (agent.ToolOutput, error) {
			return agent.ToolOutput{Text: "paid"}, nil
		},
	}
}

// TestConversationHeld sends what the provider does not have, and everything once it has forgotten what it had.
func TestConversationHeld(t *testing.T) {
	t.Parallel()
	p := &provider{kept: map[string]int{"resp_before": 2}, answers: [][]agent.Item{
		{{Type: agent.ItemFunctionCall, CallID: "c1", Name: "pay", Arguments: "{}"}}, {agent.AssistantMessage("done")},
	}}
	a := &agent.Agent{Name: "ops", Model: p, Tools: []agent.Tool{gated()}}
	runner := &agent.Runner{}
	input := []agent.Item{agent.UserMessage("hello"), agent.AssistantMessage("hi"), agent.UserMessage("pay")}
	result, err := runner.Run(t.Context(), a, input, agent.RunOptions{
		Conversation: &agent.Conversation{PreviousResponseID: "resp_before", Held: 2},
	})
	if err != nil || len(p.requests[0].Items) != 1 {
		t.Fatalf("%v, sent %+v", err, p.requests)
	}
	saved, err := json.Marshal(result.State)
	if err != nil {
		t.Fatal(err)
	}
	clear(p.kept)
	s, err := agent.DecodeRunState(saved, a)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Approve(s.Interruptions()[0], agent.ApproveOptions{}); err != nil {
		t.Fatal(err)
	}
	result, err = runner.Resume(t.Context(), a, s, agent.RunOptions{})
	if !errors.Is(err, agent.ErrConversationGone) || result == nil {
		t.Fatal(err)
	}
	if !result.State.ResendConversation() || result.State.ResendConversation() {
		t.Error("there is one conversation to forget")
	}
	if result, err = runner.Resume(t.Context(), a, result.State, agent.RunOptions{}); err != nil {
		t.Fatal(err)
	}
	if last := p.requests[1]; len(last.Items) != 5 || last.PreviousResponseID != "" || !last.Stored {
		t.Errorf("sent again: %+v", last)
	}
	c, unsent := result.State.Conversation()
	if c == nil || c.PreviousResponseID != "resp_b" || c.Held != 6 || unsent != 0 {
		t.Errorf("at the end %+v, %d unsent", c, unsent)
	}
	result.State.LeaveConversation()
	if c, _ := result.State.Conversation(); c != nil {
		t.Errorf("left, and yet %+v", c)
	}
}

// TestConversationRefused refuses what would be said twice, or not at all.
func TestConversationRefused(t *testing.T) {
	t.Parallel()
	shorten := func(context.Context, *agent.History) error { return nil }
	short := &agent.Agent{Name: "short", Model: &provider{}, Shorten: shorten}
	for _, c := range []struct {
		why  string
		held int
		prev string
		with func(*agent.Agent)
		want string // empty: accepted
	}{
		{"all of the input is held", 1, "resp_x", nil, "leaves at least one item"},
		{"less than nothing is held", -1, "resp_x", nil, "leaves at least one item"},
		{"held by nothing", 1, "", nil, "has a name or a previous response"},
		{"it hands over to one that shortens", 0, "", func(a *agent.Agent) {
			a.Handoffs = []agent.Handoff{{Agent: short}}
		}, `"short" shortens its history`},
		{"it uses one that shortens as a tool", 0, "", func(a *agent.Agent) {
			a.Tools = []agent.Tool{short.AsTool("ask", "Asks.")}
		}, ""},
	} {
		p := &provider{kept: map[string]int{"resp_x": 1}, answers: [][]agent.Item{{agent.AssistantMessage("hi")}}}
		a := &agent.Agent{Name: "ops", Model: p}
		if c.with != nil {
			c.with(a)
		}
		_, err := (&agent.Runner{}).Run(t.Context(), a, []agent.Item{agent.UserMessage("go")}, agent.RunOptions{
			Conversation: &agent.Conversation{PreviousResponseID: c.prev, Held: c.held},
		})
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.why, err)
		case c.want != "" && (!errors.Is(err, agent.ErrConfig) || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v", c.why, err)
		}
	}
}
