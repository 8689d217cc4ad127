package approvals

import (
	"context"
	"errors"
	"time"

	"countersign/internal/fault"
)

// Expire does what is due for the pending request by itself. When the time for an answer has passed, that settles it,
// by what its requirement says about expiry; before that, people are reminded of it. It changes nothing when the
// request is settled or nothing is due. Workers call it; it may be called at any time. Errors: ErrNotFound.
func (s *Service) Expire(ctx context.Context, ws WorkspaceID, id RequestID) error {
	ctx, end := traceTimer(ctx, s.tracer, s.store, ws, id)
	did, _, err := act(ctx, s.store, ws, id, s.escalationCall)
	end(did, err)
	return err
}

// escalationCall finds out whom the escalation of r calls now.
func (s *Service) escalationCall(ctx context.Context, r *Request, now time.Time) Called {
	g := newGatherer(s.directory, s.policy, r.conversation(), noTime)
	return g.called(ctx, r, now, r.Called.Bare, r.Requirement.Escalation.To)
}

// escalationCall is Service.escalationCall.
func (w *Worker) escalationCall(ctx context.Context, r *Request, now time.Time) Called {
	return w.call(ctx, r, now, r.Called.Bare, r.Requirement.Escalation.To)
}

// act is Expire. It returns in a word what it did. When nothing is due it returns how long that lasts; zero when what
// comes next has been planned, or nothing will come.
func act(
	ctx context.Context, st Store, ws WorkspaceID, id RequestID,
	call func(context.Context, *Request, time.Time) Called,
) (did string, left time.Duration, err error) {
	var r *RequestHead
	for range rounds {
		did, left, r, err = actOnce(ctx, st, ws, id, call)
		if !errors.Is(err, errNotGathered) {
			break
		}
	}
	if err != nil || r.Status != RequestExpired || r.Requirement.OnExpiry != ExpiryCancel {
		return did, left, err
	}
	_, err = endRun(ctx, st, RunKey{Workspace: ws, Run: r.Run},
		ending{to: RunCancelled, text: wordsRunExpired}, nil)
	if errors.Is(err, ErrEnded) {
		err = nil
	}
	return did, 0, err
}

// actOnce is act as far as the request itself goes. errNotGathered: its escalation has come due since it was looked at,
// and whom that calls is not known.
func actOnce(
	ctx context.Context, st Store, ws WorkspaceID, id RequestID,
	call func(context.Context, *Request, time.Time) Called,
) (did string, left time.Duration, r *RequestHead, err error) {
	called, err := escalating(ctx, st, ws, id, call)
	if err != nil {
		return "", 0, nil, err
	}
	err = update(ctx, st, ws, func(c *txn) (err error) {
		did, left = "", 0
		fault.Point("expire.claimed")
		if r, err = c.request(id); err != nil || r.Status != RequestPending || r.nextAct().IsZero() {
			return err
		}
		if r.overdue(c.Now()) {
			did = "expired"
			return c.expire(r)
		}
		did, left, err = c.tick(r, called)
		return err
	})
	return did, left, r, err
}

// escalating returns whom the escalation of the request calls, if it is due; nil otherwise. People are looked up before
// the transaction.
func escalating(
	ctx context.Context, st Store, ws WorkspaceID, id RequestID,
	call func(context.Context, *Request, time.Time) Called,
) (*Called, error) {
	var r *Request
	var now time.Time
	err := st.View(ctx, func(tx Tx) (err error) {
		head, err := tx.RequestHead(ws, id)
		r, now = nil, tx.Now()
		if err != nil || head.Status != RequestPending {
			return err
		}
		if due := head.Escalates(); !due.IsZero() && !now.Before(due) {
			r, err = tx.Request(ws, id)
		}
		return err
	})
	if err != nil || r == nil {
		return nil, err
	}
	return new(call(ctx, r, now)), nil
}

// expire settles an overdue request. Where that cancels the run, the request's timer goes off once more to end it,
// should this process not come to it.
func (c *txn) expire(r *RequestHead) error {
	r.Note = r.expiredNote()
	how := r.Requirement.OnExpiry
	if err := c.moveRequest(r, RequestExpired, system, auditData{OnExpiry: how}); err != nil {
		return err
	}
	c.show(r)
	if how == ExpiryCancel {
		job := timerJob(r)
		job.Due = c.Now()
		c.plan(job)
		return nil
	}
	return c.requeue(r.Run, r.ID)
}

// actOn does what is due for the request of a timer.
func (w *Worker) actOn(ctx context.Context, job Job) error {
	ctx, end := traceTimer(ctx, w.tracer, w.store, job.Workspace, RequestID(job.ID))
	did, left, err := act(ctx, w.store, job.Workspace, RequestID(job.ID), w.escalationCall)
	end(did, err)
	if errors.Is(err, ErrNotFound) || err == nil && left <= 0 {
		return nil
	}
	if err != nil {
		return err
	}
	return &RetryError{After: left, Err: errEarly} // its time may have come since it was looked at
}

var errEarly = errors.New("not due yet")
