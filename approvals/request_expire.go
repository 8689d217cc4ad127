package approvals

import (
	"context"
	"errors"
	"time"

	"countersign/internal/fault"
)

// Expire settles the request when the time for an answer has passed, by what its requirement says about expiry. It
// changes nothing when the request is settled, never expires or has time left. Workers call it; it may be called at
// any time. Errors: ErrNotFound.
func (s *Service) Expire(ctx context.Context, ws WorkspaceID, id RequestID) error {
	_, err := expire(ctx, s.store, ws, id)
	return err
}

// expire is Expire; it returns how long the request has left, zero when there is nothing to wait for.
func expire(ctx context.Context, st Store, ws WorkspaceID, id RequestID) (left time.Duration, err error) {
	var r *RequestHead
	err = update(ctx, st, ws, func(c *txn) (err error) {
		left = 0
		fault.Point("expire.claimed")
		if r, err = c.request(id); err != nil || r.Status != RequestPending || r.Expires.IsZero() {
			return err
		}
		if !r.overdue(c.now) {
			left = c.timeLeft(r)
			return nil
		}
		return c.expire(r)
	})
	if err != nil || r.Status != RequestExpired || r.Requirement.OnExpiry != ExpiryCancel {
		return left, err
	}
	_, err = endRun(ctx, st, RunKey{Workspace: ws, Run: r.Run},
		ending{to: RunCancelled, text: "The run was cancelled. A request for approval expired."}, nil)
	if errors.Is(err, ErrEnded) {
		err = nil
	}
	return 0, err
}

// timeLeft returns how long the request has left. A deadline further away than it can be was set by a clock that was
// wrong: from now on the request has as long as it ever had.
func (c *txn) timeLeft(r *RequestHead) time.Duration {
	left, most := r.Expires.Sub(c.now), r.Requirement.ExpiresIn
	if left <= most {
		return left
	}
	r.Expires = c.now.Add(most)
	r.NextAct = r.Expires
	c.touched(r)
	c.show(r)
	c.plan(timerJob(r))
	return most
}

// expire settles an overdue request. Where that cancels the run, the request's timer goes off once more to end it,
// should this process not come to it.
func (c *txn) expire(r *RequestHead) error {
	r.Note = "Nobody answered in time."
	how := r.Requirement.OnExpiry
	if err := c.moveRequest(r, RequestExpired, system, auditData{OnExpiry: how}); err != nil {
		return err
	}
	c.show(r)
	if how == ExpiryCancel {
		job := timerJob(r)
		job.Due = c.now
		c.plan(job)
		return nil
	}
	return c.requeue(r.Run, r.ID)
}

func timerJob(r *RequestHead) Job {
	return Job{Workspace: r.Workspace, Kind: JobTimer, ID: string(r.ID), Due: r.NextAct, Group: r.Place.Channel}
}

// actOn does what is due for the request of a timer.
func (w *Worker) actOn(ctx context.Context, job Job) error {
	left, err := expire(ctx, w.store, job.Workspace, RequestID(job.ID))
	if errors.Is(err, ErrNotFound) || err == nil && left <= 0 {
		return nil
	}
	if err != nil {
		return err
	}
	return &RetryError{After: left, Err: errEarly} // its time may have come since it was looked at
}

var errEarly = errors.New("not due yet")
