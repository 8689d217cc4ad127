package approvals_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"countersign/approvals"
)

// viewed counts what is read outside of updates.
type viewed struct {
	approvals.Store
	views atomic.Int64
}

func (s *viewed) View(ctx context.Context, fn func(approvals.Tx) error) error {
	s.views.Add(1)
	return s.Store.View(ctx, fn)
}

// TestDecideOnReadsOnceLess: whoever hands over the request that they have read spares reading it, and whoever hands
// over another one does not.
func TestDecideOnReadsOnceLess(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		seen func(b *bench, r *approvals.Request) *approvals.Request
		want int64
	}{
		"nothing":          {func(*bench, *approvals.Request) *approvals.Request { return nil }, 1},
		"the request":      {(*bench).readOnce, 0},
		"of another place": {(*bench).elsewhere, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, r := asked(t, lenient())
			counted := &viewed{Store: b.mortal}
			b.serve(counted)
			seen := c.seen(b, r)
			counted.views.Store(0)
			got, err := b.service.DecideOn(t.Context(), seen, answerTo(r, bob, approvals.Approve))
			if err != nil || got.Status != approvals.RequestApproved || got.ID != r.ID || got.Workspace != ws {
				t.Fatalf("have %+v, %v", got, err)
			}
			if n := counted.views.Load(); n != c.want {
				t.Errorf("read %d times, want %d", n, c.want)
			}
		})
	}
}

func (b *bench) readOnce(r *approvals.Request) *approvals.Request {
	b.Helper()
	seen, err := b.service.Recorded(b.Context(), r.Workspace, r.ID)
	if err != nil {
		b.Fatal(err)
	}
	return seen
}

// elsewhere is the request as it would be in another workspace.
func (b *bench) elsewhere(r *approvals.Request) *approvals.Request {
	other := *b.readOnce(r)
	other.Workspace = "TOTHER"
	return &other
}

func answerTo(r *approvals.Request, by approvals.UserID, v approvals.Verdict) approvals.Decision {
	return approvals.Decision{
		Workspace: r.Workspace, Request: r.ID, By: by, Verdict: v, Digest: r.Digest, Via: "button",
	}
}

// TestDecideOnGoesByWhatIsSince hands over the request as it was before something became of it: the answer counts, or
// does not, as if it had been read now.
func TestDecideOnGoesByWhatIsSince(t *testing.T) {
	t.Parallel()
	two := with(func(q *approvals.Requirement) { quorum(q, 2) })
	for name, c := range map[string]struct {
		since  func(*bench, *approvals.Request)
		status approvals.RequestStatus
		err    error
	}{
		"nothing": {func(*bench, *approvals.Request) {}, approvals.RequestPending, nil},
		"another one has approved": {func(b *bench, r *approvals.Request) {
			b.must(r, cara, approvals.Approve, "")
		}, approvals.RequestApproved, nil},
		"another one has rejected": {func(b *bench, r *approvals.Request) {
			b.must(r, cara, approvals.Reject, "")
		}, approvals.RequestRejected, approvals.ErrConflict},
		"the same person has answered": {func(b *bench, r *approvals.Request) {
			b.must(r, bob, approvals.Approve, "")
		}, approvals.RequestPending, approvals.ErrConflict},
		"its time is over": {func(b *bench, r *approvals.Request) {
			b.recordExpiry(r, time.Now().Add(-time.Minute))
		}, approvals.RequestExpired, approvals.ErrExpired},
		"the policy asks for more": {func(b *bench, _ *approvals.Request) {
			b.policy.always(with(func(q *approvals.Requirement) { quorum(q, 3) }))
		}, approvals.RequestPending, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, r := asked(t, two)
			seen, before := b.readOnce(r), b.readOnce(r)
			c.since(b, r)
			got, err := b.service.DecideOn(t.Context(), seen, answerTo(r, bob, approvals.Approve))
			if !errors.Is(err, c.err) || got == nil || got.Status != c.status {
				t.Fatalf("have %+v, %v; want %s, %v", got, err, c.status, c.err)
			}
			if now := b.readOnce(r); now.Status != c.status {
				t.Errorf("recorded as %s, want %s", now.Status, c.status)
			}
			if diff := cmp.Diff(before, seen); diff != "" {
				t.Errorf("what was handed over has changed:\n%s", diff)
			}
		})
	}
}

// recordExpiry has the request end at a time.
func (b *bench) recordExpiry(r *approvals.Request, at time.Time) {
	b.Helper()
	err := b.store.Update(b.Context(), func(tx approvals.Tx) error {
		next, err := tx.Request(r.Workspace, r.ID)
		if err != nil {
			return err
		}
		next.Expires = at
		return tx.PutRequest(next)
	})
	if err != nil {
		b.Fatal(err)
	}
}

// TestDecisionsThatArriveTogetherShareTheirQuestions: what a decision rests on is asked since it arrived, not since it
// was read; but of a moment to come, or of too long ago, nobody takes it from the caller.
func TestDecisionsThatArriveTogetherShareTheirQuestions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ago  time.Duration
		kept bool
	}{
		"just now":       {20 * time.Millisecond, true},
		"long ago":       {time.Minute, false},
		"in a moment":    {-time.Minute, false},
		"of the context": {0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, r := asked(t, lenient())
			b.people.mu.Lock()
			b.people.asksPeople = nil
			b.people.mu.Unlock()
			ctx, began := t.Context(), time.Now()
			at := began.Add(-c.ago)
			if c.ago != 0 {
				ctx = approvals.ArrivedAt(ctx, at)
			}
			if _, err := b.service.Decide(ctx, answerTo(r, bob, approvals.Approve)); err != nil {
				t.Fatal(err)
			}
			ended := time.Now()
			b.people.mu.Lock()
			defer b.people.mu.Unlock()
			var since []time.Time
			for _, s := range b.people.asksPeople {
				if !s.IsZero() { // others than the decision are content with what is known
					since = append(since, s)
				}
			}
			if len(since) == 0 {
				t.Fatal("nobody was asked about")
			}
			for _, s := range since {
				if c.kept && !s.Equal(at) || !c.kept && (s.Before(began) || s.After(ended)) {
					t.Errorf("asked since %s, %s before the call", s, began.Sub(s))
				}
			}
		})
	}
}
