package pgstore

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestTurnAhead: who waits while a transaction commits has the next turn at once, as soon as they are as many as may
// share one. Fewer wait for the commit.
func TestTurnAhead(t *testing.T) {
	t.Parallel()
	s := openStore(t, newURL(t), Config{straggling: time.Minute})
	for i := range 3 * togetherAlone {
		putRuns(t, s, runID(i))
	}
	q := &s.updates
	q.longest = time.Hour // nobody's turn comes because a transaction takes long
	other, err := s.work.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer other.Release()
	other.Exec(t.Context(), "begin")
	locked := "select from run_records where id = $1 for update"
	if _, err := other.Exec(t.Context(), locked, string(runID(0))); err != nil {
		t.Fatal(err)
	}
	done := make(chan []error)
	go func() {
		done <- sharing(t, s, togetherAlone, func(i int) func(*tx) error {
			return func(tx *tx) error { return bump(tx, runID(i)) }
		})
	}()
	until(q, func() bool { return len(q.begun) == 1 && q.begun[0].commits })

	var next sync.WaitGroup
	call := func(i int) {
		next.Go(func() {
			if err := s.update(t.Context(), func(tx *tx) error { return bump(tx, runID(i)) }); err != nil {
				t.Errorf("behind the commit: %v", err)
			}
		})
	}
	for i := range togetherAlone - 1 {
		call(togetherAlone + i)
	}
	until(q, func() bool { return len(q.waiting) == togetherAlone-1 })
	if version(t, s, runID(togetherAlone)) != 0 {
		t.Error("too few to share a transaction did not wait for the commit")
	}
	call(2*togetherAlone - 1)
	next.Wait() // while the first transaction still commits
	select {
	case <-done:
		t.Fatal("the first transaction did not wait for the row that is locked")
	default:
	}
	if _, err := other.Exec(t.Context(), "rollback"); err != nil {
		t.Fatal(err)
	}
	for i, err := range <-done {
		if err != nil {
			t.Errorf("caller %d of the first transaction: %v", i, err)
		}
	}
	for i := range 2 * togetherAlone {
		if v := version(t, s, runID(i)); v != 1 {
			t.Errorf("%s was written %d times", runID(i), v)
		}
	}
}

// until waits until something holds of a queue.
func until(q *queue, holds func() bool) {
	for met := false; !met; time.Sleep(time.Millisecond) {
		q.mu.Lock()
		met = holds()
		q.mu.Unlock()
	}
}

// TestWhoMayBeAhead: a turn is given ahead to people alone, where no other process writes, and not after a conflict.
func TestWhoMayBeAhead(t *testing.T) {
	t.Parallel()
	full := strings.Repeat("p", togetherAlone)
	for _, c := range []struct {
		name, waiting string
		change        func(*queue)
		want          bool
	}{
		{"enough wait", full, nil, true},
		{"and some at work", full + "wW", nil, true},
		{"one is missing", full[1:], nil, false},
		{"work does not count", full[1:] + "www", nil, false},
		{"nor who needs one alone", full[1:] + "P", nil, false},
		{"closures still run", full, func(q *queue) { q.begun[0].commits = false }, false},
		{"one is ahead already", full, func(q *queue) { q.begun = append(q.begun, &turn{commits: true}) }, false},
		{"nothing is under way", full, func(q *queue) { q.begun = nil }, false},
		{"they read", full, func(q *queue) { q.write = false }, false},
		{"another process writes", full, func(q *queue) { q.store.others.Store(1) }, false},
		{"a conflict", full, func(q *queue) { q.conflicted() }, false},
		{"a conflict long ago", full, func(q *queue) { q.conflicted(); q.turns += afterConflict }, true},
	} {
		q := queueBeside(0)
		q.write = true
		q.begun = []*turn{{commits: true}}
		waitingAs(q, c.waiting)
		if c.change != nil {
			c.change(q)
		}
		if got := q.mayBeAhead(); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// TestConflictIsNoted: after a conflict of a shared transaction the next turns wait for commits, and it is tried again.
func TestConflictIsNoted(t *testing.T) {
	t.Parallel()
	s := openStore(t, newURL(t), Config{straggling: time.Minute})
	putRuns(t, s, runID(0), runID(1))
	q := &s.updates
	together := func(between func()) {
		t.Helper()
		errs := sharing(t, s, 2, func(i int) func(*tx) error {
			return func(tx *tx) error {
				if _, err := tx.Run("T1", runID(i)); err != nil {
					return err
				}
				if i == 0 {
					between()
				}
				return bump(tx, runID(i))
			}
		})
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
	}
	together(func() {})
	if q.careful != 0 {
		t.Error("there was no conflict")
	}
	once := sync.OnceFunc(func() {
		if _, err := s.work.Exec(t.Context(), "update run_records set agent = agent where id = $1",
			string(runID(0))); err != nil {
			t.Error(err)
		}
	})
	together(once)
	if q.careful == 0 {
		t.Errorf("a conflict was not noted: careful until turn %d of %d", q.careful, q.turns)
	}
	for i := range 2 {
		if v := version(t, s, runID(i)); v != 2 {
			t.Errorf("%s was written %d times, want 2", runID(i), v)
		}
	}
}
