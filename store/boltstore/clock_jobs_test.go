package boltstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"countersign/approvals"
)

// TestJobsOfAClockAhead opens a store in which jobs were planned, and put off, while the clock was a year ahead: they
// are handed out, however many there are. Where no record is of the future they wait for their time.
func TestJobsOfAClockAhead(t *testing.T) {
	t.Parallel()
	const year = 365 * 24 * time.Hour
	const planned = planBatch + 7
	for _, ahead := range []bool{false, true} {
		path := newPath(t)
		synctest.Test(t, func(t *testing.T) {
			s, err := Open(path, Config{})
			if err != nil {
				t.Fatal(err)
			}
			err = s.Update(t.Context(), func(tx approvals.Tx) error {
				at := tx.Now()
				if ahead {
					at = at.Add(year)
				}
				err := tx.AppendAudit(&approvals.AuditEntry{Workspace: "T1", Seq: 1, At: at})
				for i := range planned {
					job := approvals.Job{Workspace: "T1", Kind: approvals.JobTimer, ID: fmt.Sprint("planned", i)}
					job.Due = tx.Now().Add(year)
					err = errors.Join(err, tx.Enqueue(job))
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			enqueue(t, s, "put off", time.Time{})
			stop := dispatch(t, s, func(context.Context, approvals.Job) error {
				return &approvals.RetryError{After: year, Err: errors.New("slow down")}
			})
			time.Sleep(time.Second)
			stop()
			if ahead {
				err := s.change(func(t *tx) error { // as a process that is killed leaves it
					t.now = t.now.Add(year)
					return t.enqueue(approvals.Job{Workspace: "T1", Kind: approvals.JobRun, ID: "in hand", Due: t.now})
				})
				if err != nil {
					t.Fatal(err)
				}
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}

			if s, err = Open(path, Config{}); err != nil {
				t.Fatal(err)
			}
			var handled []string
			given := make(chan string, 2*planned+2)
			stop = dispatch(t, s, func(_ context.Context, j approvals.Job) error {
				given <- j.ID
				return nil
			})
			enqueue(t, s, "put off", time.Time{}) // as whatever comes next for it does
			time.Sleep(time.Minute)
			stop()
			close(given)
			for id := range given {
				if !slices.Contains(handled, id) { // what is enqueued again is handled again
					handled = append(handled, id)
				}
			}
			if want := planned + 2; ahead && (len(handled) != want || !slices.Contains(handled, "put off")) {
				t.Errorf("%d of %d jobs were handed out", len(handled), want)
			}
			if !ahead && len(handled) != 0 {
				t.Errorf("control: %d jobs were handed out before their time", len(handled))
			}
			if n := countJobs(t, s); ahead && n != 0 {
				t.Errorf("%d jobs are left", n)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}
