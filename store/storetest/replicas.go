package storetest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"countersign/approvals"
)

// replicas is about stores that several processes use at once, and about those that one process has to itself.
func replicas() []promise {
	return []promise{
		{"JobExclusive", "where nobody else works, a run is never executed twice at once", testJobExclusive},
		{"DispatchOnce", "two workers in one process by mistake must not go unnoticed", testDispatchOnce},
		{"Replicas", "a click is answered by one process and carried out by another", testReplicas},
		{"ReplicasNow", "a lease that one process took ends for all at the same time", testReplicasNow},
		{"ReplicasShare", "many processes do more than one, and each job once", testReplicasShare},
		{"ReplicaDies", "what a process had begun when it ended is done by another", testReplicaDies},
	}
}

// onlyExclusive skips the subtest for stores that several processes use.
func (s *suite) onlyExclusive() {
	s.Helper()
	if !s.exclusive() {
		s.Skip("several processes may use the store: leases decide who may act")
	}
}

// onlyShared skips the subtest for stores that one process has to itself.
func (s *suite) onlyShared() {
	s.Helper()
	if s.exclusive() {
		s.Skip("no other process can use the store")
	}
}

func testJobExclusive(s *suite) {
	s.onlyExclusive()
	entered, release, others := make(chan struct{}, 100), make(chan struct{}), make(chan struct{}, 100)
	defer s.dispatch(func(ctx context.Context, j approvals.Job) error {
		if j.ID != "one" {
			others <- struct{}{}
			return nil
		}
		entered <- struct{}{}
		select {
		case <-release:
		case <-ctx.Done():
		}
		return nil
	})()
	s.enqueue(job("one"))
	await(s, "the handler", entered)
	for i := range 3 {
		s.enqueue(job("one"), job(fmt.Sprint(i)))
		await(s, "another job, enqueued with it", others)
	}
	quiet(s, "a second handler of the same job", entered)
	close(release)
}

func testDispatchOnce(s *suite) {
	s.onlyExclusive()
	ids, handle := handled()
	defer s.dispatch(handle)()
	s.enqueue(job("first"))
	await(s, "the first job", ids) // the first Dispatch is at work
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	refused := make(chan error, 1)
	go func() { refused <- s.store.Dispatch(ctx, handle) }()
	select {
	case err := <-refused:
		if err == nil || errors.Is(err, approvals.ErrClosed) {
			s.Errorf("a second Dispatch: %v, want an error of its own", err)
		}
	case <-time.After(while):
		s.Error("a second Dispatch runs beside the first")
	}
	s.enqueue(job("second"))
	await(s, "a job after the second Dispatch was refused", ids)
}

// dispatchOn hands the jobs of a store to handle until the subtest or stop ends it.
func (s *suite) dispatchOn(store approvals.Store, handle func(context.Context, approvals.Job) error) (stop func()) {
	there := *s
	there.store = store
	return there.dispatch(handle)
}

func testReplicas(s *suite) {
	s.onlyShared()
	there := s.replica()
	ids, handle := handled()
	stop := s.dispatchOn(there, handle)
	s.update(everything)
	s.must(there.View(s.ctx, func(tx approvals.Tx) error {
		_, missing, err := found(tx, ws)
		if len(missing) > 0 {
			s.Errorf("another process does not see: %q", missing)
		}
		return err
	}))
	s.prompt("to handle a job that another process enqueues", 5, func(round int) time.Duration {
		begin := time.Now()
		s.enqueue(job(fmt.Sprint(round)))
		await(s, "the job", ids)
		return time.Since(begin)
	})
	stop()
	s.must(there.Close())
	s.expect(true) // the data is not the process's
}

func testReplicasNow(s *suite) {
	s.onlyShared()
	stores := []approvals.Store{s.store, s.replica(), s.replica()}
	var last time.Time
	for i := range 60 {
		var at time.Time
		s.must(stores[i%len(stores)].View(s.ctx, func(tx approvals.Tx) error {
			at = tx.Now()
			return nil
		}))
		if at.Before(last) {
			s.Errorf("now is %v before what it was elsewhere", last.Sub(at))
		}
		last = at
	}
}

func testReplicasShare(s *suite) {
	s.onlyShared()
	const jobs = 60
	stores := []approvals.Store{s.store, s.replica(), s.replica()}
	ids, handle := handled()
	for _, store := range stores {
		defer s.dispatchOn(store, handle)()
	}
	for i := range jobs {
		s.must(stores[i%len(stores)].Update(s.ctx, func(tx approvals.Tx) error {
			return tx.Enqueue(job(fmt.Sprint(i)))
		}))
	}
	seen := map[string]int{}
	for range jobs {
		seen[await(s, "a job", ids)]++
	}
	if len(seen) != jobs {
		s.Errorf("%d jobs were handled, want %d", len(seen), jobs)
	}
	quiet(s, "a job once more", ids)
}

func testReplicaDies(s *suite) {
	s.onlyShared()
	there := s.replica()
	begun := make(chan string, 10)
	stop := s.dispatchOn(there, func(ctx context.Context, j approvals.Job) error {
		begun <- j.ID
		<-ctx.Done()
		return ctx.Err()
	})
	s.enqueue(job("one"))
	await(s, "the handler", begun)
	stop()
	s.must(there.Close())
	jobs := make(chan approvals.Job, 10)
	defer s.dispatch(func(_ context.Context, j approvals.Job) error {
		jobs <- j
		return nil
	})()
	if j := await(s, "the job", jobs); j.ID != "one" || j.Attempts != 0 {
		s.Errorf("job %q with %d attempts, want \"one\" with none", j.ID, j.Attempts)
	}
	quiet(s, "a job once more", jobs)
}
