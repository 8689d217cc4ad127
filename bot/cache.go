package bot

import (
	"context"
	"errors"
	"sync"
	"time"

	"countersign/approvals"
)

// directoryAge is how old an answer of the directory may be.
const directoryAge = time.Minute

// overtakeAfter is how long a question that began too early for some holds up the next one. Past it the next is put
// beside it, so that one answer that is stuck holds up nobody for long.
const overtakeAfter = 500 * time.Millisecond

// gatherFor is how long the question that follows another one waits for more who need it. Many clicks of one person at
// the same time then take a few questions, which Slack rations, instead of one after the other without a pause.
const gatherFor = time.Millisecond

// cache remembers answers for a while, and lets callers who ask for the same thing share one question. Errors are never
// remembered.
type cache[V any] struct {
	age  time.Duration
	size int

	mu      sync.Mutex
	answers map[string]answered[V]
	flights map[string]*flight[V] // the newest question about each key that has no answer yet
	floors  map[string]time.Time  // answers to what was asked before do not hold any more
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

// errAbandoned is what a question came to whose caller has given up.
var errAbandoned = errors.New("the question was given up")

// get returns an answer about the key whose question was put at or after since; with the zero time a remembered one
// will do. It takes a remembered answer, joins a question under way, or asks. While a question is under way that began
// before since, all who need a newer one share the next, which is put a moment after that one has ended.
//
// Who needs an answer that new, and finds no question under way, asks it on its own goroutine: a person waits, and a
// lone click shares with nobody. When its ctx ends before the answer, those who have joined ask anew. Any other
// question outlives the ctx of the caller who happened to be first; it must end by itself. Who has joined a question
// that is put off for others (errMakesRoom), and whose own is not patient, asks anew, too.
func (c *cache[V]) get(
	ctx context.Context, key string, since time.Time, ask func(context.Context) (V, error),
) (V, error) {
	for {
		known, f, own := c.find(ctx, key, since, ask)
		switch {
		case f == nil:
			return known, nil
		case own:
			return c.put(ctx, key, f, ask)
		}
		select {
		case <-f.done:
			again := errors.Is(f.err, errMakesRoom) && !approvals.Patient(ctx)
			if !again && !errors.Is(f.err, errAbandoned) {
				return f.value, f.err
			}
		case <-ctx.Done():
			var none V
			return none, context.Cause(ctx)
		}
	}
}

// find returns the remembered answer that serves the caller, or else the question to wait for; one of its own the
// caller has to put.
func (c *cache[V]) find(
	ctx context.Context, key string, since time.Time, ask func(context.Context) (V, error),
) (known V, f *flight[V], own bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	needed := since
	if e, ok := c.remembered(key, &needed); ok {
		return e.value, nil, false
	}
	f = c.flights[key]
	switch {
	case f == nil && !since.IsZero():
		f = &flight[V]{done: make(chan struct{}), asked: time.Now()}
		c.flights[key] = f
		return known, f, true
	case f == nil || !f.asked.IsZero() && !reaches(f.asked, needed):
		f = c.launch(context.WithoutCancel(ctx), key, f, ask)
	}
	return known, f, false
}

// put asks the caller's own question.
func (c *cache[V]) put(
	ctx context.Context, key string, f *flight[V], ask func(context.Context) (V, error),
) (V, error) {
	defer close(f.done)
	f.err = errAbandoned // should ask panic
	defer func() { c.land(key, f) }()
	value, err := ask(ctx)
	if err != nil && ctx.Err() != nil {
		return value, context.Cause(ctx)
	}
	f.value, f.err = value, err
	return value, err
}

// remembered returns the answer about the key that get would, and sets since to the instant that an answer has to have
// been asked at for get. c.mu is held.
func (c *cache[V]) remembered(key string, since *time.Time) (e answered[V], ok bool) {
	if floor := c.floors[key]; floor.After(*since) {
		*since = floor
	}
	e, ok = c.answers[key]
	return e, ok && time.Since(e.asked) < c.age && reaches(e.asked, *since)
}

// serves reports whether get would return a remembered answer, and sets since as remembered does.
func (c *cache[V]) serves(key string, since *time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.remembered(key, since)
	return ok
}

// reaches reports whether a question put then serves somebody who needs one put at or after since.
func reaches(then, since time.Time) bool { return since.IsZero() || !then.Before(since) }

// launch puts the question, after the moment that it notes down; behind the one before, if there is one. c.mu is held.
func (c *cache[V]) launch(
	ctx context.Context, key string, before *flight[V], ask func(context.Context) (V, error),
) *flight[V] {
	f := &flight[V]{done: make(chan struct{})}
	c.flights[key] = f
	var late time.Duration
	if before == nil {
		f.asked = time.Now()
	} else {
		late = time.Until(before.asked.Add(overtakeAfter))
	}
	go func() {
		defer close(f.done)
		if before != nil {
			before.follow(late)
			c.mu.Lock()
			f.asked = time.Now()
			c.mu.Unlock()
		}
		f.value, f.err = ask(ctx)
		c.land(key, f)
	}()
	return f
}

// follow returns when the next question is to be put: a moment after f has ended, or after late at the latest.
func (f *flight[V]) follow(late time.Duration) {
	timer := time.NewTimer(late)
	defer timer.Stop()
	select {
	case <-f.done:
		timer.Reset(gatherFor)
		<-timer.C
	case <-timer.C:
	}
}

// land remembers the answer, unless a later question was answered first.
func (c *cache[V]) land(key string, f *flight[V]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.flights[key] == f {
		delete(c.flights, key)
	}
	if f.err == nil && !f.asked.Before(c.answers[key].asked) && !f.asked.Before(c.floors[key]) {
		c.keep(key, answered[V]{f.value, f.asked})
	}
}

// keep remembers an answer. c.mu is held.
func (c *cache[V]) keep(key string, e answered[V]) {
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

// forget has the next caller ask anew: no answer holds any more to what was asked until now.
func (c *cache[V]) forget(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.floors == nil || len(c.floors) >= c.size {
		c.floors = map[string]time.Time{}
	}
	c.floors[key] = time.Now()
	delete(c.answers, key)
}

// learn remembers an answer that came by the way, to a question put at the instant.
func (c *cache[V]) learn(key string, v V, asked time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !asked.Before(c.answers[key].asked) && !asked.Before(c.floors[key]) {
		c.keep(key, answered[V]{v, asked})
	}
}
