package approvals_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"countersign/approvals"
	"countersign/store/boltstore"
)

// errDead is what a store says whose process is gone: it never answers again.
var errDead = fmt.Errorf("the process is dead: %w", approvals.ErrClosed)

// mortal is a store whose process can die: from then on nothing is read or written through it. It can be told to die
// at a chosen write.
type mortal struct {
	*boltstore.Store
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
	if m.dead.Load() {
		return errDead
	}
	before, behind := m.due()
	if before {
		m.kill()
		return errDead
	}
	err := m.Store.Update(ctx, fn)
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
