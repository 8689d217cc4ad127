package approvals_test

import (
	"fmt"
	"testing"

	"countersign/agent"
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

// TestPrecedentIsAnApprovedCallOfTheTool: what people rejected is none, nor a call of another tool, nor another question
// about this one; of more than twenty that the viewer may not see, it is not looked any further.
func TestPrecedentIsAnApprovedCallOfTheTool(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.start()
	asked := func() *approvals.Request {
		id := b.submit()
		b.until("the question", func() bool { return len(b.pending(id)) == 1 })
		return b.request(b.pending(id)[0].ID)
	}
	settle := func(v approvals.Verdict) *approvals.Request {
		r := asked()
		b.must(r, bob, v, "")
		b.reaches(r.Run, approvals.RunDone)
		return b.request(r.ID)
	}
	approved := settle(approvals.Approve)
	settle(approvals.Reject)
	n := 0
	put := func(change func(*approvals.Request)) {
		r := b.request(approved.ID)
		n++
		r.ID, r.Run = approvals.RequestID(fmt.Sprintf("%s%02d", approved.ID, n)), "run_other" // right behind it
		change(r)
		if err := b.store.Update(t.Context(), func(tx approvals.Tx) error { return tx.PutRequest(r) }); err != nil {
			t.Fatal(err)
		}
	}
	put(func(r *approvals.Request) { r.Tool.Name = "look" })
	put(func(r *approvals.Request) { r.Kind = agent.OutcomeUnknown })
	put(func(r *approvals.Request) { r.Tool.Kind = agent.KindExternal })
	precedent := func(now *approvals.Request) *approvals.Precedent {
		p, err := b.service.Precedent(t.Context(), now, bob)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	if p := precedent(asked()); p == nil || p.Request.ID != approved.ID {
		t.Errorf("not the approved call: %+v", p)
	}
	hide := func(r *approvals.Request) { r.Place.Channel, r.Requester = "C9", user("gone") }
	for range 16 {
		put(hide)
	}
	if p := precedent(asked()); p == nil || p.Request.ID != approved.ID {
		t.Errorf("control: behind sixteen others: %+v", p)
	}
	for range 10 {
		put(hide)
	}
	if p := precedent(asked()); p != nil {
		t.Errorf("found behind more than twenty: %s", p.Request.ID)
	}
}
