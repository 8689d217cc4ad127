package storetest

import (
	"testing"
	"testing/synctest"

	"countersign/approvals"
)

// inMemory makes harnesses of stores in memory, wrapped by wrap.
func inMemory(c Chaos, wrap func(approvals.Store) approvals.Store) func(testing.TB) Harness {
	return func(testing.TB) Harness {
		data := NewMemory().Unreliable(c)
		return Harness{Scans: true, Open: func() approvals.Store { return wrap(data.Open()) }}
	}
}

func asItIs(s approvals.Store) approvals.Store { return s }

// TestMemory runs the suite as any store does.
func TestMemory(t *testing.T) {
	t.Parallel()
	Run(t, inMemory(Chaos{}, asItIs))
}

// keepAll checks all promises in bubbles, in which waiting takes no time. What takes time there cannot be measured.
func keepAll(t *testing.T, open func(testing.TB) Harness) {
	for _, p := range promises() {
		if timed()[p.name] != nil {
			continue
		}
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { p.run(t, open, patience) })
		})
	}
}

// TestRerun keeps all promises while every closure runs twice, puts are deferred and pages are short: nothing of that
// is against the contract, and the suite itself does what it asks of others.
func TestRerun(t *testing.T) {
	t.Parallel()
	keepAll(t, inMemory(Chaos{Rerun: true, Defer: true, ShortPages: true}, asItIs))
}

// TestExclusive keeps the promises of a store that one process has to itself.
func TestExclusive(t *testing.T) {
	t.Parallel()
	keepAll(t, inMemory(Chaos{}, newAlone))
}

// TestCompare holds a Memory against another that reruns closures and defers puts.
func TestCompare(t *testing.T) {
	t.Parallel()
	Compare(t, 100, inMemory(Chaos{Rerun: true, Defer: true, ShortPages: true}, asItIs))
}
