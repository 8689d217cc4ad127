package boltstore

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"countersign/approvals"
)

// homes returns the buckets in which the only job has entries.
func homes(t *testing.T, s *Store) (in []string) {
	t.Helper()
	err := s.view(t.Context(), func(tx *tx) error {
		for _, bucket := range [][]byte{bucketQueue, bucketScheduled, bucketScheduledDue} {
			err := tx.scan(bucket, nil, nil, func(_, _ []byte) (bool, error) {
				in = append(in, string(bucket))
				return true, nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err := errors.Join(err, s.Check(t.Context())); err != nil {
		t.Fatal(err)
	}
	return in
}

// TestJobHomes follows a job that is put off, wanted at once, fails, and is done.
func TestJobHomes(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, s *Store) {
		expect := func(when string, want ...string) {
			t.Helper()
			if got := homes(t, s); !slices.Equal(got, want) {
				t.Errorf("%s the job is in %q, want %q", when, got, want)
			}
		}
		enqueue(t, s, "run_1", time.Now().Add(2*time.Hour))
		expect("put off,", "scheduled", "scheduled_due")
		enqueue(t, s, "run_1", time.Now().Add(time.Hour))
		expect("put off to an earlier time,", "scheduled", "scheduled_due")
		enqueue(t, s, "run_1", time.Now())
		expect("wanted at once,", "queue")
		enqueue(t, s, "run_1", time.Now())
		expect("wanted at once again,", "queue")
		tries := make(chan int, 10)
		stop := dispatch(t, s, func(_ context.Context, j approvals.Job) error {
			tries <- j.Attempts
			if j.Attempts == 0 {
				return &approvals.RetryError{After: time.Minute, Err: errors.New("failed")}
			}
			return nil
		})
		<-tries
		synctest.Wait()
		expect("failed,", "scheduled", "scheduled_due")
		<-tries
		stop()
		if in := homes(t, s); len(in) != 0 {
			t.Errorf("done, the job is still in %q", in)
		}
	})
}

// TestReadyInOrder checks that jobs which had to wait for a handler are handled in the order in which they were
// enqueued.
func TestReadyInOrder(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	synctest.Test(t, func(t *testing.T) {
		s, err := Open(path, Config{Workers: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		var got []string
		release := make(chan struct{})
		stop := dispatch(t, s, func(_ context.Context, j approvals.Job) error {
			<-release
			got = append(got, j.ID)
			return nil
		})
		synctest.Wait() // what the file already has when it starts is handled in the order of keys
		want := []string{"z", "a", "m", "b", "y"}
		for _, id := range want {
			enqueue(t, s, id, time.Now())
		}
		close(release)
		synctest.Wait()
		stop()
		if !slices.Equal(got, want) {
			t.Errorf("handled %q, want %q", got, want)
		}
	})
}
