package bot

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

// directoryAge is how old an answer of the directory may be.
const directoryAge = time.Minute

// cache remembers answers for a while. Errors are never remembered, and callers that ask for the same thing at once
// share one request.
type cache[K ~string, V any] struct {
	age  time.Duration
	size int

	mu      sync.Mutex
	entries map[K]cached[V]
	flight  singleflight.Group
}

type cached[V any] struct {
	value V
	until time.Time
}

func newCache[K ~string, V any](age time.Duration, size int) *cache[K, V] {
	return &cache[K, V]{age: age, size: size, entries: map[K]cached[V]{}}
}

// get returns the remembered value of the key, or asks for it. The answer is shared with others who wait for it, so
// ask outlives the ctx of the caller who happened to be first.
func (c *cache[K, V]) get(ctx context.Context, key K, ask func(context.Context) (V, error)) (V, error) {
	var zero V
	c.mu.Lock()
	e, ok := c.entries[key]
	c.mu.Unlock()
	if ok && time.Now().Before(e.until) {
		return e.value, nil
	}
	answer := c.flight.DoChan(string(key), func() (any, error) {
		asked := time.Now()
		v, err := ask(context.WithoutCancel(ctx))
		if err == nil {
			c.put(key, cached[V]{v, asked.Add(c.age)})
		}
		return v, err
	})
	select {
	case got := <-answer:
		if got.Err != nil {
			return zero, got.Err
		}
		return got.Val.(V), nil
	case <-ctx.Done():
		return zero, context.Cause(ctx)
	}
}

func (c *cache[K, V]) put(key K, e cached[V]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.entries) >= c.size {
		c.evict()
	}
	c.entries[key] = e
}

// evict makes room: what is too old goes, and when that is nothing, all of it.
func (c *cache[K, V]) evict() {
	now := time.Now()
	for k, e := range c.entries {
		if now.After(e.until) {
			delete(c.entries, k)
		}
	}
	if len(c.entries) >= c.size {
		clear(c.entries)
	}
}
