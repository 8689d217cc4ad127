package storetest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"countersign/approvals"
)

func jobs() []promise {
	return []promise{
		{"JobTransactional", "work is planned exactly when what makes it due is committed", testJobTransactional},
		{"JobWakes", "a click must not wait for somebody to look", testJobWakes},
		{"JobWhole", "the handler learns which record to look at", testJobWhole},
		{"JobOwn", "what a handler does to the job it was given is nobody else's business", testJobOwn},
		{"JobDue", "a request expires when its time is up, not before", testJobDue},
		{"JobRetry", "what failed is tried again, and not at once", testJobRetry},
		{"JobRetryError",
			"a surface that asks for a pause gets it, whatever else happens meanwhile", testJobRetryError},
		{"JobPanic", "a bug in one job must not end the others", testJobPanic},
		{"JobSurvives", "what was promised before a crash is done after it", testJobSurvives},
		{"JobInterrupted", "a job cut off by the end of the program is done after the next start", testJobInterrupted},
		{"JobAttempts", "back-off and the log count the failures in a row, and nothing else", testJobAttempts},
		{"JobErrorsStay", "one job that fails must not end the work on all others", testJobErrorsStay},
		{"DispatchClosed", "a worker whose store is gone must notice, not wait for ever", testDispatchClosed},
		{"DispatchEnds", "a program that is told to stop stops, after what is under way", testDispatchEnds},
	}
}

func job(id string) approvals.Job {
	return approvals.Job{Workspace: ws, Kind: approvals.JobRun, ID: id}
}

func (s *suite) enqueue(list ...approvals.Job) {
	s.Helper()
	s.update(func(tx approvals.Tx) error { return tx.Enqueue(list...) })
}

// dispatch hands jobs to handle until the subtest or stop ends it.
func (s *suite) dispatch(handle func(context.Context, approvals.Job) error) (stop func()) {
	ctx, cancel := context.WithCancel(s.ctx)
	done := make(chan error, 1)
	go func() { done <- s.store.Dispatch(ctx, handle) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			select {
			case err := <-done:
				if err != nil {
					s.Errorf("dispatch: %v", err)
				}
			case <-time.After(patience):
				s.Errorf("dispatch does not end")
			}
		})
	}
	s.Cleanup(stop)
	return stop
}

// handled returns a handler that reports the ids of its jobs.
func handled() (chan string, func(context.Context, approvals.Job) error) {
	ids := make(chan string, 1000)
	return ids, func(_ context.Context, j approvals.Job) error {
		ids <- j.ID
		return nil
	}
}

func testJobTransactional(s *suite) {
	refused := errors.New("refused")
	err := s.store.Update(s.ctx, func(tx approvals.Tx) error { return errors.Join(tx.Enqueue(job("no")), refused) })
	if !errors.Is(err, refused) {
		s.Errorf("update: %v", err)
	}
	s.enqueue(job("yes"))
	ids, handle := handled()
	defer s.dispatch(handle)()
	if id := await(s, "the committed job", ids); id != "yes" {
		s.Errorf("%q was handled, which was rolled back", id)
	}
	quiet(s, "a job nobody committed", ids)
}

func testJobWakes(s *suite) {
	ids, handle := handled()
	defer s.dispatch(handle)()
	s.prompt("to handle a job that is enqueued", 5, func(round int) time.Duration {
		begin := time.Now()
		s.enqueue(job(fmt.Sprint(round)))
		await(s, "the job", ids)
		return time.Since(begin)
	})
}

func testJobWhole(s *suite) {
	jobs := make(chan approvals.Job, 10)
	want := approvals.Job{Workspace: other, Kind: approvals.JobDeliver, ID: "a\x00b|ä", Due: s.now().Add(-time.Hour),
		Place: &place, Copy: "dm:U1", Group: "slack/C1"}
	s.enqueue(want)
	defer s.dispatch(func(_ context.Context, j approvals.Job) error {
		jobs <- j
		return nil
	})()
	got := await(s, "the job", jobs)
	want.Due, want.Generation = got.Due, got.Generation
	same(s, "job", []approvals.Job{want}, []approvals.Job{got})
}

func testJobOwn(s *suite) {
	jobs := make(chan approvals.Job, 10)
	defer s.dispatch(func(_ context.Context, j approvals.Job) error {
		seen := j
		at := *j.Place
		seen.Place = &at
		spoil(reflect.ValueOf(&j))
		jobs <- seen
		if seen.Attempts == 0 {
			return errors.New("failed")
		}
		return nil
	})()
	own := place
	j := job("own")
	j.Place = &own
	s.update(func(tx approvals.Tx) error {
		own = place
		err := tx.Enqueue(j)
		own.Thread = "spoiled"
		return err
	})
	for want := range 2 {
		got := await(s, "the next try", jobs)
		if got.ID != "own" || got.Attempts != want || *got.Place != place {
			s.Errorf("try %d: job %+v in %+v", want, got, *got.Place)
		}
	}
}

func testJobDue(s *suite) {
	times := make(chan time.Time, 10)
	defer s.dispatch(func(context.Context, approvals.Job) error {
		times <- s.now()
		return nil
	})()
	s.prompt("to handle a job that is due", 3, func(round int) time.Duration {
		j := job(fmt.Sprint(round))
		j.Due = s.now().Add(while)
		s.enqueue(j)
		at := await(s, "the job", times)
		if at.Before(j.Due) {
			s.Errorf("handled %v too early", j.Due.Sub(at))
		}
		return at.Sub(j.Due)
	})
}

func testJobRetry(s *suite) {
	type try struct {
		at       time.Time
		attempts int
	}
	tries := make(chan try, 10)
	defer s.dispatch(func(_ context.Context, j approvals.Job) error {
		tries <- try{time.Now(), j.Attempts}
		if j.Attempts < 2 {
			return errors.New("failed")
		}
		return nil
	})()
	s.enqueue(job("fails"))
	var last time.Time
	for want := range 3 {
		got := await(s, "the next try", tries)
		if got.attempts != want {
			s.Errorf("try %d says %d attempts failed", want, got.attempts)
		}
		if gap := got.at.Sub(last); gap < 20*time.Millisecond {
			s.Errorf("try %d came only %v after the one before", want, gap)
		}
		last = got.at
	}
	quiet(s, "a job that had succeeded was handled again", tries)
}

func testJobRetryError(s *suite) {
	const pause = 300 * time.Millisecond
	times := make(chan time.Time, 10)
	var tries atomic.Int64
	defer s.dispatch(func(_ context.Context, j approvals.Job) error {
		times <- time.Now()
		n := tries.Add(1)
		if want := max(0, int(n)-3); j.Attempts != want {
			s.Errorf("try %d is told of %d failures, not of %d", n, j.Attempts, want)
		}
		if n <= 3 { // the first and the second have not failed
			later := &approvals.RetryError{After: pause, Err: errors.New("rate limited"), Uncounted: n <= 2}
			return fmt.Errorf("deliver: %w", later)
		}
		return nil
	})()
	s.enqueue(job("limited"))
	begin := await(s, "the first try", times)
	for range 3 {
		s.enqueue(job("limited"))
	}
	if gap := await(s, "the second try", times).Sub(begin); gap < pause {
		s.Errorf("tried again after %v, asked for %v", gap, pause)
	}
	await(s, "the third try", times)
	await(s, "the last try", times)
}

func testJobPanic(s *suite) {
	ids := make(chan string, 10)
	defer s.dispatch(func(_ context.Context, j approvals.Job) error {
		switch {
		case j.Attempts == 0 && j.ID == "panics":
			panic("boom")
		case j.Attempts == 0 && j.ID == "exits":
			runtime.Goexit()
		}
		ids <- j.ID
		return nil
	})()
	s.enqueue(job("panics"), job("exits"), job("returns"))
	seen := map[string]bool{}
	for range 3 {
		seen[await(s, "a job", ids)] = true
	}
	if len(seen) != 3 {
		s.Errorf("handled: %v", seen)
	}
}

func testJobSurvives(s *suite) {
	s.enqueue(job("before"))
	s.reopen()
	ids, handle := handled()
	stop := s.dispatch(handle)
	await(s, "a job from before the restart", ids)
	stop()
	s.reopen()
	defer s.dispatch(handle)()
	quiet(s, "a job that was done before the restart", ids)
}

func testJobInterrupted(s *suite) {
	s.prompt("to handle a job that was cut off, after the restart,", 3, func(round int) time.Duration {
		started := make(chan struct{}, 1)
		stop := s.dispatch(func(ctx context.Context, _ approvals.Job) error {
			started <- struct{}{}
			<-ctx.Done()
			return ctx.Err()
		})
		s.enqueue(job(fmt.Sprint(round)))
		await(s, "the handler", started)
		stop()
		s.reopen()
		jobs := make(chan approvals.Job, 10)
		begin := time.Now()
		stop = s.dispatch(func(_ context.Context, j approvals.Job) error {
			jobs <- j
			return nil
		})
		if j := await(s, "the job after the restart", jobs); j.Attempts != 0 {
			s.Errorf("being interrupted counts as %d failed attempts", j.Attempts)
		}
		took := time.Since(begin)
		stop()
		return took
	})
}

func testJobAttempts(s *suite) {
	tries := make(chan int, 10)
	defer s.dispatch(func(_ context.Context, j approvals.Job) error {
		tries <- j.Attempts
		if j.Attempts == 0 {
			return errors.New("failed")
		}
		return nil
	})()
	j := job("counted")
	j.Attempts = 7 // not for the caller to say
	for round := range 2 {
		s.enqueue(j)
		for want := range 2 {
			if got := await(s, "the next try", tries); got != want {
				s.Errorf("round %d: try %d says %d attempts failed", round+1, want+1, got)
			}
		}
		quiet(s, "a job that had succeeded was handled again", tries)
	}
}

func testJobErrorsStay(s *suite) {
	ids, tries := make(chan string, 100), make(chan string, 2)
	defer s.dispatch(func(_ context.Context, j approvals.Job) error {
		if j.ID == "bad" {
			select {
			case tries <- j.ID:
				return fmt.Errorf("bad: %w", approvals.ErrClosed) // of something else
			default:
				return nil
			}
		}
		ids <- j.ID
		return nil
	})()
	s.enqueue(job("bad"))
	await(s, "the job that fails", tries)
	quiet(s, "a job that nobody has put there", ids) // until its error has been taken
	for i := range 3 {
		s.enqueue(job(fmt.Sprint(i)))
		await(s, "a job beside one that fails", ids)
	}
}

func testDispatchClosed(s *suite) {
	ended := make(chan error, 1)
	started := make(chan struct{}, 1)
	go func() {
		ended <- s.store.Dispatch(s.ctx, func(ctx context.Context, _ approvals.Job) error {
			started <- struct{}{}
			<-ctx.Done() // it ends with the store
			return ctx.Err()
		})
	}()
	s.enqueue(job("first"))
	await(s, "the handler", started)
	s.must(s.store.Close())
	if err := await(s, "dispatch to end", ended); !errors.Is(err, approvals.ErrClosed) {
		s.Errorf("dispatch: %v, want ErrClosed", err)
	}
}

func testDispatchEnds(s *suite) {
	started, release := make(chan struct{}, 1), make(chan struct{})
	ctx, cancel := context.WithCancel(s.ctx)
	ended := make(chan error, 1)
	go func() {
		ended <- s.store.Dispatch(ctx, func(context.Context, approvals.Job) error {
			started <- struct{}{}
			s.hold(release)
			return nil
		})
	}()
	s.enqueue(job("slow"))
	await(s, "the handler", started)
	cancel()
	quiet(s, "dispatch ended before its handler", ended)
	close(release)
	if err := await(s, "dispatch to end", ended); err != nil {
		s.Errorf("dispatch: %v", err)
	}
}
