package boltstore

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"countersign/approvals"
)

// counted handles jobs, and returns how many it has handled.
func counted() (handle func(context.Context, approvals.Job) error, count func() int) {
	handled := make(chan approvals.Job, 100)
	handle = func(_ context.Context, j approvals.Job) error {
		handled <- j
		return nil
	}
	return handle, func() int {
		synctest.Wait()
		return len(handled)
	}
}

// TestDueSoon: a job that is due within moments takes no index, and is handled when it is due, neither before nor much
// later; also when the scheduler begins after it was enqueued.
func TestDueSoon(t *testing.T) {
	t.Parallel()
	for _, after := range []time.Duration{time.Millisecond, soon / 2, soon} {
		for _, early := range []bool{true, false} {
			inBubble(t, func(t *testing.T, s *Store) {
				handle, count := counted()
				if early {
					defer dispatch(t, s, handle)()
				}
				synctest.Wait()
				enqueue(t, s, "run_1", time.Now().Add(after).Truncate(time.Microsecond))
				began := time.Now()
				if !early {
					defer dispatch(t, s, handle)()
				}
				err := s.view(t.Context(), func(tx *tx) error {
					if k := tx.seek(bucketScheduledDue, nil); k != nil {
						t.Errorf("after %s: %q is in the index by time", after, k)
					}
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(after - time.Since(began) - 10*time.Microsecond)
				if n := count(); n != 0 {
					t.Errorf("after %s, early %t: handled %d times before it was due", after, early, n)
				}
				time.Sleep(20 * time.Microsecond)
				if n := count(); n != 1 {
					t.Errorf("after %s, early %t: handled %d times when it was due", after, early, n)
				}
				time.Sleep(time.Hour)
				if n := count(); n != 1 || countJobs(t, s) != 0 {
					t.Errorf("after %s, early %t: handled %d times, %d jobs left", after, early, n, countJobs(t, s))
				}
			})
		}
	}
}

// TestDueNowAndLater: a job that is enqueued for later while it is handled waits until then, although the
// acknowledgement of the first time is not written yet.
func TestDueNowAndLater(t *testing.T) {
	t.Parallel()
	for _, later := range []time.Duration{soon / 2, 10 * time.Minute} {
		inBubble(t, func(t *testing.T, s *Store) {
			handle, count := counted()
			release := make(chan struct{})
			defer dispatch(t, s, func(ctx context.Context, j approvals.Job) error {
				defer func() { <-release }()
				return handle(ctx, j)
			})()
			synctest.Wait()
			enqueue(t, s, "run_1", time.Time{})
			if n := count(); n != 1 {
				t.Errorf("%s: handled %d times at first", later, n)
			}
			enqueue(t, s, "run_1", time.Now().Add(later))
			close(release)
			if n := count(); n != 1 {
				t.Errorf("%s: handled %d times at once", later, n)
			}
			time.Sleep(later - time.Millisecond)
			if n := count(); n != 1 {
				t.Errorf("%s: handled %d times before it was due again", later, n)
			}
			time.Sleep(2 * time.Millisecond)
			if n := count(); n != 2 {
				t.Errorf("%s: handled %d times in the end", later, n)
			}
		})
	}
}

// TestSoonBecomesNow: a job that was due soon and is enqueued again, for now, is handled once, now.
func TestSoonBecomesNow(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, s *Store) {
		handle, count := counted()
		defer dispatch(t, s, handle)()
		synctest.Wait()
		enqueue(t, s, "run_1", time.Now().Add(soon/2))
		if n := count(); n != 0 {
			t.Errorf("handled %d times before it was due", n)
		}
		enqueue(t, s, "run_1", time.Time{})
		if n := count(); n != 1 {
			t.Errorf("handled %d times now", n)
		}
		time.Sleep(time.Minute)
		if n := count(); n != 1 {
			t.Errorf("handled %d times in the end", n)
		}
	})
}
