package storetest

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"countersign/approvals"
)

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

// control is a store that breaks promises, and the subtests that must notice.
type control struct {
	name   string
	breaks []string
	open   func() func() approvals.Store // makes data, and returns what opens it
}

// TestControls runs the suite on stores that break a promise: it must notice each, and nothing else.
func TestControls(t *testing.T) {
	t.Parallel()
	all := controls()
	found := make([][]string, len(all))
	var wg sync.WaitGroup
	slots := make(chan struct{}, 6) // more would slow down what is measured
	for i, c := range all {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			found[i] = brokenPromises(t, c.harness(true), promises()...)
		})
	}
	wg.Wait()
	for i, c := range all {
		if d := diff(c.breaks, found[i]); d != "" {
			t.Errorf("%s: subtests that failed (-want +got):\n%s", c.name, d)
		}
	}
}

func controls() []control {
	return []control{
		{"Whole", nil, around(func(s approvals.Store) approvals.Store { return s })},
		{"LosesUpdates", []string{"AuditRace", "Claim", "CloseWaits", "LostUpdate", "ManyAtOnce", "WriteSkew"}, around(newLosesUpdates)},
		{"ReadsOutside", []string{"WriteSkew"}, around(newReadsOutside)},
		{"LocksReaders", []string{"Snapshot"}, around(newLocksReaders)},
		{"KeepsPanicked", []string{"FailuresAmongMany", "PanicRollsBack"}, around(newKeepsPanicked)},
		{"WrapsErrors", []string{"ErrorRollsBack", "FailuresAmongMany", "Once"}, around(wrapsErrors)},
		{"IgnoresContext", []string{"CancelledContext"}, around(ignoresContext)},
		{"IgnoresOnce", []string{"Once", "OnceRace"}, around(breaksTx(func(tx *brokenTx) { tx.once = true }))},
		{"MixesWorkspaces", []string{"Workspaces"}, around(breaksTx(func(tx *brokenTx) { tx.mixes = true }))},
		{"Collates", []string{"BytewiseOrder"}, around(breaksTx(func(tx *brokenTx) { tx.collates = true }))},
		{"EscapesJSON", []string{"BytesKept"}, around(breaksTx(func(tx *brokenTx) { tx.escapes = true }))},
		{"AcceptsGaps", []string{"Audit"}, around(breaksTx(func(tx *brokenTx) { tx.gaps = true }))},
		{"RepeatsSession", []string{"Session"}, around(breaksTx(func(tx *brokenTx) { tx.repeats = true }))},
		{"ForgetsDelete", []string{"Outbox"}, around(breaksTx(func(tx *brokenTx) { tx.undead = true }))},
		{"Impatient", []string{"JobDue", "JobLater"}, around(breaksTx(func(tx *brokenTx) { tx.impatient = true }))},
		{"ForgetsJobs", []string{"JobSurvives"}, around(newForgetsJobs)},
		{"HandlesTwice", []string{"JobAgain", "JobExclusive", "JobLater"}, around(newHandlesTwice)},
		{"OneAtATime", []string{"JobKindsApart", "JobParallel"}, around(newOneAtATime)},
		{"EnqueuesAtOnce", []string{"JobTransactional"}, around(newEnqueuesAtOnce)},
		{"SwallowsErrors", []string{"JobRetry", "JobRetryError"}, around(handling(func(error) error { return nil }))},
		{"IgnoresPause", []string{"JobRetryError"}, around(handling(withoutPause))},
		{"SharesRecords", []string{"OwnRecords"}, sharing},
		{"Forgets", []string{"ActiveRun", "Audit", "BigState", "CloseWaits", "JobInterrupted", "JobSurvives", "Once", "Outbox",
			"OwnRecords", "Reopen", "Session"}, forgetting},
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
