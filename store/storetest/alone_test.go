package storetest

import (
	"context"
	"errors"
	"sync"
	"time"

	"countersign/approvals"
)

// alone is a store that one process has to itself, as far as the suite can tell.
type alone struct {
	approvals.Store
	mu   sync.Mutex
	busy bool
}

func newAlone(s approvals.Store) approvals.Store { return &alone{Store: s} }

func (s *alone) Exclusive() bool { return true }

func (s *alone) Now() time.Time { return telling{Store: s.Store}.Now() }

// telling tells its time without a transaction, as far as the suite can tell: too late by so much.
type telling struct {
	approvals.Store
	late time.Duration
}

func (s telling) Now() (at time.Time) {
	err := s.View(context.Background(), func(tx approvals.Tx) error {
		at = tx.Now().Add(s.late)
		return nil
	})
	if err != nil {
		panic(err)
	}
	return at
}

func (s *alone) Dispatch(ctx context.Context, handle func(context.Context, approvals.Job) error) error {
	s.mu.Lock()
	second := s.busy
	s.busy = true
	s.mu.Unlock()
	if second {
		return errors.New("jobs are dispatched already")
	}
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.busy = false
	}()
	return s.Store.Dispatch(ctx, handle)
}
