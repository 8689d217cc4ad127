package approvals

import (
	"context"
	"errors"
	"time"
)

// record records what came of the sending. While the store cannot take it, it is tried again for a while: otherwise
// nobody would know.
func (s *sending) record(ctx context.Context, a TriggerAnswer) error {
	var err, later error
	for try := range doneTries {
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
		later, err = s.recordOnce(bounded, a)
		cancel()
		if err == nil || errors.Is(err, ErrClosed) || errors.Is(err, ErrNotFound) {
			break
		}
		s.log.ErrorContext(ctx, "what came of sending a call is not recorded yet",
			"request", s.request.ID, "error", err)
		select {
		case <-time.After(doneFirstPause << try):
		case <-ctx.Done():
			return err
		}
	}
	return errors.Join(later, err)
}

// doneTries is how often it is tried to record what came of a sending.
const doneTries = 6

// recordOnce returns when to send again, as a *RetryError, if at all.
func (s *sending) recordOnce(ctx context.Context, a TriggerAnswer) (later, err error) {
	a.Text = s.request.withoutSecrets(a.Text)
	err = update(ctx, s.store, s.request.Workspace, func(c *txn) error {
		later = nil
		r, err := c.request(s.request.ID)
		switch {
		case err != nil:
			return err
		case !s.holds(r): // somebody has given this sending up, or an earlier try was committed
			return s.recordLate(c, r, a)
		}
		if a.Unknown {
			own := *r.Trigger
			own.Doubt, r.Trigger = true, &own
		}
		switch {
		case a.Taken:
			return s.move(c, r, TriggerSent, a.Text)
		case a.Again && r.Status == RequestPending && r.Trigger.Attempt < triggerTries:
			pause := max(a.After, triggerRest<<(r.Trigger.Attempt-1))
			c.plan(triggerJob(r, c.Now().Add(pause)))
			later = &RetryError{After: pause, Err: errNotTaken}
			return s.move(c, r, TriggerPlanned, a.Text)
		case a.Unknown:
			return s.give(c, r, TriggerUnknown, a.Text)
		}
		return s.give(c, r, TriggerFailed, a.Text)
	})
	return later, err
}

// move records how the sending stands.
func (s *sending) move(c *txn, r *RequestHead, to TriggerStatus, text string) error {
	s.stands = to
	return c.triggered(r, to, text)
}

// recordLate records what came of a sending after it was given up, and people were told that nobody knows.
func (s *sending) recordLate(c *txn, r *RequestHead, a TriggerAnswer) error {
	t := r.Trigger
	if t.Nonce != s.nonce || t.Status != TriggerUnknown || a.Unknown || t.Doubt && !a.Taken {
		return nil
	}
	to := TriggerFailed
	if a.Taken {
		to = TriggerSent
	}
	if err := s.move(c, r, to, a.Text); err != nil || r.Status != RequestPending {
		return err
	}
	run, err := c.run(r.Run)
	if err != nil {
		return err
	}
	c.say(run, wordsSentUnknown(r.Tool.Name, r.ID, r.Sending()))
	return nil
}

var errNotTaken = errors.New("the call was not taken yet")
