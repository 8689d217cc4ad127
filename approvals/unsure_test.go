package approvals_test

import (
	"context"
	"fmt"
	"testing"

	"countersign/agent"
	"countersign/approvals"
)

// TestToolThatCannotTell has a tool that was not answered: people are asked what became of it, in the same start of the
// program, and it runs again only when they say so.
func TestToolThatCannotTell(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		verdict approvals.Verdict
		effects int
	}{
		{approvals.Retry, 2}, {approvals.MarkDone, 1}, {approvals.GiveUp, 1},
	} {
		t.Run(string(tt.verdict), func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.policy.always(lenient())
			tools, unsure := b.tools(), true
			for i := range tools {
				if work := tools[i].Invoke; tools[i].Name == "pay" {
					tools[i].Invoke = func(ctx context.Context, c *agent.ToolCall) (agent.ToolOutput, error) {
						out, err := work(ctx, c)
						if unsure {
							unsure = false
							return agent.ToolOutput{}, fmt.Errorf("no answer: %w", agent.ErrOutcomeUnknown)
						}
						return out, err
					}
				}
			}
			b.agent(asks(call("c1", "pay", `{"amount":5}`)), tools...)
			b.start()
			first := b.question(b.submit())
			b.must(first, bob, approvals.AlwaysApprove, "") // a standing answer does not cover it
			b.until("the question what became of it", func() bool {
				open := b.pending(first.Run)
				return len(open) == 1 && open[0].Kind == agent.OutcomeUnknown
			})
			if n := len(b.effects.all()); n != 1 {
				t.Fatalf("%d effects before anybody said so", n)
			}
			b.must(b.pending(first.Run)[0], cara, tt.verdict, "receipt 7")
			b.reaches(first.Run, approvals.RunDone)
			if n := len(b.effects.all()); n != tt.effects {
				t.Errorf("%d effects, want %d", n, tt.effects)
			}
		})
	}
}
