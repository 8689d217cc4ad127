package boltstore

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"countersign/approvals"
)

// TestFailureThatIsNotRecorded: a handler is told of the failures before it, also of those that the file could not
// take, as when its disk is full. Once they are recorded the file counts on, and a success ends the count.
func TestFailureThatIsNotRecorded(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, s *Store) {
		var log bytes.Buffer
		s.cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
		k := jobKey("T1", approvals.JobRun, "run_1")
		put := func(record []byte) (before []byte) {
			t.Helper()
			err := s.update(t.Context(), func(t *tx) error {
				before = bytes.Clone(t.value(bucketQueue, k))
				return t.store(bucketQueue, k, record)
			})
			if err != nil || before == nil {
				t.Fatalf("the job's record: %q, %v", before, err)
			}
			return before
		}
		var attempts []int
		stop := dispatch(t, s, func(_ context.Context, j approvals.Job) error {
			attempts = append(attempts, j.Attempts)
			switch len(attempts) {
			case 1, 2: // nothing can be recorded about a job whose record is damaged
				whole := put([]byte("damaged"))
				time.AfterFunc(100*time.Millisecond, func() { put(whole) })
			case 5:
				return nil
			}
			return errors.New("no luck")
		})
		defer stop()
		enqueue(t, s, "run_1", time.Time{})
		time.Sleep(time.Minute)
		synctest.Wait()
		if want := []int{0, 1, 2, 1, 2}; !slices.Equal(attempts, want) {
			t.Errorf("handled after %v failures, want %v", attempts, want)
		}
		if n := strings.Count(log.String(), "failure of a job not recorded"); n != 2 {
			t.Errorf("%d failures were not recorded, want 2: this test shows nothing\n%s", n, &log)
		}
	})
}
