package testrun

import (
	"sync"
	"time"

	"countersign/internal/agentsfile"
)

// Failure is something that is not as a test expects it.
type Failure struct {
	At       agentsfile.Position // in the test file
	Step     string              // what was done; empty: it is about the test as a whole
	What     string              // what was looked at
	Expected string
	Got      string
	Waited   time.Duration // how long; zero: waiting would not have helped
}

// Result is how a test ended. It passed when there are no failures.
type Result struct {
	File, Name string
	Took       time.Duration
	Failures   []Failure
	Transcript string // what happened, read back from the workspace and the store
}

// Passed reports whether everything was as expected.
func (r *Result) Passed() bool { return len(r.Failures) == 0 }

// violations collects what is wrong from the moment it happens, whatever is waited for then.
type violations struct {
	mu       sync.Mutex
	failures []Failure
	step     string // the one under way
}

func (v *violations) begin(step string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.step = step
}

// add notes a failure in the step under way.
func (v *violations) add(f Failure) {
	v.mu.Lock()
	defer v.mu.Unlock()
	f.Step = v.step
	v.failures = append(v.failures, f)
}

func (v *violations) all() []Failure {
	v.mu.Lock()
	defer v.mu.Unlock()
	return append([]Failure(nil), v.failures...)
}
