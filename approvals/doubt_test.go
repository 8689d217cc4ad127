package approvals_test

import (
	"slices"
	"testing"

	"countersign/agent"
	"countersign/approvals"
)

// TestTrailSaysWhenNobodyKnows kills the process in the middle of a call, and again when it is tried again. Each time
// the trail says of that attempt that nobody knows what came of it, once: operators are alerted on that. What people
// answer, and the end of the run, say it no second time.
func TestTrailSaysWhenNobodyKnows(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.dying(asks(call("c1", "pay", `{"amount":5}`)), "pay", 2)
	b.start()
	r := b.question(b.submit())
	b.must(r, bob, approvals.Approve, "")
	for _, want := range [][]string{{"1"}, {"1", "2"}} {
		b.crashed()
		r = b.question(r.Run)
		b.reaches(r.Run, approvals.RunWaiting)
		if r.Kind != agent.OutcomeUnknown {
			t.Fatalf("a question of kind %s", r.Kind)
		}
		if got := b.doubted(); !slices.Equal(got, want) {
			t.Errorf("the trail doubts the attempts %v, want %v", got, want)
		}
		if len(want) == 1 {
			b.must(r, bob, approvals.Retry, "")
		}
	}
	b.must(r, bob, approvals.GiveUp, "no trace of it")
	b.reaches(r.Run, approvals.RunDone)
	if got := b.doubted(); len(got) != 2 {
		t.Errorf("in the end the trail doubts the attempts %v", got)
	}
	b.stop()
}

// doubted are the attempts of which the trail says that nobody knows what came of them.
func (b *bench) doubted() (attempts []string) {
	b.Helper()
	b.trail() // which checks it
	err := approvals.ExportAudit(b.Context(), b.store, "", func(e *approvals.AuditEntry) error {
		if e.Action == approvals.AuditEffectUnknown {
			attempts = append(attempts, fact(e, "attempt"))
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	return attempts
}
