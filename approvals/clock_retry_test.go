package approvals_test

import (
	"testing"
	"time"

	"countersign/agent"
	"countersign/approvals"
)

// laterAlone is later, of one process.
type laterAlone struct{ *later }

func (laterAlone) Exclusive() bool { return true }

// TestRetryAfterAClockAhead has people asked what became of a call while the clock is a year ahead, and again once it
// is right. What they answered last counts.
func TestRetryAfterAClockAhead(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	serve := func(by time.Duration) {
		b.Helper()
		st := &later{Store: b.mortal}
		st.by.Store(int64(by))
		b.serve(laterAlone{st})
	}
	crashed := func(by time.Duration) {
		b.Helper()
		b.until("the crash", func() bool { return b.mortal.dead.Load() })
		b.reopen()
		serve(by)
		b.start()
	}
	serve(ahead)
	b.dying(asks(call("c1", "pay", `{"amount":5}`)), "pay", 2)
	b.start()
	first := b.question(b.submit())
	b.must(first, bob, approvals.Approve, "")
	crashed(ahead)
	second := b.question(first.Run)
	b.must(second, bob, approvals.Retry, "")
	crashed(0)
	third := b.question(first.Run)
	if third.ID == second.ID || third.Kind != agent.OutcomeUnknown {
		t.Fatalf("question %+v", third)
	}
	b.must(third, bob, approvals.Retry, "")
	b.reaches(first.Run, approvals.RunDone)
	if n := len(b.effects.all()); n != 3 {
		t.Errorf("%d effects after three permissions", n)
	}
}
