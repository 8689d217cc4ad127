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

// TestSoonInCompany: as many as are worth a write of their own wait no longer, and whoever comes next waits anew.
func TestSoonInCompany(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := open(t, newPath(t))
		defer s.Close()
		began := time.Now()
		soon := func(i int, want time.Duration) func() {
			return func() {
				if err := s.UpdateSoon(t.Context(), put(i)); err != nil {
					t.Error(err)
				}
				if waited := time.Since(began); waited != want {
					t.Errorf("%d was written after %s, want %s", i, waited, want)
				}
			}
		}
		n := commitsOf(s, func() {
			var all sync.WaitGroup
			for i := range company {
				all.Go(soon(i, patience/2))
				if i == company-2 {
					synctest.Wait()
					time.Sleep(patience / 2)
				}
			}
			synctest.Wait()
			all.Go(soon(company, patience+patience/2))
			all.Wait()
		})
		if n != 2 {
			t.Errorf("%d commits", n)
		}
	})
}

// TestSoonWaitsItsOwnTime: a wait that a commit has ended, or whoever began it, shortens nobody else's.
func TestSoonWaitsItsOwnTime(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(t *testing.T, s *Store, cancel func()){
		"committed": func(t *testing.T, s *Store, _ func()) {
			if err := s.Update(t.Context(), put(0)); err != nil {
				t.Error(err)
			}
		},
		"cancelled": func(_ *testing.T, _ *Store, cancel func()) { cancel() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := open(t, newPath(t))
				defer s.Close()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var first sync.WaitGroup
				first.Go(func() { _ = s.UpdateSoon(ctx, put(1)) })
				time.Sleep(patience / 2)
				end(t, s, cancel)
				first.Wait()
				began := time.Now()
				if err := s.UpdateSoon(t.Context(), put(2)); err != nil {
					t.Error(err)
				}
				if waited := time.Since(began); waited != patience {
					t.Errorf("written after %s, want %s", waited, patience)
				}
			})
		})
	}
}

// TestSoonOutlivesTheFirst: who waits for company is written in time although whoever began the wait has gone.
func TestSoonOutlivesTheFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := open(t, newPath(t))
		defer s.Close()
		ctx, cancel := context.WithCancel(t.Context())
		var first sync.WaitGroup
		first.Go(func() { _ = s.UpdateSoon(ctx, put(1)) })
		synctest.Wait()
		time.AfterFunc(patience/2, cancel)
		began := time.Now()
		if err := s.UpdateSoon(t.Context(), put(2)); err != nil {
			t.Error(err)
		}
		if waited := time.Since(began); waited > patience || !has(t, s, 2) || has(t, s, 1) {
			t.Errorf("written after %s, want %s", waited, patience)
		}
		first.Wait()
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
