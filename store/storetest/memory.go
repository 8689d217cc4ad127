package storetest

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"countersign/approvals"
)

// Memory is the data of a store in memory that keeps every promise in the plainest way: one writer at a time, on a
// copy. It says what a store must do, and nothing about how. Any number of stores may be open on it at once, as if
// each were a process of its own on one database; none of them is [approvals.Exclusive].
//
// At first closures run once, commits are known of, and jobs are handled once, when they are due. Unreliable changes
// that, within what the contract allows. The clock runs as the process's does and can be moved with Advance, Step and
// Set. All of it works in a bubble of testing/synctest.
type Memory struct {
	clock  clock
	writer chan struct{} // holds a token while somebody writes
	root   atomic.Pointer[tree]
	chaos  atomic.Pointer[Chaos]
	dice   dice

	mu      sync.Mutex
	open    int           // stores that are open
	opened  int           // stores that ever were
	changed chan struct{} // closed, and replaced, when jobs or the clock have changed
}

// NewMemory returns empty data. Its clock says what the process's says.
func NewMemory() *Memory {
	m := &Memory{clock: newClock(), writer: make(chan struct{}, 1), changed: make(chan struct{})}
	m.chaos.Store(new(Chaos))
	return m
}

// Open returns a store on the data, another one at each call. What its handlers had under way when it is closed is
// handed out again, as for a process that has died.
func (m *Memory) Open() approvals.Store {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.open == 0 {
		m.clock.open()
	}
	m.open++
	m.opened++
	return &memoryStore{data: m, id: m.opened, closing: make(chan struct{})}
}

// Now returns the time of the stores' clock.
func (m *Memory) Now() time.Time { return m.clock.now() }

// Advance lets so much time pass, on the wall clock and on the monotonic one: what is due by then is due at once.
func (m *Memory) Advance(d time.Duration) {
	m.clock.advance(d)
	m.wake()
}

// Step sets the wall clock forward, or back, without time passing. Open stores follow as [approvals.Tx] says: Now
// never goes back, and once the wall clock has departed by more than five minutes from the time that has passed since
// the first store was opened, it is not believed, and UncertainSince tells so. Before a store is open, Step makes the
// stores' clock differ from the process's, which shows who mixes the two.
func (m *Memory) Step(d time.Duration) {
	m.clock.step(d)
	m.wake()
}

// Set sets the wall clock to a time, as Step does.
func (m *Memory) Set(at time.Time) {
	m.clock.set(at)
	m.wake()
}

// wake has the dispatchers look for work.
func (m *Memory) wake() {
	m.mu.Lock()
	defer m.mu.Unlock()
	close(m.changed)
	m.changed = make(chan struct{})
}

// change returns a channel that is closed at the next change of jobs or clock.
func (m *Memory) change() <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.changed
}

// lock waits for the writer's turn.
func (m *Memory) lock(ctx context.Context) error {
	select {
	case m.writer <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (m *Memory) unlock() { <-m.writer }

// begin starts a transaction on what is there now. Writers hold the lock, unless what they write is thrown away.
func (m *Memory) begin(ctx context.Context, write bool) *memoryTx {
	c := m.chaos.Load()
	return &memoryTx{root: m.root.Load(), now: m.clock.now(), write: write, deferred: c.Defer, looks: c.looks(),
		cancelled: ctx.Err}
}

// commit makes what the transaction wrote the present. Its caller holds the lock.
func (m *Memory) commit(t *memoryTx) {
	m.root.Store(t.root)
	if t.jobs {
		m.wake()
	}
}

// apply runs fn in a transaction that no chaos touches, and that cannot fail.
func (m *Memory) apply(fn func(t *memoryTx)) {
	m.writer <- struct{}{}
	defer m.unlock()
	never := func() error { return nil }
	t := &memoryTx{root: m.root.Load(), now: m.clock.now(), write: true, jobs: true, cancelled: never}
	fn(t)
	m.commit(t)
}
