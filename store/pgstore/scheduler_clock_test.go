package pgstore

import (
	"context"
	"errors"
	"testing"
	"time"

	"countersign/approvals"
)

// TestJobsOfATimeAhead: jobs that were claimed, or put off, while the server's clock was ahead are handled when it has
// been set right. A claim, and a pause, that may still hold are kept.
func TestJobsOfATimeAhead(t *testing.T) {
	t.Parallel()
	const (
		claimed = `claim_owner = 'x', claim_number = 1, claim_until = now() + interval `
		nine    = `due = now() + interval '9 minutes', not_before = now() + interval '9 minutes'`
		two     = `due = now() + interval '2 hours', not_before = now() + interval '2 hours'`
	)
	for name, tt := range map[string]struct {
		sql     string
		handled bool
	}{
		"claimed":                            {claimed + `'2 hours'`, true},
		"control: claimed now":               {claimed + `'4 minutes'`, false},
		"put off":                            {nine + `, paused = now() + interval '8 minutes'`, true},
		"control: put off now":               {nine + `, paused = now()`, false},
		"put off, by an earlier version":     {two, true},
		"put off now, by an earlier version": {nine, false},
		"planned":                            {`due = now() + interval '2 hours'`, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openJobs(t, newURL(t), jobSettings{sweep: 100 * time.Millisecond})
			enqueueJobs(t, s, job("run_1"))
			if _, err := s.work.Exec(t.Context(), "update jobs set "+tt.sql); err != nil {
				t.Fatal(err)
			}
			handled := make(chan string, 10)
			defer dispatch(t, s, func(_ context.Context, j approvals.Job) error {
				handled <- j.ID
				return nil
			})()
			enqueueJobs(t, s, job("run_1")) // as a worker's sweep does
			if tt.handled {
				await(t, "the job", handled)
				return
			}
			for range 2 {
				enqueueJobs(t, s, job("run_2"))
				if id := await(t, "another job", handled); id != "run_2" {
					t.Errorf("%s was handled", id)
				}
			}
		})
	}
}

// TestJobsOfAWrongClock: while the server's clock is wrong, or is waited for, the store's time is another one. Jobs are
// due by the store's all the same.
func TestJobsOfAWrongClock(t *testing.T) {
	t.Parallel()
	for name, off := range map[string]time.Duration{
		"right": 0, "set forward": time.Hour, "set back": -time.Hour, "set back a little": -4 * time.Minute,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openJobs(t, newURL(t), jobSettings{sweep: 100 * time.Millisecond})
			s.clock = newClock(s.cfg.Logger, time.Now().Add(-off), s.elapsed())
			handled := make(chan string, 10)
			defer dispatch(t, s, func(_ context.Context, j approvals.Job) error {
				handled <- j.ID
				return nil
			})()
			for _, id := range []string{"run_1", "run_2"} {
				err := s.Update(t.Context(), func(tx approvals.Tx) error {
					early, due := job("early"), job(id)
					early.Due, due.Due = tx.Now().Add(10*time.Minute), tx.Now()
					return tx.Enqueue(early, due)
				})
				if err != nil {
					t.Fatal(err)
				}
				if got := await(t, id, handled); got != id {
					t.Errorf("%s was handled, want %s", got, id)
				}
			}
		})
	}
}

// TestPauseOfAMomentAgo: a transaction begins, and sees what is committed a moment later: a pause that was asked for in
// between holds.
func TestPauseOfAMomentAgo(t *testing.T) {
	t.Parallel()
	s := openJobs(t, newURL(t), jobSettings{})
	enqueueJobs(t, s, job("run_1"))
	conn, err := s.clicks.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	tx := s.begin(t.Context(), conn, true)
	defer tx.end()
	if _, err := conn.Exec(t.Context(), tx.waiting[0].sql); err != nil {
		t.Fatal(err)
	}
	tx.waiting[0].sql = "select" // it has begun
	const pause = "due = now() + interval '9 minutes', not_before = now() + interval '9 minutes', paused = now()"
	if _, err := s.work.Exec(t.Context(), "update jobs set "+pause); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(tx.Enqueue(job("run_1")), tx.commit()); err != nil {
		t.Fatal(err)
	}
	var in time.Duration
	if err := s.work.QueryRow(t.Context(), "select due - now() from jobs").Scan(&in); err != nil {
		t.Fatal(err)
	}
	if in < 8*time.Minute {
		t.Errorf("due in %v, not in 9m", in)
	}
}
