package boltstore

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// commitsOf returns how many commits fn makes.
func commitsOf(s *Store, fn func()) uint64 {
	before := s.commit.stats.commits.Load()
	fn()
	return s.commit.stats.commits.Load() - before
}

func TestSoonSharesTheNextWrite(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := open(t, newPath(t))
		defer s.Close()
		began := time.Now()
		n := commitsOf(s, func() {
			var soon sync.WaitGroup
			for i := range 3 {
				soon.Go(func() {
					if err := s.UpdateSoon(t.Context(), put(i)); err != nil {
						t.Error(err)
					}
				})
			}
			synctest.Wait()
			if err := s.Update(t.Context(), put(3)); err != nil {
				t.Error(err)
			}
			soon.Wait()
		})
		if waited := time.Since(began); n != 1 || waited != 0 {
			t.Errorf("%d commits after %s, want 1 at once", n, waited)
		}
		for i := range 4 {
			if !has(t, s, i) {
				t.Errorf("%d is gone", i)
			}
		}
	})
}

func TestSoonAloneIsWrittenAfterAMoment(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := open(t, newPath(t))
		defer s.Close()
		for i := range 2 { // the second begins a wait of its own
			began := time.Now()
			if err := s.UpdateSoon(t.Context(), put(i)); err != nil {
				t.Error(err)
			}
			if waited := time.Since(began); waited != patience || !has(t, s, i) {
				t.Errorf("written after %s, want %s", waited, patience)
			}
		}
	})
}

func TestSoonCancelledDoesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := open(t, newPath(t))
		defer s.Close()
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(patience/2, cancel)
		if err := s.UpdateSoon(ctx, put(1)); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		time.Sleep(patience)
		if has(t, s, 1) {
			t.Error("what was cancelled is written")
		}
	})
}

// TestCloseWaitsForSoon: what waits for company is written before the store is closed.
func TestCloseWaitsForSoon(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		path := newPath(t)
		s := open(t, path)
		var soon sync.WaitGroup
		soon.Go(func() {
			if err := s.UpdateSoon(t.Context(), put(1)); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		soon.Wait()
		s = open(t, path)
		defer s.Close()
		if !has(t, s, 1) {
			t.Error("it is gone")
		}
	})
}
