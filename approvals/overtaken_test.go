package approvals_test

import (
	"context"
	"strings"
	"testing"

	"countersign/agent"
	"countersign/approvals"
)

// TestRejectedBeforeTheStandingAnswerIsUsed has somebody reject a call while the run goes on, because of an answer that is
// meant for all calls of the tool: what was rejected before it began does not run.
func TestRejectedBeforeTheStandingAnswerIsUsed(t *testing.T) {
	t.Parallel()
	for _, rejects := range []bool{true, false} {
		b := newBench(t)
		var second *approvals.Request
		tools := b.tools()
		tools[0].InputGuardrails = []agent.ToolInputGuardrail{{Name: "meanwhile", Check: func(_ context.Context, c *agent.ToolCall) (agent.Verdict, error) {
			if c.ID == "c2" && rejects && second != nil {
				b.must(second, cara, approvals.Reject, "not this one")
				second = nil
			}
			return agent.Verdict{}, nil
		}}}
		b.agent(asks(call("c1", "pay", `{"amount":1}`), call("c2", "pay", `{"amount":2}`)), tools...)
		b.start()
		id := b.submit()
		b.until("both questions", func() bool { return len(b.pending(id)) == 2 })
		both := b.pending(id)
		second = both[1]
		b.must(both[0], bob, approvals.AlwaysApprove, "")
		got := b.reaches(id, approvals.RunDone).Output
		if n := len(b.effects.all()); (n == 1) != rejects || strings.Contains(got, "not this one") != rejects {
			t.Errorf("rejects %v: %d effects, the model was told %q", rejects, n, got)
		}
	}
}
