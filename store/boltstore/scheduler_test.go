package boltstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"countersign/approvals"
)

// inBubble runs fn with a store whose time is that of the bubble.
func inBubble(t *testing.T, fn func(t *testing.T, s *Store)) {
	path := newPath(t)
	synctest.Test(t, func(t *testing.T) {
		s, err := Open(path, Config{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		fn(t, s)
	})
}

// dispatch hands jobs to handle until the returned function is called.
func dispatch(t *testing.T, s *Store, handle func(context.Context, approvals.Job) error) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Dispatch(ctx, handle) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func enqueue(t *testing.T, s *Store, id string, due time.Time) {
	t.Helper()
	err := s.Update(t.Context(), func(tx approvals.Tx) error {
		return tx.Enqueue(approvals.Job{Workspace: "T1", Kind: approvals.JobRun, ID: id, Due: due})
	})
	if err != nil {
		t.Fatal(err)
	}
}

func countJobs(t *testing.T, s *Store) (n int) {
	t.Helper()
	err := s.view(t.Context(), func(t *tx) error {
		return errors.Join(
			t.findJobs(func([]byte, *jobRecord) error {
				n++
				return nil
			}),
			t.scan(bucketScheduled, nil, nil, func(_, _ []byte) (bool, error) {
				n++
				return true, nil
			}))
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestBackOff(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, s *Store) {
		times := make(chan time.Time, 20)
		stop := dispatch(t, s, func(_ context.Context, j approvals.Job) error {
			times <- time.Now()
			if j.Attempts == 12 {
				return nil
			}
			return errors.New("failed")
		})
		enqueue(t, s, "run_1", time.Now())
		last := <-times
		for n := range 12 {
			longest := min(minBackOff<<n, maxBackOff)
			at := <-times
			if gap := at.Sub(last); gap < longest*4/5 || gap > longest {
				t.Errorf("pause %d is %v, want at most %v and a fifth less at least", n+1, gap, longest)
			}
			last = at
		}
		stop()
		if n := countJobs(t, s); n != 0 {
			t.Errorf("%d jobs are left", n)
		}
	})
}

// TestDueExactly checks that jobs far in the future are handled on time: nothing polls.
func TestDueExactly(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, s *Store) {
		type run struct {
			id string
			at time.Time
		}
		runs := make(chan run, 10)
		defer dispatch(t, s, func(_ context.Context, j approvals.Job) error {
			runs <- run{j.ID, time.Now()}
			return nil
		})()
		start := time.Now()
		for _, h := range []int{30, 10, 20} {
			enqueue(t, s, fmt.Sprint(h), start.Add(time.Duration(h)*time.Hour))
		}
		for _, h := range []int{10, 20, 30} {
			if got := <-runs; got.id != fmt.Sprint(h) || !got.at.Equal(start.Add(time.Duration(h)*time.Hour)) {
				t.Errorf("job %s after %v, want %d after %dh", got.id, got.at.Sub(start), h, h)
			}
		}
	})
}

func TestSlotsBound(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, s *Store) {
		entered, release := make(chan struct{}, 100), make(chan struct{})
		stop := dispatch(t, s, func(context.Context, approvals.Job) error {
			entered <- struct{}{}
			<-release
			return nil
		})
		for n := range 50 {
			enqueue(t, s, fmt.Sprint(n), time.Time{})
		}
		synctest.Wait()
		if n := len(entered); n != defaultWorkers {
			t.Errorf("%d handlers at once, want %d", n, defaultWorkers)
		}
		close(release)
		for range 50 {
			<-entered
		}
		stop()
		if n := countJobs(t, s); n != 0 {
			t.Errorf("%d jobs are left", n)
		}
	})
}

// TestAcksShareCommits checks that removing jobs that were handled costs no writes of its own while others are written.
func TestAcksShareCommits(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, s *Store) {
		const length = 100
		done := make(chan struct{})
		stop := dispatch(t, s, func(_ context.Context, j approvals.Job) error {
			if j.Attempts != 0 {
				t.Errorf("job %s is repeated", j.ID)
			}
			var n int
			fmt.Sscan(j.ID, &n)
			if n == length {
				close(done)
				return nil
			}
			enqueue(t, s, fmt.Sprint(n+1), time.Time{})
			return nil
		})
		enqueue(t, s, "1", time.Time{})
		<-done
		if n := s.commit.stats.commits.Load(); n != length {
			t.Errorf("%d commits for %d jobs that follow each other", n, length)
		}
		synctest.Wait()
		time.Sleep(2 * flushDelay) // in the bubble
		synctest.Wait()
		if n, more := countJobs(t, s), s.commit.stats.commits.Load(); n != 0 || more != length+1 {
			t.Errorf("after a pause: %d jobs left and %d commits, want 0 and %d", n, more, length+1)
		}
		stop()
	})
}

// TestFailedFlushIsPutOff has many handled jobs wait for a flush while none succeeds, as on a full disk: it is not
// tried again and again.
func TestFailedFlushIsPutOff(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, s *Store) {
		f := &flusher{store: s, done: make(chan error, 1)}
		for n := range flushCount {
			s.acks.add(fmt.Sprint(n), 1)
		}
		for range 3 {
			if wait := f.plan(t.Context()); wait != 0 || !f.running {
				t.Fatalf("a flush is due, and planned in %v", wait)
			}
			<-f.done
			for n := range flushCount { // as if it had not come to pass
				s.acks.add(fmt.Sprint(n), 1)
			}
			f.ended(errors.New("no space"))
			if wait := f.plan(t.Context()); wait != maxBackOff || f.running {
				t.Fatalf("tried again at once, or in %v, not %v", wait, maxBackOff)
			}
			time.Sleep(maxBackOff) // in the bubble
		}
		f.plan(t.Context())
		f.ended(<-f.done)
		if wait := f.plan(t.Context()); f.running || wait != 0 || f.delayed {
			t.Errorf("all is written, and the next flush is planned in %v", wait)
		}
	})
}

// TestFailureBehindASuccess has a job succeed, and fail when it goes again because it was enqueued meanwhile, before
// the success has been written: that it failed, and when it asked to be tried again, is kept.
func TestFailureBehindASuccess(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, s *Store) {
		type try struct {
			attempts int
			at       time.Time
		}
		tries := make(chan try, 10)
		calls := 0
		stop := dispatch(t, s, func(_ context.Context, j approvals.Job) error {
			tries <- try{j.Attempts, time.Now()}
			switch calls++; calls {
			case 1:
				enqueue(t, s, "run_1", time.Time{})
			case 2:
				return &approvals.RetryError{After: time.Minute, Err: errors.New("slow down")}
			}
			return nil
		})
		enqueue(t, s, "run_1", time.Time{})
		<-tries
		second, third := <-tries, <-tries
		if second.attempts != 0 || third.attempts != 1 || third.at.Sub(second.at) < time.Minute {
			t.Errorf("attempts %d and %d, %v later; want 0 and 1, a minute later",
				second.attempts, third.attempts, third.at.Sub(second.at))
		}
		stop()
		if n := countJobs(t, s); n != 0 {
			t.Errorf("%d jobs are left", n)
		}
	})
}

// TestDispatchNeedsStore ends with the store, without waiting for ctx, and stops its handlers.
func TestDispatchNeedsStore(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, s *Store) {
		started, ended := make(chan struct{}), make(chan error)
		go func() {
			ended <- s.Dispatch(t.Context(), func(ctx context.Context, _ approvals.Job) error {
				close(started)
				<-ctx.Done()
				return ctx.Err()
			})
		}()
		enqueue(t, s, "run_1", time.Time{})
		<-started
		if err := s.Dispatch(t.Context(), nil); err == nil {
			t.Error("a second Dispatch runs beside the first")
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := <-ended; !errors.Is(err, approvals.ErrClosed) {
			t.Errorf("dispatch: %v, want ErrClosed", err)
		}
	})
}

// TestDueTimes checks how enqueued due times and handlers meet.
func TestDueTimes(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	at := func(s int) time.Time { return now.Add(time.Duration(s) * time.Second) }
	again := func(r *jobRecord, due time.Time) { r.add(r.Generation+1, due, now) }
	fails := func(r *jobRecord, pause time.Duration, firm bool) { r.retry(1, now, pause*time.Second, firm) }
	for _, c := range []struct {
		name string
		do   func(r *jobRecord)
		left bool
		due  int
		gens int // due times kept
	}{
		{"one", func(r *jobRecord) { again(r, at(5)) }, true, 5, 1},
		{"earlier covers later", func(r *jobRecord) { again(r, at(5)); again(r, at(3)) }, true, 3, 1},
		{"later stays for a handler under way", func(r *jobRecord) { again(r, at(3)); again(r, at(5)) }, true, 3, 2},
		{"acknowledged with the later", func(r *jobRecord) { again(r, at(3)); again(r, at(5)); r.ack(2) }, false, 0, 0},
		{"acknowledged before the later",
			func(r *jobRecord) { again(r, at(3)); again(r, at(5)); r.ack(1) }, true, 5, 1},
		{"due ones are one", func(r *jobRecord) { again(r, at(-3)); again(r, at(-1)); again(r, at(0)) }, true, -3, 1},
		{"due again while handled", func(r *jobRecord) { again(r, at(-3)); again(r, at(-1)); r.ack(1) }, true, -3, 1},
		{"failed", func(r *jobRecord) { again(r, at(-3)); fails(r, 7, false) }, true, 7, 1},
		{"failed and enqueued for sooner",
			func(r *jobRecord) { again(r, at(-3)); again(r, at(1)); fails(r, 7, false) }, true, 1, 1},
		{"failed and enqueued for later",
			func(r *jobRecord) { again(r, at(-3)); again(r, at(9)); fails(r, 7, false) }, true, 7, 2},
		{"paused", func(r *jobRecord) { again(r, at(-3)); fails(r, 7, true); again(r, at(1)) }, true, 7, 1},
		{"paused, then handled",
			func(r *jobRecord) { again(r, at(-3)); fails(r, 7, true); r.ack(1); again(r, at(1)) }, true, 1, 1},
		{"paused while the clock was ahead", func(r *jobRecord) {
			again(r, at(-3))
			r.retry(1, at(2000), time.Minute, true)
			again(r, at(1))
		}, true, 1, 1},
		{"paused for as long as one can be", func(r *jobRecord) {
			again(r, at(-3))
			r.retry(1, now, time.Hour, true)
			again(r, at(1))
		}, true, 3600, 1},
	} {
		r := new(jobRecord)
		c.do(r)
		left := len(r.DueTimes) > 0
		if left != c.left || left && (!r.Due.Equal(at(c.due)) || len(r.DueTimes) != c.gens) {
			t.Errorf("%s: due %v, due times %v", c.name, r.Due.Sub(now), r.DueTimes)
		}
	}
	r := new(jobRecord)
	for n := range 100 {
		again(r, at(n+1))
	}
	if len(r.DueTimes) > maxDueTimes {
		t.Errorf("%d due times are kept", len(r.DueTimes))
	}
	if r.ack(99); len(r.DueTimes) != 1 || r.DueTimes[0].Gen != 100 {
		t.Errorf("the newest due time is lost: %v", r.DueTimes)
	}
}

// TestEndedJobIsLookedAtAgain checks that a job whose handler has ended is looked at at once, not only when its end
// has been written: it may have been enqueued meanwhile, or its failure could not be recorded.
func TestEndedJobIsLookedAtAgain(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, s *Store) {
		enqueueIn(t, s, "g", "run_1")
		d := newScheduler(s, nil)
		if err := d.findReady(t.Context()); err != nil {
			t.Fatal(err)
		}
		for round := range 2 {
			c := claim{d: d}
			err := s.view(t.Context(), func(tx *tx) error {
				c.t = tx
				return c.run()
			})
			if err != nil || len(c.jobs) != 1 {
				t.Fatalf("look %d found %d jobs, %v", round+1, len(c.jobs), err)
			}
			d.end(c.jobs[0])
		}
	})
}

// TestEnqueuedWhileHandled enqueues a job while it is handled: it is handled again as soon as that has ended, not only
// when its end has been written.
func TestEnqueuedWhileHandled(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, s *Store) {
		began, handled := time.Now(), make(chan time.Duration, 2)
		stop := dispatch(t, s, func(context.Context, approvals.Job) error {
			if len(handled) == 0 {
				enqueueIn(t, s, "g", "run_1")
				synctest.Wait() // until the scheduler has seen that
			}
			handled <- time.Since(began)
			return nil
		})
		enqueueIn(t, s, "g", "run_1")
		for range 2 {
			if after := <-handled; after != 0 {
				t.Errorf("handled after %v", after)
			}
		}
		stop()
	})
}

// TestLateAnnouncement has a job committed whose due time the scheduler has already passed in the file: it is not
// missed.
func TestLateAnnouncement(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, s *Store) {
		handled := make(chan string, 1)
		d := newScheduler(s, func(_ context.Context, j approvals.Job) error {
			handled <- j.ID
			return nil
		})
		s.announced.listen(true)
		d.horizon = instant(time.Now().Add(time.Hour))
		enqueue(t, s, "run_1", time.Now().Add(time.Minute))
		if _, err := d.start(t.Context()); err != nil {
			t.Fatal(err)
		}
		d.drain()
		if len(handled) != 1 {
			t.Error("the job was not handled")
		}
	})
}

// TestDeletedJob deletes a job while it is handled and enqueues it anew: how the old handler ends is nothing to the
// new job.
func TestDeletedJob(t *testing.T) {
	t.Parallel()
	later := &approvals.RetryError{After: time.Hour, Err: errors.New("later")}
	for _, outcome := range []error{nil, errors.New("failed"), later} {
		inBubble(t, func(t *testing.T, s *Store) {
			release, handled := make(chan struct{}), make(chan approvals.Job, 10)
			stop := dispatch(t, s, func(_ context.Context, j approvals.Job) error {
				handled <- j
				if len(handled) > 1 {
					return nil
				}
				<-release
				return outcome
			})
			enqueue(t, s, "run_1", time.Time{})
			synctest.Wait()
			due := time.Now().Add(time.Minute)
			err := s.Update(t.Context(), func(tx approvals.Tx) error {
				return errors.Join(tx.DeleteJob("T1", approvals.JobRun, "run_1"),
					tx.Enqueue(approvals.Job{Workspace: "T1", Kind: approvals.JobRun, ID: "run_1", Due: due}))
			})
			if err != nil {
				t.Fatal(err)
			}
			close(release)
			time.Sleep(time.Until(due) - time.Millisecond)
			synctest.Wait()
			if n := len(handled); n != 1 {
				t.Errorf("%v: handled %d times before the new job is due", outcome, n)
			}
			time.Sleep(time.Millisecond)
			synctest.Wait()
			stop()
			if len(handled) != 2 {
				t.Fatalf("%v: handled %d times, want twice", outcome, len(handled))
			}
			first, second := <-handled, <-handled
			if second.Generation <= first.Generation || second.Attempts != 0 {
				t.Errorf("%v: generation %d follows %d, after %d failed attempts",
					outcome, second.Generation, first.Generation, second.Attempts)
			}
			if n := countJobs(t, s); n != 0 {
				t.Errorf("%v: %d jobs are left", outcome, n)
			}
		})
	}
}

// TestStopWhileAFailureIsRecorded ends Dispatch while the failure of a job waits for the writer. That is no error: the
// job stands in the file as it was, and whoever stops the bot need not look for anything.
func TestStopWhileAFailureIsRecorded(t *testing.T) {
	var log bytes.Buffer
	path := newPath(t)
	synctest.Test(t, func(t *testing.T) {
		s, err := Open(path, Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		enqueue(t, s, "a", time.Time{})
		begun, fail, hold := make(chan struct{}), make(chan struct{}), make(chan struct{})
		stop := dispatch(t, s, func(context.Context, approvals.Job) error {
			close(begun)
			<-fail
			return errors.New("not now")
		})
		<-begun
		writing := make(chan error, 1)
		go func() {
			writing <- s.Update(t.Context(), func(approvals.Tx) error {
				<-hold
				return nil
			})
		}()
		synctest.Wait()
		close(fail)
		synctest.Wait() // the failure waits for the writer
		go func() {
			time.Sleep(time.Second) // of the bubble's time, in which nothing else is left to do
			close(hold)
		}()
		stop()
		if err := <-writing; err != nil {
			t.Error(err)
		}
		if n := countJobs(t, s); n != 1 {
			t.Errorf("%d jobs are left", n)
		}
	})
	if strings.Contains(log.String(), "level=ERROR") {
		t.Errorf("the log of a stop:\n%s", log.String())
	}
}
