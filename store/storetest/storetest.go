// Package storetest is the contract of approvals.Store as a test suite. Every store runs it:
//
//	func TestConformance(t *testing.T) {
//		storetest.Run(t, func(t testing.TB) storetest.Harness { … })
//	}
//
// Each subtest stands for one promise and says why somebody relies on it. [Memory] is a store that does nothing but
// keep the promises; on request it uses every freedom that they leave a store, to try those who rely on one. [Compare]
// drives a store and Memory with the same random operations and compares what they say; [Agree] does so with two stores
// and stranger ids, times and limits.
//
// The files, by what they are about:
//
//	storetest everything fill             running the suite; records to try a store with
//	transactions isolation clock          promises of the store as a whole
//	lifecycle replicas
//	records own runs inputs states        promises of the records
//	sessions requests callbacks query grants installations
//	trail outbox deletions
//	jobs jobs_again jobs_group            promises of Dispatch
//	machine machine_draw machine_read     Compare
//	machine_pair                          Agree
//	memory memory_…                       Memory
//	broken_… control_test                 stores that break a promise each
package storetest

import (
	"context"
	"slices"
	"testing"
	"time"

	"countersign/approvals"
)

// Harness gives a test a store of its own.
type Harness struct {
	// Open opens the store, and after Close opens it again on the same data. It fails the test when it cannot. A store
	// that is not [approvals.Exclusive] is also opened while it is open, as by another process.
	Open func() approvals.Store
	// Scans says that the store does not promise that lists of what waits are cheap.
	Scans bool
}

// promise is one subtest.
type promise struct {
	name string
	why  string
	test func(*suite)
}

// promises returns the whole contract.
func promises() []promise {
	var all []promise
	for _, part := range [][]promise{
		transactions(), isolation(), clocks(), records(), runs(), inputs(), states(), sessions(), requests(),
		deletions(),
		installations(),
		callbacks(), queries(), runQueries(), grants(), trail(), outbox(), jobs(), jobsAgain(), jobGroups(), replicas(),
		lifecycle(),
	} {
		all = append(all, part...)
	}
	return all
}

// Run runs the suite. open is called once for every subtest.
func Run(t *testing.T, open func(t testing.TB) Harness) { runAll(t, promises(), open) }

// RunJobs runs the part of the suite that is about jobs, for stores that have more than one way to find them.
func RunJobs(t *testing.T, open func(t testing.TB) Harness) {
	runAll(t, slices.Concat(jobs(), jobsAgain(), jobGroups(), replicas()), open)
}

func runAll(t *testing.T, all []promise, open func(t testing.TB) Harness) {
	for _, p := range all {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			t.Log("why: " + p.why)
			p.run(t, open, patience)
		})
	}
}

// patience is how long a subtest waits for what must happen.
const patience = 3 * time.Minute

func (p promise) run(t testing.TB, open func(testing.TB) Harness, limit time.Duration) {
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	h := open(t)
	s := &suite{TB: t, ctx: ctx, harness: h, store: h.Open()}
	defer func() { s.store.Close() }()
	p.test(s)
}

// suite is what a subtest works with.
type suite struct {
	testing.TB
	ctx     context.Context
	harness Harness
	store   approvals.Store
}

// exclusive reports whether the store serves one process alone.
func (s *suite) exclusive() bool {
	e, ok := s.store.(approvals.Exclusive)
	return ok && e.Exclusive()
}

// replica returns what another process works with: another store on the same data, or the only one there is.
func (s *suite) replica() approvals.Store {
	if s.exclusive() {
		return s.store
	}
	another := s.harness.Open()
	s.Cleanup(func() { another.Close() })
	return another
}

// reopen closes the store and opens it again.
func (s *suite) reopen() {
	s.Helper()
	if err := s.store.Close(); err != nil {
		s.Fatalf("close: %v", err)
	}
	s.store = s.harness.Open()
}

// update commits fn.
func (s *suite) update(fn func(tx approvals.Tx) error) {
	s.Helper()
	if err := s.store.Update(s.ctx, fn); err != nil {
		s.Fatalf("update: %v", err)
	}
}

// view runs fn in a snapshot.
func (s *suite) view(fn func(tx approvals.Tx) error) {
	s.Helper()
	if err := s.store.View(s.ctx, fn); err != nil {
		s.Fatalf("view: %v", err)
	}
}

// now is the time of the store.
func (s *suite) now() time.Time {
	s.Helper()
	var at time.Time
	s.view(func(tx approvals.Tx) error {
		at = tx.Now()
		return nil
	})
	return at
}

// same compares what a list holds with what it should.
func same[T any](s *suite, what string, want, got []T) {
	s.Helper()
	if d := diff(want, got); d != "" {
		s.Errorf("%s (-want +got):\n%s", what, d)
	}
}

// must stops the subtest unless err is nil.
func (s *suite) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// await returns what arrives on c, or stops the subtest.
func await[T any](s *suite, what string, c <-chan T) T {
	s.Helper()
	select {
	case v := <-c:
		return v
	case <-s.ctx.Done():
		s.Fatalf("waited in vain for %s", what)
		panic("unreachable")
	}
}

// hold waits for c, or for the subtest to end, so that a failure leaves nobody behind.
func (s *suite) hold(c <-chan struct{}) {
	select {
	case <-c:
	case <-s.ctx.Done():
	}
}

// signal tells whoever waits on c, once: a closure that runs again tells nobody twice.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// while is how long the suite waits for what must not happen, or need not. A machine that stands still for longer has a
// broken store pass; it never has a sound one fail.
const while = 400 * time.Millisecond

// settle waits for c, but not for long: the other side may rightly be kept waiting.
func settle(c <-chan struct{}) {
	select {
	case <-c:
	case <-time.After(while):
	}
}

// quiet checks that nothing more arrives for a while.
func quiet[T any](s *suite, what string, c <-chan T) {
	s.Helper()
	select {
	case v := <-c:
		s.Errorf("%s: %v", what, v)
	case <-time.After(while):
	}
}

// prompt checks that something happens within a second. It is tried several times, and the quickest counts: any may
// meet a machine that is busy with other things.
func (s *suite) prompt(what string, times int, try func(round int) time.Duration) {
	s.Helper()
	quickest := time.Duration(1<<63 - 1)
	for round := range times {
		quickest = min(quickest, try(round))
	}
	if quickest > time.Second {
		s.Errorf("%s took %v at best", what, quickest)
	}
}

// cost is the shortest time that fn takes in so many rounds, or in the first ones that bring it to what is enough.
func cost(rounds int, enough time.Duration, fn func()) time.Duration {
	best := time.Hour
	for range rounds {
		begin := time.Now()
		fn()
		if best = min(best, time.Since(begin)); best <= enough {
			break
		}
	}
	return best
}

// notDearer checks that something costs about the same after grow has added much data. What reads all of that takes
// hundreds of times as long, so eight times is still the same, and the quickest of many rounds counts: any may meet a
// machine that is busy with other things. Times of less than 50 µs vary too much to be compared.
func (s *suite) notDearer(what string, fn, grow func()) {
	s.Helper()
	little := max(cost(20, 0, fn), 50*time.Microsecond)
	grow()
	much := cost(500, 8*little, fn)
	s.Logf("%s takes %v with little data and %v with much", what, little, much)
	if much > 8*little {
		s.Errorf("%s takes %v with little data and %v with much", what, little, much)
	}
}
