package approvals_test

import (
	"context"
	"testing"

	"countersign/agent"
	"countersign/approvals"
)

// TestRequestKeepsWhyItWasAsked: what a tool says of why its gate asks is recorded with the question, with the run at
// hand, and of a tool that panics nothing is.
func TestRequestKeepsWhyItWasAsked(t *testing.T) {
	t.Parallel()
	for name, because := range map[string]func(context.Context, *agent.ToolCall) string{
		"ops: amount > 4": func(_ context.Context, call *agent.ToolCall) string {
			if run, ok := call.Run.Value.(*approvals.Run); !ok || run.Requester == "" {
				return "nobody asks"
			}
			return call.Agent + ": amount > 4"
		},
		"": func(context.Context, *agent.ToolCall) string { panic("no words") },
	} {
		b := newBench(t)
		tools := b.tools()
		for i := range tools {
			tools[i].Because = because
		}
		b.agent(asks(call("c1", "pay", `{"amount":5}`)), tools...)
		b.start()
		id := b.submit()
		b.until("the question", func() bool { return len(b.pending(id)) == 1 })
		if r := b.request(b.pending(id)[0].ID); r.Because != name {
			t.Errorf("recorded %q, want %q", r.Because, name)
		}
	}
}
