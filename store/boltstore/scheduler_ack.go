package boltstore

import (
	"context"
	"maps"
	"sync"
	"time"
)

// Acknowledged jobs are taken out of the file together with whatever is committed next, but no later than after
// flushDelay, or as soon as there are flushCount of them.
const (
	flushDelay = 25 * time.Millisecond
	flushCount = 64
)

// acks holds the jobs that were handled well and are still in the file. Every commit writes them out on its way, see
// write. Losing them, in a crash, only repeats jobs.
type acks struct {
	mu   sync.Mutex
	gens map[string]uint64 // by job key: handled up to this generation

	written map[string]uint64 // by the commit under way; commits follow one another
}

func newAcks() *acks { return &acks{gens: make(map[string]uint64), written: make(map[string]uint64)} }

func (a *acks) len() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.gens)
}

func (a *acks) add(key string, gen uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.gens[key] = gen
}

func (a *acks) drop(key string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.gens, key)
}

// snapshot makes of m, which it returns, a copy of what is not yet written.
func (a *acks) snapshot(m map[string]uint64) map[string]uint64 {
	clear(m)
	a.mu.Lock()
	defer a.mu.Unlock()
	maps.Copy(m, a.gens)
	return m
}

// write takes the acknowledged jobs out of the file in t. The result is told whether t was committed. A job that
// cannot be read or written stays acknowledged in memory.
func (a *acks) write(t *tx) func(committed bool) {
	written := a.snapshot(a.written)
	for key, gen := range written {
		if err := t.ackJob([]byte(key), gen); err != nil {
			delete(written, key)
		}
	}
	return func(committed bool) {
		if !committed {
			return
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		for key, gen := range written {
			if a.gens[key] == gen {
				delete(a.gens, key)
			}
		}
	}
}

// flusher writes acknowledgements when no other commit does. It belongs to the scheduler's goroutine.
type flusher struct {
	store   *Store
	running bool
	done    chan error
	at      time.Time // when to flush; zero: nothing is planned
	delayed bool      // the last flush failed: not before at, however much there is
}

// plan starts a flush when it is time, and returns in which time it will be; zero for never.
func (f *flusher) plan(ctx context.Context) time.Duration {
	n := f.store.acks.len()
	switch {
	case f.running:
		return 0
	case n == 0:
		f.at, f.delayed = time.Time{}, false
		return 0
	case f.at.IsZero():
		f.at = time.Now().Add(flushDelay)
	}
	if left := time.Until(f.at); (n < flushCount || f.delayed) && left > 0 {
		return left
	}
	f.running, f.at, f.delayed = true, time.Time{}, false
	go func() { f.done <- f.flush(context.WithoutCancel(ctx)) }()
	return 0
}

// ended notes the end of a flush. When it failed, for want of space for instance, the next one is delayed; any other
// commit writes the acknowledgements meanwhile.
func (f *flusher) ended(err error) {
	f.running = false
	if err != nil {
		f.at, f.delayed = time.Now().Add(maxBackOff), true
	}
}

// flush commits the acknowledgements: an update that writes nothing of its own.
func (f *flusher) flush(ctx context.Context) error {
	if f.store.acks.len() == 0 {
		return nil
	}
	return f.store.update(ctx, func(t *tx) error {
		t.dirty = true
		return nil
	})
}
