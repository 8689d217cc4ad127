package approvals

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"
)

// Cancellation ends a run.
type Cancellation struct {
	Workspace WorkspaceID
	Run       RunID
	By        UserID
	// Reason is at most 2,000 characters; the people of the run's place read it.
	Reason string
	// Via names the way it came, as Decision.Via does.
	Via string
}

// CancelRun is Cancel without a way.
func (s *Service) CancelRun(ctx context.Context, ws WorkspaceID, id RunID, by UserID, reason string) (*Run, error) {
	return s.Cancel(ctx, Cancellation{Workspace: ws, Run: id, By: by, Reason: reason})
}

// Cancel ends the run and cancels its open requests. Nothing of it begins any more; a tool that is running at this
// moment has its context cancelled as soon as its worker notices, and what comes of it is recorded and told however
// late. The requester may do this, and whoever may decide one of the run's pending requests. Errors: ErrNotFound,
// ErrInvalid, ErrUnauthorized, ErrUnavailable; ErrEnded with the run as it ended.
func (s *Service) Cancel(ctx context.Context, v Cancellation) (*Run, error) {
	arrived := time.Now()
	if utf8.RuneCountInString(v.Reason) > maxReason || !utf8.ValidString(v.Reason) {
		return nil, fmt.Errorf("cancel run %s: %w", v.Run, refuse(ErrInvalid, wordsReasonUnusable(maxReason)))
	}
	e := ending{
		to: RunCancelled, by: v.By, text: wordsRunCancelled, deed: wordsCancelledRun,
		data: auditData{Via: v.Via},
	}
	if v.Reason != "" {
		e.text, e.deed = wordsForReason(e.text, quote(v.Reason)), wordsForReason(e.deed, quote(v.Reason))
	}
	r, err := s.cancelRun(ctx, RunKey{Workspace: v.Workspace, Run: v.Run}, e, arrived)
	switch {
	case errors.Is(err, ErrEnded):
		return r, fmt.Errorf("cancel run %s: %w", v.Run, err)
	case err != nil:
		return nil, fmt.Errorf("cancel run %s: %w", v.Run, err)
	}
	return r, nil
}

func (s *Service) cancelRun(ctx context.Context, key RunKey, e ending, arrived time.Time) (r *Run, err error) {
	var waiting []*Request
	err = s.store.View(ctx, func(tx Tx) error {
		if r, err = tx.Run(key.Workspace, key.Run); err != nil || r.Status.Ended() || r.Requester == e.by {
			return err
		}
		waiting, err = pendingOf(tx, r)
		return err
	})
	if err != nil {
		return nil, err
	}
	if r.Status.Ended() {
		return r, ErrEnded
	}
	f, err := s.mayCancel(ctx, r, waiting, e.by, arrived)
	if err != nil {
		return nil, err
	}
	return endRun(ctx, s.store, key, e, func(c *txn, r *Run) error { return stillMayCancel(c, r, f, e.by) })
}

// pendingOf returns the run's pending requests.
func pendingOf(tx Tx, r *Run) ([]*Request, error) {
	heads, err := tx.RequestsOfRun(r.Workspace, r.ID)
	if err != nil {
		return nil, err
	}
	var ids []RequestID
	for _, q := range heads {
		if q.Status == RequestPending {
			ids = append(ids, q.ID)
		}
	}
	return tx.Requests(r.Workspace, ids)
}

// mayCancel returns what allows by to cancel the run, which waits for these requests: nil for its requester.
func (s *Service) mayCancel(
	ctx context.Context, r *Run, waiting []*Request, by UserID, arrived time.Time,
) (*facts, error) {
	if by == r.Requester {
		return nil, nil
	}
	now, err := s.now(ctx)
	if err != nil {
		return nil, err
	}
	g := newGatherer(s.directory, s.policy, r.conversation(), arrived).asOf(now)
	refused := refuse(ErrUnauthorized, wordsNotTheirRun)
	for _, q := range waiting {
		current, err := g.demand(ctx, q)
		if err == nil {
			g.rights(ctx, []UserID{by}, q.demands(&current)...)
			err = g.mayDecide(&q.RequestHead, &current, by, now)
		}
		if err == nil {
			return &g.facts, nil
		}
		if errors.Is(err, ErrUnavailable) {
			refused = err
		}
	}
	return nil, refused
}

// stillMayCancel looks again in the transaction: one of the requests that by may decide must still wait.
func stillMayCancel(c *txn, r *Run, f *facts, by UserID) error {
	if by == r.Requester {
		return nil
	}
	all, err := c.requestsOf(r.ID)
	if err != nil {
		return err
	}
	for _, q := range all {
		current, err := look(f.policies, q.ID)
		if q.Status == RequestPending && err == nil && f.mayDecide(q, &current, by, c.Now()) == nil {
			return nil
		}
	}
	return refuse(ErrUnauthorized, wordsSettledMeanwhile)
}
