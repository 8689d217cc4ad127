package bot

import (
	"context"
	"sync"
	"time"
)

// directoryAge is how old an answer of the directory may be.
const directoryAge = time.Minute

// overtakeAfter is how long a caller waits for a question that began too early for them. Past it their own question is
// put beside it, so that one answer that is stuck holds up nobody for long.
const overtakeAfter = 500 * time.Millisecond

// gatherFor is how long the question that follows another one waits for more who need it. Many answers of one person at
// the same time then take a few questions, which surfaces ration, instead of one after the other without a pause.
const gatherFor = 2 * time.Millisecond

// cache remembers answers for a while, and lets callers who ask for the same thing share one question. Errors are never
// remembered.
type cache[V any] struct {
	age  time.Duration
	size int

	mu      sync.Mutex
	answers map[string]answered[V]
	flights map[string]*flight[V] // the newest question about each key that has no answer yet
}

// answered is an answer, and when its question was put.
type answered[V any] struct {
	value V
	asked time.Time
}

// flight is a question under way, or about to be put. The answer may be read once done is closed.
type flight[V any] struct {
	asked time.Time // zero until it is put
	done  chan struct{}
	value V
	err   error
}

func newCache[V any](age time.Duration, size int) *cache[V] {
	return &cache[V]{age: age, size: size, answers: map[string]answered[V]{}, flights: map[string]*flight[V]{}}
}

// get returns an answer about the key whose question was put at or after since; with the zero time a remembered one
// will do. It takes a remembered answer, joins a question under way, or asks. While a question is under way that began
// before since, all who need a newer one wait for it to end and then share the next, which is put a moment later. Others
// may wait for an answer too, so ask outlives the ctx of the caller who happened to be first; it must end by itself.
func (c *cache[V]) get(
	ctx context.Context, key string, since time.Time, ask func(context.Context) (V, error),
) (V, error) {
	var gather time.Duration
	for {
		known, f, serves := c.find(ctx, key, since, gather, ask)
		if f == nil {
			return known, nil
		}
		var overtake <-chan time.Time
		if !serves {
			overtake = time.After(time.Until(f.asked.Add(overtakeAfter)))
			gather = gatherFor
		}
		select {
		case <-f.done:
		case <-overtake:
			gather = 0
		case <-ctx.Done():
			var none V
			return none, context.Cause(ctx)
		}
		if serves {
			return f.value, f.err
		}
	}
}

// find returns the remembered answer that serves the caller, or else the question to wait for, and whether its answer
// will serve the caller.
func (c *cache[V]) find(
	ctx context.Context, key string, since time.Time, gather time.Duration, ask func(context.Context) (V, error),
) (known V, f *flight[V], serves bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.answers[key]; ok && time.Since(e.asked) < c.age && reaches(e.asked, since) {
		return e.value, nil, true
	}
	f = c.flights[key]
	serves = f != nil && (f.asked.IsZero() || reaches(f.asked, since))
	if f == nil || !serves && time.Since(f.asked) >= overtakeAfter {
		return known, c.launch(context.WithoutCancel(ctx), key, gather, ask), true
	}
	return known, f, serves
}

// reaches reports whether a question put then serves somebody who needs one put at or after since.
func reaches(then, since time.Time) bool { return since.IsZero() || !then.Before(since) }

// launch puts the question when gather has passed, after the moment that it notes down. c.mu is held.
func (c *cache[V]) launch(
	ctx context.Context, key string, gather time.Duration, ask func(context.Context) (V, error),
) *flight[V] {
	f := &flight[V]{done: make(chan struct{})}
	c.flights[key] = f
	if gather == 0 {
		f.asked = time.Now()
	}
	go func() {
		defer close(f.done)
		if gather > 0 {
			time.Sleep(gather)
			c.mu.Lock()
			f.asked = time.Now()
			c.mu.Unlock()
		}
		f.value, f.err = ask(ctx)
		c.land(key, f)
	}()
	return f
}

// land remembers the answer, unless a later question was answered first.
func (c *cache[V]) land(key string, f *flight[V]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.flights[key] == f {
		delete(c.flights, key)
	}
	if f.err == nil && !f.asked.Before(c.answers[key].asked) {
		c.put(key, answered[V]{f.value, f.asked})
	}
}

// put remembers an answer. c.mu is held.
func (c *cache[V]) put(key string, e answered[V]) {
	if len(c.answers) >= c.size {
		c.evict()
	}
	c.answers[key] = e
}

// evict makes room: what is too old goes, and when that is nothing, all of it.
func (c *cache[V]) evict() {
	for k, e := range c.answers {
		if time.Since(e.asked) >= c.age {
			delete(c.answers, k)
		}
	}
	if len(c.answers) >= c.size {
		clear(c.answers)
	}
}
