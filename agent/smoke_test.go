package agent_test

import (
	"context"
	"encoding/json"
	"testing"

	"countersign/agent"
)

type stub func(req *agent.ModelRequest) (*agent.ModelResponse, error)

func (s stub) Respond(_ context.Context, req *agent.ModelRequest) (*agent.ModelResponse, error) {
	return s(req)
}

func TestSmoke(t *testing.T) {
	turn := 0
	a := &agent.Agent{Name: "ops", Model: stub(func(req *agent.ModelRequest) (*agent.ModelResponse, error) {
		turn++
		if turn == 1 {
			return &agent.ModelResponse{Items: []agent.Item{
				{Type: agent.ItemFunctionCall, CallID: "c1", Name: "pay", Arguments: `{"b":1, "a":"x"}`},
				{Type: agent.ItemFunctionCall, CallID: "c2", Name: "look", Arguments: `{}`},
			}}, nil
		}
		it, err := agent.ParseItem(json.RawMessage(`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"done"}]}`))
		return &agent.ModelResponse{Items: []agent.Item{it}}, err
	})}
	ran := 0
	invoke := func(ctx context.Context, c *agent.ToolCall) (agent.ToolOutput, error) {
		ran++
		return agent.ToolOutput{Text: c.Tool + string(c.Arguments)}, nil
	}
	a.Tools = []agent.Tool{
		{Name: "pay", NeedsApproval: agent.AlwaysAsk, Parameters: json.RawMessage(`{}`), Invoke: invoke, Validate: func(json.RawMessage) error { return nil }},
		{Name: "look", Invoke: invoke},
	}
	r := &agent.Runner{Checkpoint: func(_ context.Context, d agent.Delta) error {
		t.Logf("%d+%d %s %s", d.From, d.Count, d.Head, d.Items)
		return nil
	}}
	res, err := r.Run(t.Context(), a, agent.UserMessage("go"))
	if err != nil || len(res.Interruptions) != 1 {
		t.Fatal(res, err)
	}
	b, err := res.State.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s", b)
	s, err := agent.DecodeRunState(b, a)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Approve(res.Interruptions[0], agent.ApproveOptions{Always: true}); err != nil {
		t.Fatal(err)
	}
	b, _ = json.Marshal(s)
	s, err = agent.DecodeRunState(b, a)
	if err != nil {
		t.Fatal(err)
	}
	res, err = r.Resume(t.Context(), a, s)
	if err != nil || res.FinalOutput != "done" || ran != 2 {
		t.Fatal(res, err, ran)
	}
}
