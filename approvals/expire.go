package approvals

import (
	"context"
	"errors"

	"countersign/internal/fault"
)

// Expire settles the request when the time for an answer has passed, by what its requirement says about expiry. It
// changes nothing when the request is settled, never expires or has time left. Workers call it; it may be called at
// any time. Errors: ErrNotFound.
func (s *Service) Expire(ctx context.Context, ws WorkspaceID, id RequestID) error {
	_, err := expire(ctx, s.store, ws, id)
	return err
}

// expire is Expire; it returns the request as it then stands.
func expire(ctx context.Context, st Store, ws WorkspaceID, id RequestID) (r *Request, err error) {
	err = update(ctx, st, ws, func(c *change) (err error) {
		fault.Point("expire.claimed")
		if r, err = c.Request(ws, id); err != nil {
			return err
		}
		if r.Status != RequestPending || !r.overdue(c.now) {
			return nil
		}
		return c.expire(r)
	})
	return r, err
}

// expire settles an overdue request.
func (c *change) expire(r *Request) error {
	r.Note = "Nobody answered in time."
	how := r.Requirement.OnExpiry
	if err := c.moveRequest(r, RequestExpired, system, map[string]any{"on_expiry": how}); err != nil {
		return err
	}
	if err := c.putRequest(r); err != nil {
		return err
	}
	if err := c.show(r); err != nil {
		return err
	}
	if how != ExpiryCancel {
		return c.requeue(r.Run, r.ID)
	}
	run, err := c.Run(c.ws, r.Run)
	if err != nil || run.Status.Ended() {
		return err
	}
	return c.cancel(run, "", "A request for approval expired.")
}

// expireJob settles the request of a job.
func (w *Worker) expireJob(ctx context.Context, job Job) error {
	r, err := expire(ctx, w.store, job.Workspace, RequestID(job.ID))
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if r.Status == RequestPending && !r.Expires.IsZero() { // its time may have come since it was looked at
		return &RetryError{After: max(0, r.Expires.Sub(clock())), Err: errEarly}
	}
	return nil
}

var errEarly = errors.New("not due yet")
