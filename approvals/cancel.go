package approvals

import (
	"context"
	"errors"
	"fmt"
	"unicode/utf8"
)

// CancelRun ends the run and cancels its open requests. Nothing of it runs any more; a tool that is running at this
// moment has its context cancelled as soon as its worker notices. The requester may do this, and whoever may decide
// one of the run's pending requests. Errors: ErrNotFound, ErrInvalid, ErrUnauthorized, ErrUnavailable; ErrEnded with
// the run as it ended.
func (s *Service) CancelRun(ctx context.Context, ws WorkspaceID, id RunID, by UserID, reason string) (*Run, error) {
	if utf8.RuneCountInString(reason) > maxReason || !utf8.ValidString(reason) {
		return nil, fmt.Errorf("cancel run %s: %w: unusable reason", id, ErrInvalid)
	}
	p := newPeople(s.directory)
	var r *Run
	err := errNotAsked
	for range rounds {
		if r, err = s.cancelOnce(ctx, p, ws, id, by, reason); !errors.Is(err, errNotAsked) {
			break
		}
	}
	if err != nil {
		err = fmt.Errorf("cancel run %s: %w", id, err)
	}
	return r, err
}

// cancelOnce asks whom it must, and cancels in one transaction. errNotAsked: the store held something else than before, and
// somebody was not asked about.
func (s *Service) cancelOnce(ctx context.Context, p *people, ws WorkspaceID, id RunID, by UserID, reason string) (r *Run, err error) {
	var requests []*Request
	err = s.store.View(ctx, func(tx Tx) (err error) {
		r, requests, err = cancellable(tx, ws, id)
		return err
	})
	p.closed = false
	if err == nil {
		err = s.mayCancel(ctx, p, r, requests, by)
	}
	if err == nil {
		p.closed = true
		err = update(ctx, s.store, ws, func(c *change) (err error) {
			if r, requests, err = cancellable(c, ws, id); err != nil {
				return err
			}
			if err := s.mayCancel(ctx, p, r, requests, by); err != nil {
				return err
			}
			return c.cancel(r, by, reason)
		})
	}
	if err != nil && !errors.Is(err, ErrEnded) {
		return nil, err
	}
	return r, err
}

// cancellable returns the run with its requests, or the run alone with ErrEnded.
func cancellable(tx Tx, ws WorkspaceID, id RunID) (*Run, []*Request, error) {
	r, err := tx.Run(ws, id)
	if err != nil {
		return nil, nil, err
	}
	if r.Status.Ended() {
		return r, nil, ErrEnded
	}
	requests, err := tx.RequestsOfRun(ws, id)
	return r, requests, err
}

// mayCancel returns nil when by may cancel the run, which has these requests.
func (s *Service) mayCancel(ctx context.Context, p *people, r *Run, requests []*Request, by UserID) error {
	if by == r.Requester {
		return nil
	}
	refused := fmt.Errorf("%w: neither the requester nor an approver of what it waits for", ErrUnauthorized)
	for _, q := range requests {
		if q.Status != RequestPending {
			continue
		}
		current, err := requirement(ctx, s.policy, q)
		if err == nil {
			err = p.mayAnswer(ctx, q, current, by)
		}
		if err == nil {
			return nil
		}
		if errors.Is(err, ErrUnavailable) {
			refused = err
		}
	}
	return refused
}

// cancel ends the run before its answer. by is empty when no person did it. Whoever works on the run is refused from
// here on, because the run is no longer running.
func (c *change) cancel(r *Run, by UserID, why string) error {
	actor := system
	if by != "" {
		actor = string(by)
	}
	if err := c.moveRun(r, RunCancelled, actor, nil); err != nil {
		return err
	}
	r.CancelledBy = by
	r.Failure = "The run was cancelled."
	if why != "" {
		r.Failure += " " + why
	}
	if err := c.withdraw(r, actor, by); err != nil {
		return err
	}
	if err := c.say(r, r.Failure); err != nil {
		return err
	}
	items, err := c.storedItems(r)
	if err != nil {
		return c.quarantine(r)
	}
	if err := c.forget(r); err != nil {
		return err
	}
	return c.conclude(r, items)
}

// withdraw cancels the pending requests of a run that has ended.
func (c *change) withdraw(r *Run, actor string, by UserID) error {
	requests, err := c.RequestsOfRun(c.ws, r.ID)
	if err != nil {
		return err
	}
	for _, q := range requests {
		if q.Status != RequestPending {
			continue
		}
		q.CancelledBy, q.Note = by, "The run has ended."
		if err := c.moveRequest(q, RequestCancelled, actor, nil); err != nil {
			return err
		}
		if err := c.putRequest(q); err != nil {
			return err
		}
		if err := c.show(q); err != nil {
			return err
		}
	}
	return nil
}
