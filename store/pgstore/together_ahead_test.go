package pgstore

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"countersign/approvals"
)

// lockRun has somebody else lock the row of a run until what it returns is called.
func lockRun(t *testing.T, s *Store, id approvals.RunID) (unlock func()) {
	t.Helper()
	other, err := s.work.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { other.Rollback(context.WithoutCancel(t.Context())) })
	if _, err := other.Exec(t.Context(), "select from run_records where id = $1 for update", string(id)); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := other.Rollback(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// now reports whether something holds of a queue, and until waits for it.
func (q *queue) now(holds func() bool) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return holds()
}

func (q *queue) until(holds func() bool) {
	for !q.now(holds) {
		time.Sleep(time.Millisecond)
	}
}

// crowd are callers who each write a run of their own, as many as share a transaction, from a number on.
type crowd struct {
	store *Store
	from  int
	first func() // called by the first of them within its closure; may be nil
	wg    sync.WaitGroup
	errs  [togetherAlone]error
}

// come has some of them come, and waits until they wait for their turn.
func (c *crowd) come(t *testing.T, from, to int) {
	q := &c.store.updates
	waiting := 0
	q.now(func() bool { waiting = len(q.waiting); return true })
	c.call(t, from, to)
	q.until(func() bool { return len(q.waiting) == waiting+to-from })
}

func (c *crowd) call(t *testing.T, from, to int) {
	for i := from; i < to; i++ {
		c.wg.Go(func() {
			c.errs[i] = c.store.update(t.Context(), func(tx *tx) error {
				if i == 0 && c.first != nil {
					c.first()
				}
				return bump(tx, runID(c.from+i))
			})
		})
	}
}

// ended waits until they are told, and wants each run to have been written once.
func (c *crowd) ended(t *testing.T) {
	t.Helper()
	c.wg.Wait()
	for i, err := range c.errs {
		if v := version(t, c.store, runID(c.from+i)); err != nil || v != 1 {
			t.Errorf("%s was written %d times: %v", runID(c.from+i), v, err)
		}
	}
}

// TestTurnAhead: who waits while a transaction commits has the next turn at once, as soon as they are as many as may
// share one: when the last of them comes, when the closures of the transaction end, and when the one before it does.
// Fewer wait for the commit.
func TestTurnAhead(t *testing.T) {
	t.Parallel()
	s := openStore(t, newURL(t), Config{straggling: time.Minute})
	var ids []approvals.RunID
	for i := range 4 * togetherAlone {
		ids = append(ids, runID(i))
	}
	putRuns(t, s, ids...)
	q := &s.updates
	var own *turn
	q.now(func() bool {
		q.longest = time.Hour // nobody's turn comes because a transaction takes long
		own = q.begin()
		return true
	})
	unlock, goesOn := [3]func(){}, make(chan struct{})
	var crowds [4]*crowd
	for i := range crowds {
		crowds[i] = &crowd{store: s, from: i * togetherAlone}
		if i < len(unlock) {
			unlock[i] = lockRun(t, s, runID(i*togetherAlone)) // it does not end before that is called
		}
	}
	crowds[0].come(t, 0, togetherAlone)
	q.leave(own)
	q.until(func() bool { return len(q.begun) == 1 && q.begun[0].commits })

	// The last one comes.
	crowds[1].first = func() { <-goesOn }
	crowds[1].come(t, 0, togetherAlone-1)
	if !q.now(func() bool { return len(q.begun) == 1 }) {
		t.Error("too few to share a transaction did not wait for the commit")
	}
	crowds[1].call(t, togetherAlone-1, togetherAlone)
	q.until(func() bool { return len(q.begun) == 2 && len(q.waiting) == 0 })

	// The transaction before ends, and then the closures do.
	crowds[2].come(t, 0, togetherAlone)
	unlock[0]()
	crowds[0].ended(t)
	if !q.now(func() bool { return len(q.begun) == 1 && len(q.waiting) == togetherAlone }) {
		t.Error("a transaction began while another one's closures run")
	}
	close(goesOn)
	q.until(func() bool { return len(q.begun) == 2 && len(q.waiting) == 0 })

	// The third one's closures have ended already when the second one ends.
	var third *turn
	q.until(func() bool { third = q.begun[1]; return third.commits })
	crowds[3].come(t, 0, togetherAlone)
	unlock[1]()
	crowds[1].ended(t)
	crowds[3].ended(t)
	if !q.now(func() bool { return slices.Contains(q.begun, third) }) {
		t.Error("the fourth transaction waited until the third one gave up")
	}
	unlock[2]()
	crowds[2].ended(t)
}

// TestWhoMayBeAhead: a turn is given ahead to people, where nobody needs one alone and no other process writes, and not
// after a conflict.
func TestWhoMayBeAhead(t *testing.T) {
	t.Parallel()
	full := strings.Repeat("p", togetherAlone)
	conflict := &pgconn.PgError{Code: codeSerialization}
	for _, c := range []struct {
		name, waiting string
		change        func(*queue)
		want          bool
	}{
		{"enough wait", full, nil, true},
		{"and some at work", full + "ww", nil, true},
		{"one is missing", full[1:], nil, false},
		{"work does not count", full[1:] + "www", nil, false},
		{"somebody needs one alone", full + "P", nil, false},
		{"somebody at work does", full + "W", nil, false},
		{"closures still run", full, func(q *queue) { q.begun[0].commits = false }, false},
		{"one is ahead already", full, func(q *queue) { q.begun = append(q.begun, &turn{commits: true}) }, false},
		{"nothing is under way", full, func(q *queue) { q.begun = nil }, false},
		{"they read", full, func(q *queue) { q.write = false }, false},
		{"another process writes", full, func(q *queue) { q.store.others.Store(1) }, false},
		{"a conflict", full, func(q *queue) { q.noteConflict(conflict) }, false},
		{"a conflict long ago", full, func(q *queue) { q.noteConflict(conflict); q.turns += afterConflict }, true},
		{"another error", full, func(q *queue) { q.noteConflict(errBroken) }, true},
		{"none", full, func(q *queue) { q.noteConflict(nil) }, true},
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

// TestConflictIsNoted: after a conflict, at a read or at the commit, of a transaction that is shared or of one alone,
// the next turns wait for commits, and it is tried again.
func TestConflictIsNoted(t *testing.T) {
	t.Parallel()
	refuse := func(t *testing.T, s *Store) {
		if _, err := s.work.Exec(t.Context(), `create function refuse() returns int language plpgsql as
			$$ begin raise exception 'there was a conflict' using errcode = '40001'; end $$`); err != nil {
			t.Fatal(err)
		}
	}
	atRead := func(t *testing.T, s *Store, tx *tx) {
		tx.lookUp([]string{"nowhere"}, func(pgx.Rows) error { return nil }, "select refuse()")
	}
	atCommit := func(t *testing.T, s *Store, tx *tx) {
		if _, err := s.work.Exec(t.Context(), "update run_records set agent = agent where id = $1",
			string(runID(0))); err != nil {
			t.Error(err)
		}
	}
	for _, c := range []struct {
		name    string
		callers int
		first   func(*testing.T, *Store, *tx)
		want    bool
	}{
		{"none", 2, func(*testing.T, *Store, *tx) {}, false},
		{"shared, at the commit", 2, atCommit, true},
		{"shared, at a read", 2, atRead, true},
		{"alone, at the commit", 1, atCommit, true},
		{"alone, at a read", 1, atRead, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := openStore(t, newURL(t), Config{straggling: time.Minute})
			refuse(t, s)
			putRuns(t, s, runID(0), runID(1))
			tries := make([]int, c.callers)
			errs := sharing(t, s, c.callers, func(i int) func(*tx) error {
				return func(tx *tx) error {
					if _, err := tx.Run("T1", runID(i)); err != nil {
						return err
					}
					if tries[i]++; i == 0 && tries[i] == 1 {
						c.first(t, s, tx)
					}
					return bump(tx, runID(i))
				}
			})
			if err := errors.Join(errs...); err != nil {
				t.Fatal(err)
			}
			q := &s.updates
			if got := q.now(func() bool { return q.careful > 0 }); got != c.want || (tries[0] > 1) != c.want {
				t.Errorf("after %d tries a conflict was noted: %v, want %v", tries[0], got, c.want)
			}
			for i := range c.callers {
				if v := version(t, s, runID(i)); v != 1 {
					t.Errorf("%s was written %d times", runID(i), v)
				}
			}
		})
	}
}
