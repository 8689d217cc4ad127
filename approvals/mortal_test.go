package approvals_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"countersign/approvals"
)

// errDead is what a store says whose process is gone: it never answers again.
var errDead = fmt.Errorf("the process is dead: %w", approvals.ErrClosed)

// mortal is a store whose process can die: from then on nothing is read or written through it. It can be told to die
// at a chosen write.
type mortal struct {
	approvals.Store
	dead atomic.Bool

	mu     sync.Mutex
	writes int  // until it dies; 0: never
	after  bool // die right behind the commit rather than before it
	onDie  func()
}

// dieAt makes the process die at the nth write from now.
func (m *mortal) dieAt(n int, after bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.writes, m.after = n, after
}

// kill makes the process die now.
func (m *mortal) kill() {
	m.dead.Store(true)
	if m.onDie != nil {
		m.onDie()
	}
}

// due counts a write and reports whether to die before or behind it.
func (m *mortal) due() (before, behind bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.writes == 0 {
		return false, false
	}
	m.writes--
	if m.writes > 0 {
		return false, false
	}
	return !m.after, m.after
}

func (m *mortal) Update(ctx context.Context, fn func(approvals.Tx) error) error {
	return m.write(ctx, m.Store.Update, fn)
}

// UpdateSoon is an Update where the store makes no difference.
func (m *mortal) UpdateSoon(ctx context.Context, fn func(approvals.Tx) error) error {
	if d, ok := m.Store.(approvals.Deferrer); ok {
		return m.write(ctx, d.UpdateSoon, fn)
	}
	return m.Update(ctx, fn)
}

// write runs fn with a method of the store, unless the process is dead or dies of it.
func (m *mortal) write(
	ctx context.Context, run func(context.Context, func(approvals.Tx) error) error, fn func(approvals.Tx) error,
) error {
	if m.dead.Load() {
		return errDead
	}
	before, behind := m.due()
	if before {
		m.kill()
		return errDead
	}
	err := run(ctx, fn)
	if behind {
		m.kill()
		return errDead
	}
	return err
}

func (m *mortal) View(ctx context.Context, fn func(approvals.Tx) error) error {
	if m.dead.Load() {
		return errDead
	}
	return m.Store.View(ctx, fn)
}

func (m *mortal) Exclusive() bool {
	e, ok := m.Store.(approvals.Exclusive)
	return ok && e.Exclusive()
}

func (m *mortal) Now() time.Time { return m.Store.(approvals.Timed).Now() }

func (m *mortal) UncertainSince() time.Time { return m.Store.(approvals.Clock).UncertainSince() }

// lapse ends the leases that a process which died has left in a store of several, as the time that they last would.
func (b *bench) lapse() {
	b.Helper()
	if b.mortal.Exclusive() {
		return // where they are void at once
	}
	err := b.store.Update(b.Context(), func(tx approvals.Tx) error {
		return errors.Join(lapseRuns(tx), lapseDeliveries(tx), lapseTriggers(tx))
	})
	if err != nil {
		b.Fatal(err)
	}
}

// afterAll is later than any time that a test writes down.
const afterAll = 1000 * 24 * time.Hour

func lapseRuns(tx approvals.Tx) error {
	now := tx.Now()
	all, err := tx.LapsedLeases(now.Add(afterAll), now.Add(afterAll), 1000)
	for _, k := range all {
		r, readErr := tx.Run(k.Workspace, k.Run)
		if err = errors.Join(err, readErr); err == nil && r.LeaseUntil.After(now) {
			r.LeaseUntil = now
			err = tx.PutRun(r)
		}
	}
	return err
}

func lapseDeliveries(tx approvals.Tx) error {
	now := tx.Now()
	all, err := tx.UndeliveredPlaces(now.Add(afterAll), now.Add(afterAll), 1000)
	for _, k := range all {
		waiting, readErr := tx.Notifications(k.Workspace, k.Place, k.Copy, 1000)
		err = errors.Join(err, readErr)
		for _, n := range waiting {
			if err == nil && n.LeaseUntil.After(now) {
				n.LeaseUntil = now
				err = tx.PutNotification(n)
			}
		}
	}
	return err
}

func lapseTriggers(tx approvals.Tx) error {
	now := tx.Now()
	all, _, err := tx.QueryRequests(approvals.RequestQuery{Workspace: ws, Limit: 1000})
	for _, r := range all {
		if r.Trigger != nil && r.Trigger.LeaseUntil.After(now) {
			r.Trigger.LeaseUntil = now
			err = errors.Join(err, tx.PutRequestHead(r))
		}
	}
	return err
}

// stepped is a store whose jobs the test hands out itself.
type stepped struct {
	*mortal
	handlers chan func(context.Context, approvals.Job) error
}

func (s *stepped) Dispatch(ctx context.Context, handle func(context.Context, approvals.Job) error) error {
	s.handlers <- handle
	<-ctx.Done()
	return nil
}
