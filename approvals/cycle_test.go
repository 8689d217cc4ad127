package approvals_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"countersign/approvals"
)

func TestRunWaitsForApprovalAndGoesOn(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.start()
	id := b.submit()
	q := b.question(id)
	if got := b.effects.all(); len(got) != 0 {
		t.Fatalf("ran before anybody agreed: %v", got)
	}
	b.must(q, bob, approvals.Approve, "")
	r := b.reaches(id, approvals.RunDone)
	if r.Output != "c1: pay done" {
		t.Errorf("output %q", r.Output)
	}
	if got := b.effects.all(); len(got) != 1 || got[0].arguments != `{"amount":5}` {
		t.Errorf("effects %v", got)
	}
	b.until("the answer", func() bool { return len(b.surface.texts(approvals.NotifyAnswer)) == 1 })
	b.until("the card", func() bool { return b.surface.status(q.ID) == approvals.RequestApproved })
	want := []approvals.AuditAction{
		approvals.AuditRunSubmitted, approvals.AuditRunClaimed,
		approvals.AuditRequestCreated, approvals.AuditRunWaiting,
		approvals.AuditDecision, approvals.AuditRequestApproved, approvals.AuditRunRequeued, approvals.AuditRunClaimed,
		approvals.AuditEffectIntent, approvals.AuditEffectDone, approvals.AuditRunDone,
	}
	if diff := cmp.Diff(want, b.trail()); diff != "" {
		t.Error(diff)
	}
	if got := b.request(q.ID); !got.Applied || len(got.Cards) != 1 {
		t.Errorf("applied %v, cards %v", got.Applied, got.Cards)
	}
}
