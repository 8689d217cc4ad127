package storetest

import (
	"context"
	"sync"
	"time"

	"countersign/approvals"
)

// memoryStore is a store on a Memory.
type memoryStore struct {
	data    *Memory
	id      int
	closing chan struct{}

	mu     sync.Mutex
	closed bool
	active sync.WaitGroup // transactions
}

func (s *memoryStore) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return approvals.ErrClosed
	}
	s.active.Add(1)
	return nil
}

func (s *memoryStore) View(ctx context.Context, fn func(approvals.Tx) error) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.active.Done()
	if s.data.chaos.Load().Rerun {
		attempt(s.data.begin(ctx, false), fn)
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return attempt(s.data.begin(ctx, false), fn)
}

func (s *memoryStore) Update(ctx context.Context, fn func(approvals.Tx) error) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.active.Done()
	c := s.data.chaos.Load()
	if c.Rerun {
		attempt(s.data.begin(ctx, true), fn)
	}
	if err := s.data.lock(ctx); err != nil {
		return err
	}
	defer s.data.unlock()
	t := s.data.begin(ctx, true)
	if err := attempt(t, fn); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.data.dice.roll("unknown", c.Unknown) {
		if s.data.dice.roll("committed", 0.5) {
			s.data.commit(t)
		}
		return approvals.ErrCommitUnknown
	}
	s.data.commit(t)
	return nil
}

// attempt calls fn and carries out the puts that were deferred.
func attempt(t *memoryTx, fn func(approvals.Tx) error) error {
	defer func() { t.ended = true }()
	if err := fn(t); err != nil {
		return err
	}
	return t.flush()
}

func (s *memoryStore) Close() error {
	s.mu.Lock()
	first := !s.closed
	s.closed = true
	s.mu.Unlock()
	if first {
		close(s.closing) // ends Dispatch
	}
	s.active.Wait()
	if first {
		s.data.left(s)
	}
	return nil
}

// UncertainSince implements [approvals.Clock].
func (s *memoryStore) UncertainSince() time.Time { return s.data.clock.uncertainSince() }
