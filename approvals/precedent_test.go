package approvals_test

import (
	"testing"

	"countersign/approvals"
)

// TestPrecedentIsOnlyWhatTheViewerMaySee: the call that was approved last is one of another conversation. Those who are
// in that find it, others find the newest of those that they may see, or none.
func TestPrecedentIsOnlyWhatTheViewerMaySee(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.start()
	approve := func(id approvals.RunID) *approvals.Request {
		b.until("the question", func() bool { return len(b.pending(id)) == 1 })
		r := b.pending(id)[0]
		b.must(r, bob, approvals.Approve, "")
		b.reaches(id, approvals.RunDone)
		return b.request(r.ID)
	}
	here := approve(b.submit())
	id := b.submit()
	b.until("the question", func() bool { return len(b.pending(id)) == 1 })
	now := b.request(b.pending(id)[0].ID)
	p, err := b.service.Precedent(t.Context(), now, bob)
	if err != nil || p == nil || p.Request.ID != here.ID || len(p.Changes) != 0 || len(p.Parts) != 0 {
		t.Fatalf("for somebody who was there: %+v, %v", p, err)
	}
	stranger := approvals.NewUserID(ws, "U0NOBODY")
	if p, err := b.service.Precedent(t.Context(), now, stranger); err != nil || p != nil {
		t.Errorf("for a stranger: %+v, %v", p, err)
	}
	if p, err := b.service.Precedent(t.Context(), here, bob); err != nil || p != nil {
		t.Errorf("before the first: %+v, %v", p, err)
	}
}
