package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"countersign/approvals"
)

// jobsAgain is about jobs that are enqueued once more, or no more.
func jobsAgain() []promise {
	return []promise{
		{"JobKey", "ten reasons to look at a run are one look", testJobKey},
		{"JobSeveral", "a decision can have more than one consequence", testJobSeveral},
		{"JobAgain", "what happens while a run is looked at must be looked at too", testJobAgain},
		{"JobLater", "a job that plans its own next time must not lose it", testJobLater},
		{"JobGeneration", "a handler that ends late must not take away what was asked for since", testJobGeneration},
		{"JobDelete", "the timer of a request that was decided disturbs nobody", testJobDelete},
		{"JobDeleteHandled", "a job that is taken back while it is handled is over, and can be asked for again",
			testJobDeleteHandled},
	}
}

func testJobKey(s *suite) {
	late, soon := job("one"), job("one")
	late.Due, soon.Due = s.now().Add(time.Hour), s.now().Add(100*time.Millisecond)
	s.enqueue(late, soon, late)
	s.enqueue(late)
	ids, handle := handled()
	defer s.dispatch(handle)()
	await(s, "the job at the earlier time", ids)
	quiet(s, "one job was handled twice", ids)
	s.enqueue(job("one"), job("one"))
	await(s, "the job when enqueued anew", ids)
}

func testJobSeveral(s *suite) {
	refused := errors.New("refused")
	err := s.store.Update(s.ctx, func(tx approvals.Tx) error {
		return errors.Join(tx.Enqueue(job("no"), job("neither")), refused)
	})
	if !errors.Is(err, refused) {
		s.Errorf("update: %v", err)
	}
	s.enqueue()
	late := job("late")
	late.Due = s.now().Add(time.Hour)
	elsewhere := job("one")
	elsewhere.Workspace = other
	s.enqueue(job("one"), late, elsewhere, job("two"), job("one"))
	jobs := make(chan approvals.Job, 10)
	defer s.dispatch(func(_ context.Context, j approvals.Job) error {
		jobs <- j
		return nil
	})()
	seen := map[string]bool{}
	for range 3 {
		j := await(s, "a job", jobs)
		seen[fmt.Sprint(j.Workspace, " ", j.ID)] = true
	}
	if d := diff(map[string]bool{"T1 one": true, "T1 two": true, "T11 one": true}, seen); d != "" {
		s.Errorf("jobs (-want +got):\n%s", d)
	}
	quiet(s, "one job more than was enqueued", jobs)
}

func testJobAgain(s *suite) {
	calls, release := make(chan struct{}, 10), make(chan struct{})
	var again atomic.Bool
	defer s.dispatch(func(ctx context.Context, _ approvals.Job) error {
		calls <- struct{}{}
		if !again.Swap(true) {
			s.hold(release)
		}
		return nil
	})()
	s.enqueue(job("one"))
	await(s, "the first handler", calls)
	s.enqueue(job("one"))
	s.enqueue(job("one"))
	close(release)
	await(s, "the second handler", calls)
	if s.exclusive() { // others may handle the second while the first is under way, and then the third
		quiet(s, "handled once more than needed", calls)
	}
}

func testJobLater(s *suite) {
	times := make(chan time.Time, 10)
	dues := make(chan time.Time, 10)
	var seen sync.Map
	defer s.dispatch(func(_ context.Context, j approvals.Job) error {
		times <- s.now()
		if _, again := seen.LoadOrStore(j.ID, true); again {
			return nil
		}
		later := job(j.ID)
		later.Due = s.now().Add(while)
		dues <- later.Due
		return s.store.Update(s.ctx, func(tx approvals.Tx) error { return tx.Enqueue(later) })
	})()
	for round := range 3 {
		s.enqueue(job(fmt.Sprint(round)))
		await(s, "the first handler", times)
		due := await(s, "what it plans", dues)
		if at := await(s, "the handler that was planned meanwhile", times); at.Before(due) {
			s.Errorf("handled again %v before it was due", due.Sub(at))
		}
	}
}

// handler reports each job it is given, and ends as it is told.
type handler struct {
	jobs chan approvals.Job
	ends chan error
}

func (s *suite) handler() (*handler, func()) {
	h := &handler{make(chan approvals.Job, 10), make(chan error)}
	return h, s.dispatch(func(ctx context.Context, j approvals.Job) error {
		h.jobs <- j
		select {
		case err := <-h.ends:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	})
}

func (h *handler) next(s *suite) approvals.Job {
	s.Helper()
	return await(s, "the job", h.jobs)
}

func (h *handler) end(s *suite, err error) {
	s.Helper()
	select {
	case h.ends <- err:
	case <-s.ctx.Done():
		s.Fatal("no handler is at work")
	}
}

func testJobGeneration(s *suite) {
	h, stop := s.handler()
	defer stop()
	newest := uint64(0)
	grown := func(what string) {
		s.Helper()
		got := h.next(s).Generation
		if got <= newest {
			s.Errorf("%s has generation %d, and the one before had %d", what, got, newest)
		}
		newest = got
	}
	j := job("one")
	j.Generation = 1 << 40 // not for the caller to say
	s.enqueue(j)
	grown("the first job")
	if newest >= j.Generation {
		s.Errorf("the generation is %d, which the caller set", newest)
	}
	s.enqueue(j)
	h.end(s, nil)
	grown("the job that was enqueued while the first was handled")
	s.enqueue(j)
	h.end(s, errors.New("failed"))
	grown("the job that was enqueued while a handler failed")
	s.enqueue(j, j)
	h.end(s, nil)
	grown("the job that was enqueued twice at once")
	h.end(s, nil)
	quiet(s, "handled once more than it was enqueued", h.jobs)
	s.enqueue(j)
	grown("the job that was enqueued when none was left")
	h.end(s, nil)
}

func (s *suite) deleteJob(id string) {
	s.Helper()
	s.update(func(tx approvals.Tx) error { return tx.DeleteJob(ws, approvals.JobRun, id) })
}

func testJobDelete(s *suite) {
	soon := func(id string) approvals.Job {
		j := job(id)
		j.Due = s.now().Add(while / 2)
		return j
	}
	foreign, card := soon("gone"), soon("gone")
	foreign.Workspace, card.Kind = other, approvals.JobDeliver
	s.enqueue(soon("gone"), soon("kept"), soon("anew"), foreign, card)
	s.deleteJob("gone")
	refused := errors.New("refused")
	err := s.store.Update(s.ctx, func(tx approvals.Tx) error {
		return errors.Join(tx.DeleteJob(ws, approvals.JobRun, "kept"), refused)
	})
	if !errors.Is(err, refused) {
		s.Errorf("update: %v", err)
	}
	anew, never := soon("anew"), soon("never")
	s.update(func(tx approvals.Tx) error {
		return errors.Join(tx.DeleteJob(ws, approvals.JobRun, "anew"), tx.Enqueue(anew),
			tx.Enqueue(never), tx.DeleteJob(ws, approvals.JobRun, "never"))
	})
	s.reopen()
	jobs := make(chan string, 10)
	defer s.dispatch(func(_ context.Context, j approvals.Job) error {
		jobs <- fmt.Sprint(j.Workspace, " ", j.Kind, " ", j.ID)
		return nil
	})()
	seen := map[string]bool{}
	for range 4 {
		seen[await(s, "a job", jobs)] = true
	}
	want := map[string]bool{"T1 run kept": true, "T1 run anew": true, "T11 run gone": true, "T1 deliver gone": true}
	if d := diff(want, seen); d != "" {
		s.Errorf("jobs (-want +got):\n%s", d)
	}
	quiet(s, "a job that was deleted", jobs)
}

func testJobDeleteHandled(s *suite) {
	h, stop := s.handler()
	defer stop()
	failed := errors.New("failed")
	for _, outcome := range []error{nil, failed, &approvals.RetryError{After: time.Millisecond, Err: failed}} {
		s.enqueue(job("one"))
		h.next(s)
		s.deleteJob("one")
		h.end(s, outcome)
		quiet(s, fmt.Sprintf("a job that was deleted while it was handled, with %v", outcome), h.jobs)

		s.enqueue(job("one"))
		first := h.next(s)
		s.deleteJob("one")
		s.enqueue(job("one"))
		h.end(s, outcome)
		if second := h.next(s); second.Generation <= first.Generation || second.Attempts != 0 {
			s.Errorf("with %v: after generation %d came %d, with %d attempts",
				outcome, first.Generation, second.Generation, second.Attempts)
		}
		h.end(s, nil)
		quiet(s, fmt.Sprintf("a job that was done, with %v before", outcome), h.jobs)
	}
}
