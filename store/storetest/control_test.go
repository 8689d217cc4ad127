package storetest

import (
	"flag"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"countersign/approvals"
)

var long = flag.Bool("long", false, "also check that broken stores fail nothing else")

// recorder takes the place of a subtest's T and only notes that it failed.
type recorder struct {
	testing.TB
	failed atomic.Bool
}

func (r *recorder) Errorf(string, ...any) { r.failed.Store(true) }
func (r *recorder) Error(...any)          { r.failed.Store(true) }
func (r *recorder) Logf(string, ...any)   {}
func (r *recorder) Skip(...any)           { runtime.Goexit() }
func (r *recorder) Fatalf(string, ...any) {
	r.failed.Store(true)
	runtime.Goexit()
}
func (r *recorder) Fatal(...any) {
	r.failed.Store(true)
	runtime.Goexit()
}

// brokenPromises keeps all promises at once, to save time, and returns the names of those that are broken.
func brokenPromises(t *testing.T, open func(testing.TB) Harness, of ...promise) []string {
	var mu sync.Mutex
	var broken []string
	var wg sync.WaitGroup
	for _, p := range of {
		wg.Go(func() {
			r := &recorder{TB: t}
			defer func() {
				if recover() != nil || r.failed.Load() {
					mu.Lock()
					defer mu.Unlock()
					broken = append(broken, p.name)
				}
			}()
			p.run(r, open, 3*time.Second)
		})
	}
	wg.Wait()
	slices.Sort(broken)
	return broken
}

// control is a store that breaks promises.
type control struct {
	name   string
	breaks []string                      // the subtests that must notice
	may    []string                      // those that may, depending on who comes first
	open   func() func() approvals.Store // makes data, and returns what opens it
}

// TestControls runs the suite on stores that break a promise: it must notice. With -long also what else it notices is
// checked, which must be nothing.
func TestControls(t *testing.T) {
	t.Parallel()
	all := controls()
	found := make([][]string, len(all))
	var wg sync.WaitGroup
	slots := make(chan struct{}, 4) // more would slow down what is measured
	for i, c := range all {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			found[i] = brokenPromises(t, c.harness(true), c.concerned()...)
		})
	}
	wg.Wait()
	for i, c := range all {
		certain := slices.DeleteFunc(found[i], func(name string) bool { return slices.Contains(c.may, name) })
		if d := diff(c.breaks, certain); d != "" {
			t.Errorf("%s: subtests that failed (-want +got):\n%s", c.name, d)
		}
	}
}

// concerned returns the promises to try: those that are broken, or all.
func (c control) concerned() []promise {
	all := promises()
	if *long {
		return all
	}
	return slices.DeleteFunc(all, func(p promise) bool { return !slices.Contains(c.breaks, p.name) })
}

func controls() []control {
	return []control{
		{"Whole", nil, nil, around(func(s approvals.Store) approvals.Store { return s })},
		{"LosesUpdates", []string{"AuditRace", "Claim", "CloseWaits", "LostUpdate", "WriteSkew"}, []string{"ManyAtOnce"}, around(newLosesUpdates)},
		{"ReadsOutside", []string{"WriteSkew"}, nil, around(newReadsOutside)},
		{"LocksReaders", []string{"Snapshot"}, nil, around(newLocksReaders)},
		{"KeepsPanicked", []string{"FailuresAmongMany", "PanicRollsBack"}, nil, around(newKeepsPanicked)},
		{"WrapsErrors", []string{"ErrorRollsBack", "FailuresAmongMany", "Once"}, nil, around(wrapsErrors)},
		{"IgnoresContext", []string{"CancelledContext"}, nil, around(ignoresContext)},
		{"IgnoresOnce", []string{"Once", "OnceRace"}, nil, around(breaksTx(func(tx *brokenTx) { tx.once = true }))},
		{"MixesWorkspaces", []string{"Workspaces"}, nil, around(breaksTx(func(tx *brokenTx) { tx.mixes = true }))},
		{"Collates", []string{"BytewiseOrder"}, nil, around(breaksTx(func(tx *brokenTx) { tx.collates = true }))},
		{"EscapesJSON", []string{"BytesKept"}, nil, around(breaksTx(func(tx *brokenTx) { tx.escapes = true }))},
		{"AcceptsGaps", []string{"Audit"}, nil, around(breaksTx(func(tx *brokenTx) { tx.gaps = true }))},
		{"RepeatsSession", []string{"PlaceIdentity", "Session"}, nil, around(breaksTx(func(tx *brokenTx) { tx.repeats = true }))},
		{"ForgetsDelete", []string{"Outbox", "PlaceIdentity"}, nil, around(breaksTx(func(tx *brokenTx) { tx.undead = true }))},
		{"Impatient", []string{"JobDue", "JobLater"}, nil, around(breaksTx(func(tx *brokenTx) { tx.impatient = true }))},
		{"ForgetsJobs", []string{"JobSurvives"}, nil, around(newForgetsJobs)},
		{"HandlesTwice", []string{"JobExclusive", "JobLater"}, []string{"JobAgain"}, around(newHandlesTwice)},
		{"OneAtATime", []string{"JobExclusive", "JobKindsApart", "JobParallel"}, nil, around(newOneAtATime)},
		{"EnqueuesAtOnce", []string{"JobTransactional"}, nil, around(newEnqueuesAtOnce)},
		{"CountsAnew", []string{"JobAttempts", "JobRetry"}, []string{"JobPanic"}, around(countsAnew)},
		{"EndsQuietly", []string{"Closed", "DispatchClosed"}, nil, around(endsQuietly)},
		{"StopsAtErrors", []string{"JobAttempts", "JobErrorsStay", "JobRetry", "JobRetryError"}, nil, around(stopsAtErrors)},
		{"DirectIsIdentity", []string{"PlaceIdentity", "RoundTrip"}, nil, around(breaksTx(func(tx *brokenTx) { tx.direct = true }))},
		{"Lavish", []string{"Outbox"}, nil, around(breaksTx(func(tx *brokenTx) { tx.lavish = true }))},
		{"SwallowsErrors", []string{"JobAttempts", "JobRetry", "JobRetryError"}, nil, around(handling(func(error) error { return nil }))},
		{"IgnoresPause", []string{"JobRetryError"}, nil, around(handling(withoutPause))},
		{"SharesRecords", []string{"OwnRecords"}, nil, sharing},
		{"Forgets", []string{"ActiveRun", "Audit", "BigState", "CloseWaits", "JobInterrupted", "JobSurvives", "Once", "Outbox",
			"OwnRecords", "Reopen", "Session"}, nil, forgetting},
	}
}

func (c control) harness(scans bool) func(testing.TB) Harness {
	return func(testing.TB) Harness { return Harness{Open: c.open(), Scans: scans} }
}

// TestScanControl shows that a list which looks at every request is noticed.
func TestScanControl(t *testing.T) {
	t.Parallel()
	c := control{open: around(func(s approvals.Store) approvals.Store { return s })}
	for _, p := range lists() {
		if p.name == "PendingCost" && len(brokenPromises(t, c.harness(false), p)) == 0 {
			t.Error("the suite does not notice")
		}
	}
}

// around returns stores in memory wrapped by wrap.
func around(wrap func(approvals.Store) approvals.Store) func() func() approvals.Store {
	return func() func() approvals.Store {
		data := NewMemory()
		return func() approvals.Store { return wrap(data.Open()) }
	}
}

// forgetting returns a store that loses everything when it is closed.
func forgetting() func() approvals.Store {
	return func() approvals.Store { return NewMemory().Open() }
}

// sharing returns a store that hands out its own records.
func sharing() func() approvals.Store {
	data, records := NewMemory(), new(sync.Map)
	return func() approvals.Store { return &sharesRecords{Store: data.Open(), records: records} }
}

// TestPromptControl shows that being late once is forgiven, and being late every time is noticed.
func TestPromptControl(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		took   []time.Duration
		failed bool
	}{
		{[]time.Duration{2 * time.Second, time.Millisecond, 3 * time.Second}, false},
		{[]time.Duration{2 * time.Second, 1100 * time.Millisecond, 3 * time.Second}, true},
	} {
		r := &recorder{TB: t}
		s := &suite{TB: r}
		s.prompt("it", len(c.took), func(round int) time.Duration { return c.took[round] })
		if r.failed.Load() != c.failed {
			t.Errorf("%v: noticed %v", c.took, r.failed.Load())
		}
	}
}
