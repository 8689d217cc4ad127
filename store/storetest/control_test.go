package storetest

import (
	"flag"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"countersign/approvals"
)

var long = flag.Bool("long", false, "also check that broken stores fail nothing else")

// recorder takes the place of a subtest's T and only notes that it failed.
type recorder struct {
	testing.TB
	failed  atomic.Bool
	skipped atomic.Bool
}

func (r *recorder) Errorf(string, ...any) { r.failed.Store(true) }
func (r *recorder) Error(...any)          { r.failed.Store(true) }
func (r *recorder) Logf(string, ...any)   {}
func (r *recorder) Skip(...any) {
	r.skipped.Store(true)
	runtime.Goexit()
}
func (r *recorder) Fatalf(string, ...any) {
	r.failed.Store(true)
	runtime.Goexit()
}
func (r *recorder) Fatal(...any) {
	r.failed.Store(true)
	runtime.Goexit()
}

// breaks reports whether the store breaks the promise.
func breaks(t *testing.T, open func(testing.TB) Harness, p promise) bool {
	r := &recorder{TB: t}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer func() {
			if recover() != nil {
				r.failed.Store(true)
			}
		}()
		p.run(r, open, 5*time.Second)
	}()
	<-ended
	return r.failed.Load()
}

// control is a store that breaks promises.
type control struct {
	name   string
	breaks []string                      // the subtests that must notice
	may    []string                      // those that may, depending on who comes first
	open   func() func() approvals.Store // makes data, and returns what opens it
}

func (c control) harness(scans bool) func(testing.TB) Harness {
	return func(testing.TB) Harness { return Harness{Open: c.open(), Scans: scans} }
}

// TestControls runs the suite on stores that break a promise: it must notice. With -long also what else it notices is
// checked, which must be nothing.
func TestControls(t *testing.T) {
	t.Parallel()
	for _, c := range controls() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var found []string
			for _, p := range c.concerned() {
				synctest.Test(t, func(t *testing.T) {
					if breaks(t, c.harness(true), p) {
						found = append(found, p.name)
					}
				})
			}
			certain := slices.DeleteFunc(found, func(name string) bool { return slices.Contains(c.may, name) })
			want := slices.Sorted(slices.Values(c.breaks))
			slices.Sort(certain)
			if d := diff(want, certain); d != "" {
				t.Errorf("subtests that failed (-want +got):\n%s", d)
			}
		})
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

// TestEveryPromiseHasAControl checks that no subtest is there that nothing can fail.
func TestEveryPromiseHasAControl(t *testing.T) {
	t.Parallel()
	covered := map[string]bool{}
	for _, c := range controls() {
		for _, name := range append(c.breaks, c.may...) {
			covered[name] = true
		}
	}
	for name := range timed() {
		covered[name] = true
	}
	for _, p := range promises() {
		if !covered[p.name] {
			t.Errorf("no store breaks %s", p.name)
		}
		delete(covered, p.name)
	}
	for name := range covered {
		t.Errorf("there is no subtest %s", name)
	}
}

// timed lists stores that take longer than they may. They are tried outside of bubbles, where time passes.
func timed() map[string]wrapper {
	everything := each(func(tx approvals.Tx) readsAll { return readsAll{tx} })
	return map[string]func(approvals.Store) approvals.Store{
		"PendingCost":   everything,
		"LapsedCost":    everything,
		"OpenRunsCost":  everything,
		"StateTailCost": everything,

		"OpenGrantsCost": everything,
	}
}

// TestTimedControls shows that a store which looks at everything is noticed.
func TestTimedControls(t *testing.T) {
	t.Parallel()
	for _, p := range promises() {
		if wrap := timed()[p.name]; wrap != nil && !breaks(t, control{open: around(wrap)}.harness(false), p) {
			t.Errorf("%s does not notice", p.name)
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
