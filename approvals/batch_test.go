package approvals_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"countersign/agent"
	"countersign/approvals"
	"countersign/store/storetest"
)

// batchOf is by's answer to the requests, each of which they were shown whole.
func batchOf(by approvals.UserID, v approvals.Verdict, all ...*approvals.Request) approvals.Batch {
	b := approvals.Batch{ID: "dec_batch", Workspace: ws, By: by, Verdict: v, Reason: "as agreed", Via: "button"}
	for _, r := range all {
		b.Requests = append(b.Requests, approvals.BatchItem{Request: r.ID, Digest: r.Digest})
	}
	return b
}

// TestDecideAll approves several requests at once: each has its own decision with the one reason, what cannot be
// answered so is left out and said why, one that is not what was shown stops only itself, and repeating it changes
// nothing.
func TestDecideAll(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	all := b.waiting(6)
	b.change(all[1], func(r *approvals.Request) { r.Kind = agent.ExternalResult })
	b.change(all[2], func(r *approvals.Request) { r.Requirement.Seats = approvals.Quorum(2, channelMembers) })
	batch := batchOf(bob, approvals.Approve, append(all, all[0])...)
	batch.Requests[3].Digest = agent.Digest{9}
	batch.Requests[4].Partly = true
	batch.Requests = append(batch.Requests, approvals.BatchItem{Request: "req_none"})
	for range 2 {
		answers, err := b.service.DecideAll(b.Context(), batch)
		if err != nil {
			t.Fatal(err)
		}
		want := []struct {
			status approvals.RequestStatus
			err    error
		}{
			{approvals.RequestApproved, nil}, {approvals.RequestPending, approvals.ErrNotBatched},
			{approvals.RequestPending, nil}, {approvals.RequestPending, approvals.ErrStale},
			{approvals.RequestPending, approvals.ErrNotBatched}, {approvals.RequestApproved, nil},
			{"", approvals.ErrNotFound},
		}
		if len(answers) != len(want) {
			t.Fatalf("%d answers, want %d", len(answers), len(want))
		}
		for i, w := range want {
			have := answers[i]
			if !errors.Is(have.Err, w.err) || w.err == nil && have.Err != nil {
				t.Errorf("request %d: %v, want %v", i, have.Err, w.err)
			}
			if have.Request == nil || have.Request.Status != w.status {
				if w.status != "" {
					t.Errorf("request %d: %+v, want %s", i, have.Request, w.status)
				}
			}
		}
	}
	for i, n := range []int{1, 0, 1, 0, 0, 1} {
		r := b.request(all[i].ID)
		if len(r.Decisions) != n || n == 1 && (r.Decisions[0].By != bob || r.Decisions[0].Reason != "as agreed") {
			t.Errorf("request %d has the decisions %+v, want %d", i, r.Decisions, n)
		}
	}
	n := 0
	err := approvals.ExportAudit(b.Context(), b.store, "", func(e *approvals.AuditEntry) error {
		if e.Action == approvals.AuditDecision {
			n++
		}
		return nil
	})
	if err != nil || n != 3 {
		t.Errorf("%d decisions in the trail, want 3 (%v)", n, err)
	}
}

var channelMembers = approvals.Approvers{ChannelMembers: true}

// change alters a stored request.
func (b *bench) change(r *approvals.Request, change func(*approvals.Request)) {
	b.Helper()
	change(r)
	if err := b.store.Update(b.Context(), func(tx approvals.Tx) error { return tx.PutRequest(r) }); err != nil {
		b.Fatal(err)
	}
}

// TestBatchThatNobodyCouldGive is refused as a whole.
func TestBatchThatNobodyCouldGive(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := b.waiting(1)[0]
	for name, batch := range map[string]approvals.Batch{
		"nothing":         batchOf(bob, approvals.Approve),
		"too much":        batchOf(bob, approvals.Approve, slices.Repeat([]*approvals.Request{r}, 101)...),
		"always":          batchOf(bob, approvals.AlwaysApprove, r),
		"a result":        batchOf(bob, approvals.ProvideResult, r),
		"nobody":          batchOf("", approvals.Approve, r),
		"somebody else's": batchOf("T2/bob", approvals.Approve, r),
		"a long reason": func() approvals.Batch {
			batch := batchOf(bob, approvals.Reject, r)
			batch.Reason = strings.Repeat("x", 2001)
			return batch
		}(),
	} {
		answers, err := b.service.DecideAll(b.Context(), batch)
		if !errors.Is(err, approvals.ErrInvalid) || len(answers) != 0 {
			t.Errorf("%s: %v %v", name, answers, err)
		}
	}
	if got := b.request(r.ID); len(got.Decisions) != 0 {
		t.Errorf("decided all the same: %+v", got.Decisions)
	}
}

// decideAll answers a batch.
type decideAll func(ctx context.Context, s *approvals.Service, b approvals.Batch) ([]approvals.BatchAnswer, error)

// TestBatchDecidesNoMoreThanClicks compares a batch with the same answers given one by one, over random requests and
// people: what the batch decided the clicks decide too, and alike. Two batches that decide more are found out.
func TestBatchDecidesNoMoreThanClicks(t *testing.T) {
	t.Parallel()
	sound := func(ctx context.Context, s *approvals.Service, b approvals.Batch) ([]approvals.BatchAnswer, error) {
		return s.DecideAll(ctx, b)
	}
	rapid.Check(t, func(t *rapid.T) {
		if fault := batchAgainstClicks(t, sound); fault != "" {
			t.Fatal(fault)
		}
	})
	for name, broken := range map[string]decideAll{
		"in another's name": ignoresWho, "whatever was shown": ignoresDigest,
	} {
		found := false
		for seed := range 400 {
			found = found || rapid.Custom(func(t *rapid.T) string {
				return batchAgainstClicks(t, broken)
			}).Example(seed) != ""
		}
		if !found {
			t.Errorf("a batch that decides %s is not found out", name)
		}
	}
}

// ignoresWho has somebody decide who may.
func ignoresWho(ctx context.Context, s *approvals.Service, b approvals.Batch) ([]approvals.BatchAnswer, error) {
	by := b.By
	b.By = bob
	answers, err := s.DecideAll(ctx, b)
	b.By = by
	return answers, err
}

// ignoresDigest takes whatever the request holds for what was shown.
func ignoresDigest(ctx context.Context, s *approvals.Service, b approvals.Batch) ([]approvals.BatchAnswer, error) {
	b.Requests = slices.Clone(b.Requests)
	for i := range b.Requests {
		r, err := s.Request(ctx, ws, b.Requests[i].Request)
		if err == nil {
			b.Requests[i].Digest = r.Digest
		}
	}
	return s.DecideAll(ctx, b)
}

// batchAgainstClicks draws requests and an answer, gives it both ways, and says what the batch decided that the clicks
// did not.
func batchAgainstClicks(t *rapid.T, give decideAll) string {
	n := rapid.IntRange(1, 4).Draw(t, "requests")
	var all []approvals.Request
	for i := range n {
		all = append(all, drawRequest(t, i))
	}
	batch := approvals.Batch{
		ID: "dec_1", Workspace: ws, Via: "button",
		By:      rapid.SampledFrom([]approvals.UserID{ann, bob, cara, guest, out}).Draw(t, "by"),
		Verdict: rapid.SampledFrom([]approvals.Verdict{approvals.Approve, approvals.Reject}).Draw(t, "verdict"),
	}
	for i := range all {
		shown := all[i].Digest
		if rapid.IntRange(0, 3).Draw(t, "changed") == 0 {
			shown = agent.Digest{0xff}
		}
		batch.Requests = append(batch.Requests, approvals.BatchItem{
			Request: all[i].ID, Digest: shown, Partly: rapid.IntRange(0, 4).Draw(t, "partly") == 0,
		})
	}
	ctx := t.Context()
	together, single := twins(t, all), twins(t, all)
	answers, err := give(ctx, together, batch)
	if err != nil {
		t.Fatal(err)
	}
	for i, a := range answers {
		if a.Err != nil {
			continue
		}
		r, err := single.Decide(ctx, approvals.Decision{
			Workspace: ws, Request: a.ID, By: batch.By, Verdict: batch.Verdict, Digest: batch.Requests[i].Digest,
			Via: "button",
		})
		if err != nil || r.Status != a.Request.Status {
			return fmt.Sprintf("request %d is %s by the batch, and a click gives %v", i, a.Request.Status, err)
		}
	}
	return ""
}

// drawRequest makes up a request in whatever state.
func drawRequest(t *rapid.T, i int) approvals.Request {
	r := approvals.Request{
		RequestHead: approvals.RequestHead{
			Workspace: ws, ID: approvals.RequestID(fmt.Sprint("req_", i)), Run: "run_1", Place: place, Requester: ann,
			Kind: rapid.SampledFrom([]agent.InterruptionKind{
				agent.Confirm, agent.Confirm, agent.Confirm, agent.OutcomeUnknown, agent.ExternalResult,
				agent.FieldsRequired,
			}).Draw(t, "kind"),
			Interruption: fmt.Sprint("ops/1/c", i), Agent: "ops", Path: []string{"ops"},
			Tool: approvals.ToolSnapshot{Name: "pay"}, Digest: agent.Digest{byte(i + 1)}, Requirement: lenient(),
			Status: rapid.SampledFrom([]approvals.RequestStatus{
				approvals.RequestPending, approvals.RequestPending, approvals.RequestPending, approvals.RequestApproved,
				approvals.RequestStale,
			}).Draw(t, "status"),
		},
		RequestContent: approvals.RequestContent{Arguments: []byte(`{}`)},
	}
	r.Requirement.SelfApproval = rapid.Bool().Draw(t, "self")
	r.Requirement.Seats = approvals.Quorum(rapid.IntRange(1, 2).Draw(t, "quorum"), channelMembers)
	return r
}

// twins is a service on a store of its own with the requests.
func twins(t *rapid.T, all []approvals.Request) *approvals.Service {
	st := storetest.NewMemory().Open()
	err := st.Update(t.Context(), func(tx approvals.Tx) error {
		run := approvals.Run{Workspace: ws, ID: "run_1", Place: place, Requester: ann, Status: approvals.RunWaiting}
		if err := tx.PutRun(&run); err != nil {
			return err
		}
		for i := range all {
			if err := tx.PutRequest(&all[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	p := &policy{}
	p.set(func(r *approvals.Request) (approvals.Requirement, error) { return r.Requirement, nil })
	s, err := approvals.NewService(approvals.ServiceConfig{
		Store: st, Policy: p, Directory: newDirectory(), Agents: &agents{},
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestBatchLeavesHighRiskOut: of high risk is what was so when it was asked, and what the policy calls so now.
func TestBatchLeavesHighRiskOut(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	all := b.waiting(3)
	b.change(all[0], func(r *approvals.Request) { r.Requirement.Risk = approvals.RiskHigh })
	b.change(all[1], func(r *approvals.Request) { r.Tool.Name = "delete" })
	b.policy.set(func(r *approvals.Request) (approvals.Requirement, error) {
		q := lenient()
		if r.Tool.Name == "delete" {
			q.Risk = approvals.RiskHigh
		}
		return q, nil
	})
	answers, err := b.service.DecideAll(b.Context(), batchOf(bob, approvals.Approve, all...))
	if err != nil {
		t.Fatal(err)
	}
	for i, a := range answers {
		if left := errors.Is(a.Err, approvals.ErrNotBatched); left != (i < 2) || !left && a.Err != nil {
			t.Errorf("request %d: %v", i, a.Err)
		}
	}
	if _, err := b.service.Decide(b.Context(), approvals.Decision{
		Workspace: ws, Request: all[0].ID, By: bob, Verdict: approvals.Approve, Digest: all[0].Digest, Via: "button",
	}); err != nil {
		t.Errorf("by itself: %v", err)
	}
}

// TestBatchSharesItsQuestions: all answers of a batch arrived together, so that one question about the person serves
// them all where the directory keeps what it has found out.
func TestBatchSharesItsQuestions(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	all := b.waiting(5)
	b.people.mu.Lock()
	b.people.asksPeople = nil
	b.people.mu.Unlock()
	if _, err := b.service.DecideAll(b.Context(), batchOf(bob, approvals.Approve, all...)); err != nil {
		t.Fatal(err)
	}
	b.people.mu.Lock()
	defer b.people.mu.Unlock()
	since := map[time.Time]bool{}
	for _, s := range b.people.asksPeople {
		if !s.IsZero() { // others are content with what is known
			since[s] = true
		}
	}
	if len(since) != 1 {
		t.Errorf("asked since %d moments", len(since))
	}
}
