package boltstore

import (
	"sync"

	"countersign/approvals"
)

// readyJob is the key of a job that was due when it was written.
type readyJob struct {
	kind approvals.JobKind
	key  string
}

// announcements tell the dispatcher which jobs the commits made ready. They are hints: the file has the truth, and a
// dispatcher that begins looks for itself.
type announcements struct {
	mu        sync.Mutex
	listening bool
	jobs      []readyJob
}

// listen begins or ends to keep what is announced.
func (a *announcements) listen(on bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.listening, a.jobs = on, nil
}

func (a *announcements) add(jobs []readyJob) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.listening {
		a.jobs = append(a.jobs, jobs...)
	}
}

// take returns what was announced since the last time.
func (a *announcements) take() []readyJob {
	a.mu.Lock()
	defer a.mu.Unlock()
	jobs := a.jobs
	a.jobs = nil
	return jobs
}

// line is the jobs of a kind that may be ready, in the order in which they were announced.
type line struct {
	keys []string
	in   map[string]bool
}

func (l *line) add(key string) {
	if !l.in[key] {
		l.in[key] = true
		l.keys = append(l.keys, key)
	}
}

// serve calls fn for the first jobs of the line, until it says stop, and takes out those it does not want to keep.
func (l *line) serve(fn func(key string) (keep, stop bool)) {
	var kept []string
	served := 0
	for _, key := range l.keys {
		keep, stop := fn(key)
		if stop {
			break
		}
		served++
		if keep {
			kept = append(kept, key)
		} else {
			delete(l.in, key)
		}
	}
	if len(kept) == 0 {
		l.keys = l.keys[served:]
		return
	}
	l.keys = append(kept, l.keys[served:]...)
}
