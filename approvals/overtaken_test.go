package approvals_test

import (
	"context"
	"errors"
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

// TestStandingRejectionLeavesNothingToApprove has somebody answer a call after all calls of its tool were rejected, before the
// run has heard of it. An approval given before that counts.
func TestStandingRejectionLeavesNothingToApprove(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		verdict approvals.Verdict
		before  bool // the approval comes before the rejection
		want    error
		effects int
	}{
		{"approved after", approvals.AlwaysReject, false, approvals.ErrConflict, 0},
		{"approved before", approvals.AlwaysReject, true, nil, 1},
		{"rejected once", approvals.Reject, false, nil, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			other := b.tools()[0]
			other.Name = "transfer"
			b.agent(asks(call("c1", "pay", `{"amount":1}`), call("c2", "pay", `{"amount":2}`), call("c3", "transfer", `{"amount":3}`)), append(b.tools(), other)...)
			b.start()
			id := b.submit()
			b.until("all questions", func() bool { return len(b.pending(id)) == 3 })
			b.reaches(id, approvals.RunWaiting)
			b.stop()
			all := b.pending(id)
			var err error
			if c.before {
				_, err = b.decide(all[1], cara, approvals.Approve, "")
			}
			b.must(all[0], bob, c.verdict, "never")
			if !c.before {
				_, err = b.decide(all[1], cara, approvals.Approve, "")
			}
			if !errors.Is(err, c.want) {
				t.Errorf("approving the second: %v, want %v", err, c.want)
			}
			if got := b.request(all[2].ID); got.Status != approvals.RequestPending {
				t.Errorf("the other tool's request is %s", got.Status)
			}
			b.start()
			b.must(all[2], bob, approvals.Reject, "")
			got := b.reaches(id, approvals.RunDone)
			if n := len(b.effects.all()); n != c.effects {
				t.Errorf("%d effects, want %d: %s", n, c.effects, got.Output)
			}
			b.until("what people are told", b.delivered)
			b.invariants("at the end")
		})
	}
}
