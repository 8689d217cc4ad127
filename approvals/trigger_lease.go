package approvals

import (
	"context"
	"fmt"
	"log/slog"
	"time"
)

// unleasedFor is how long a sending may take whose record has no lease: an earlier version of the program began it, or
// wrote the record since.
const unleasedFor = 5 * time.Minute

// leased returns for how long the newest sending of r may still belong to the process that began it.
func (s *sending) leased(c *txn, r *RequestHead) time.Duration {
	if exclusive(s.store) {
		return 0
	}
	until, length := r.Trigger.LeaseUntil, s.lease
	if until.IsZero() {
		until, length = r.Trigger.Begun.Add(unleasedFor), unleasedFor
	}
	return s.others.left("sending "+string(c.ws)+" "+string(r.ID), r.Trigger.Nonce, until, c.Now(), length)
}

// hold keeps the lease of the sending, which was taken after began, until release is called. The returned context is
// the sending's: it outlives ctx by the time to drain, and ends when the lease is lost. Where this process alone works
// on the store nobody else can take the sending over, and there is nothing to keep.
func (s *sending) hold(ctx context.Context, began time.Time) (lasting context.Context, release func()) {
	s.until.set(began.Add(s.lease))
	longer, end := s.lingering(ctx)
	if exclusive(s.store) {
		return longer, end
	}
	lasting, cancel := context.WithCancelCause(longer)
	keep, stop := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.keep(keep, cancel)
	}()
	return lasting, func() {
		stop()
		<-done
		cancel(nil)
		end()
	}
}

// keep renews the lease until ctx ends, and breaks the sending off when it is lost.
func (s *sending) keep(ctx context.Context, cancel context.CancelCauseFunc) {
	ticker := time.NewTicker(s.renew)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			err := s.prolong(ctx, &s.until, s.extend, slog.String("request", string(s.request.ID)))
			if err != nil {
				cancel(err)
				return
			}
		}
	}
}

// extend renews the lease once.
func (s *sending) extend(ctx context.Context) error {
	return update(ctx, s.store, s.request.Workspace, func(c *txn) error {
		r, err := c.request(s.request.ID)
		if err != nil {
			return err
		}
		if !s.holds(r) {
			return fmt.Errorf("sending the call of request %s: %w", r.ID, ErrFenced)
		}
		own := *r.Trigger
		own.LeaseUntil = c.Now().Add(s.lease)
		r.Trigger = &own
		c.touched(r)
		return nil
	})
}

// holds reports whether the newest sending of r is this one, and is not over.
func (s *sending) holds(r *RequestHead) bool {
	return r.Trigger.Nonce == s.nonce && r.Trigger.Status == TriggerSending
}
