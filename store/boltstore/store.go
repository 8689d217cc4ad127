package boltstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	bolt "go.etcd.io/bbolt"

	"countersign/approvals"
)

// Config configures a store. The zero value is usable.
type Config struct {
	// Logger receives what an operator should know; nil discards it.
	Logger *slog.Logger
	// Workers bounds how many handlers Dispatch runs at once for each kind of job; 16 when zero.
	Workers int
	// ReadOnly opens the file for reading only. It still needs the file to itself: it must not be open for writing
	// anywhere else.
	ReadOnly bool
}

// Store keeps the records in one file.
type Store struct {
	cfg  Config
	path string
	db   *bolt.DB
	wake chan struct{} // 1 deep: jobs were enqueued

	mu     sync.Mutex
	closed bool
	failed error
	active sync.WaitGroup
}

var (
	_ approvals.Store     = (*Store)(nil)
	_ approvals.Exclusive = (*Store)(nil)
)

// Exclusive returns true: while the store is open, no other process has the file open for writing.
func (s *Store) Exclusive() bool { return true }

// View runs fn in a snapshot. See approvals.Store.
func (s *Store) View(ctx context.Context, fn func(approvals.Tx) error) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.active.Done()
	return s.db.View(func(btx *bolt.Tx) error {
		t := s.tx(btx, false)
		defer t.ended.Store(true)
		return fn(t)
	})
}

// Update runs fn in a serializable transaction. See approvals.Store.
func (s *Store) Update(ctx context.Context, fn func(approvals.Tx) error) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.active.Done()
	var t *tx
	err := s.db.Update(func(btx *bolt.Tx) error {
		t = s.tx(btx, true)
		defer t.ended.Store(true)
		if err := fn(t); err != nil {
			return err
		}
		return t.hurt
	})
	if err == nil && t.jobs {
		s.wakeUp()
	}
	return err
}

// Close releases the file. See approvals.Store.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	s.mu.Unlock()
	s.active.Wait()
	return s.db.Close()
}

// enter admits one more transaction; the caller calls s.active.Done when it is over.
func (s *Store) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return approvals.ErrClosed
	case s.failed != nil:
		return s.failed
	}
	s.active.Add(1)
	return nil
}

func (s *Store) tx(btx *bolt.Tx, write bool) *tx {
	return &tx{btx: btx, write: write, damaged: s.damaged}
}

// ErrDamaged is returned when the file holds what it cannot hold: it was cut short, overwritten, or the disk is bad.
var ErrDamaged = errors.New("store file is damaged")

func (s *Store) damaged(detail any) error {
	return fmt.Errorf("%w: %s: %v", ErrDamaged, s.path, detail)
}

func (s *Store) wakeUp() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}
