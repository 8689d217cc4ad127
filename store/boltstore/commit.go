package boltstore

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"

	bolt "go.etcd.io/bbolt"
)

// maxBatch bounds how many calls share one commit, so that the first of them is not kept waiting by the stream of
// those behind it.
const maxBatch = 128

// committer lets callers that wait for the disk share its next write. It owns no goroutine and no timer: the first
// caller leads, runs its own function, then lets every caller that waits by then run theirs in the same bbolt
// transaction, one after the other and each on its own goroutine, commits once, tells all, and leaves the lead to
// whoever has come meanwhile. Callers hand the transaction on to each other, the last one back to the leader. A lone
// caller pays for nothing but its own commit.
//
// A function that fails, panics or ends its goroutine takes back what it wrote (see tx.undo) and the others are not
// touched by it. What a function returns is told only after the commit, because it may rest on what others of the
// batch wrote.
type committer struct {
	store *Store

	mu      sync.Mutex
	leading bool
	queue   []*call
	crowded bool // the last batch was shared
	stats   struct{ commits, updates atomic.Uint64 }
	ran     chan struct{} // the last follower hands the transaction back
}

// call is one caller's function on its way.
type call struct {
	ctx  context.Context
	fn   func(*tx) error
	turn chan turn

	// Set by run, read by the leader afterwards.
	t       *tx
	err     error
	unwound bool // fn panicked or ended its goroutine: the caller is gone
	apart   bool // fn wrote nothing and ran before anybody did: the commit does not matter to it
}

// turn is what a follower is told: lead yourself, run in the batch, or (neither) the result.
type turn struct {
	lead  bool
	batch *batch
	err   error
}

// update runs fn in a transaction that is committed with it.
func (c *committer) update(ctx context.Context, fn func(*tx) error) error {
	m := &call{ctx: ctx, fn: fn, turn: make(chan turn, 1)}
	if !c.join(m) {
		lead, err := c.follow(m)
		if !lead {
			return err
		}
	}
	return c.lead(m)
}

// join reports whether m leads; otherwise it waits in the queue.
func (c *committer) join(m *call) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.leading {
		c.leading = true
		return true
	}
	c.queue = append(c.queue, m)
	return false
}

// follow waits until m leads or has its result. A cancelled context ends the wait as long as nobody has called m.
func (c *committer) follow(m *call) (lead bool, err error) {
	cancelled := m.ctx.Done()
	for {
		select {
		case s := <-m.turn:
			switch {
			case s.lead:
				return true, nil
			case s.batch == nil:
				return false, s.err
			}
			s.batch.runAndPass(m)
		case <-cancelled:
			if c.withdraw(m) {
				return false, m.ctx.Err()
			}
			cancelled = nil
		}
	}
}

// run runs m's function in btx. When the function does not end well, what it wrote is taken back.
func (c *committer) run(m *call, btx *bolt.Tx) {
	m.t = c.store.tx(btx, true)
	m.unwound = true
	defer func() {
		if m.unwound || m.err != nil {
			m.t.undo()
		}
		m.t.ended.Store(true)
	}()
	if m.err = m.ctx.Err(); m.err == nil {
		m.err = m.fn(m.t)
	}
	m.unwound = false
}

func (c *committer) withdraw(m *call) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, w := range c.queue {
		if w == m {
			c.queue = append(c.queue[:i], c.queue[i+1:]...)
			return true
		}
	}
	return false
}

// take takes the first n waiting calls, or as many as there are.
func (c *committer) take(n int) []*call {
	c.mu.Lock()
	defer c.mu.Unlock()
	n = min(n, len(c.queue))
	taken := c.queue[:n:n]
	c.queue = c.queue[n:]
	if len(c.queue) == 0 {
		c.queue = nil // do not keep what was taken
	}
	return taken
}

// handOver makes the first waiting call the leader.
func (c *committer) handOver() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leading = len(c.queue) > 0
	if c.leading {
		m := c.queue[0]
		c.queue = c.queue[1:]
		m.turn <- turn{lead: true}
	}
}

// lead runs one batch that begins with m.
func (c *committer) lead(m *call) error {
	defer c.handOver()
	if err := c.store.usable(); err != nil {
		return err
	}
	b := batch{c: c, calls: []*call{m}}
	if err := b.begin(); err != nil {
		return err
	}
	defer b.abort() // does nothing once the batch has ended
	b.run(m)
	for b.fill(); c.crowded && b.yield(); {
		b.fill()
	}
	c.crowded = len(b.calls) > 1
	err := b.commit()
	for _, follower := range b.calls[1:] {
		if !follower.unwound {
			follower.turn <- turn{err: follower.result(err)}
		}
	}
	return m.result(err)
}

// result is what the caller is told when the batch ended with err.
func (m *call) result(err error) error {
	if err != nil && !m.apart {
		return err
	}
	return m.err
}

// batch is the calls that share one bbolt transaction.
type batch struct {
	c     *committer
	btx   *bolt.Tx
	calls []*call
	chain []*call // those of calls that have not run yet
	rode  func(committed bool)
	// What the calls did, taken together.
	dirty, jobs bool
	ready       []readyJob
	hurt        error
}

func (b *batch) begin() (err error) {
	defer b.c.store.guard(&err)()
	b.btx, err = b.c.store.db.Begin(true)
	return err
}

// run runs m and notes what it did.
func (b *batch) run(m *call) {
	defer func() { // also when m ends its goroutine
		m.apart = !b.dirty && !m.t.dirty
		b.note(m.t)
	}()
	b.c.run(m, b.btx)
}

// runAndPass runs m and hands the transaction on, even when m panics.
func (b *batch) runAndPass(m *call) {
	defer b.pass()
	b.run(m)
}

// pass lets the next of the chain run; with none left, or after damage, the leader goes on.
func (b *batch) pass() {
	if len(b.chain) == 0 || b.hurt != nil {
		b.c.ran <- struct{}{}
		return
	}
	m := b.chain[0]
	b.chain = b.chain[1:]
	m.turn <- turn{batch: b}
}

func (b *batch) note(t *tx) {
	b.dirty = b.dirty || t.dirty
	b.jobs = b.jobs || t.jobs
	b.ready = append(b.ready, t.ready...)
	if b.hurt == nil {
		b.hurt = t.hurt
	}
}

// fill runs the calls that wait.
func (b *batch) fill() {
	for len(b.calls) < maxBatch && b.hurt == nil {
		b.chain = b.c.take(maxBatch - len(b.calls))
		if len(b.chain) == 0 {
			return
		}
		b.calls = append(b.calls, b.chain...)
		b.pass()
		<-b.c.ran
	}
}

// yield lets those run who are about to call, and reports whether somebody came.
func (b *batch) yield() bool {
	if len(b.calls) >= maxBatch || b.hurt != nil {
		return false
	}
	runtime.Gosched()
	b.c.mu.Lock()
	defer b.c.mu.Unlock()
	return len(b.c.queue) > 0
}

// commit makes durable what the calls wrote. Nothing is written when none of them wrote anything.
func (b *batch) commit() error {
	if b.hurt != nil {
		b.c.store.fail(b.hurt)
		return b.hurt
	}
	if !b.dirty {
		return nil
	}
	t := b.c.store.tx(b.btx, true)
	b.rode = b.c.store.ledger.ride(t)
	if b.note(t); b.hurt != nil {
		return b.commit()
	}
	if err := b.write(); err != nil {
		return b.c.store.commitFailed(err)
	}
	b.btx = nil
	b.c.stats.commits.Add(1)
	b.c.stats.updates.Add(uint64(len(b.calls)))
	b.tellRider(true)
	if b.jobs {
		b.c.store.ready.add(b.ready)
		b.c.store.wakeUp()
	}
	return nil
}

func (b *batch) write() (err error) {
	defer b.c.store.guard(&err)()
	b.c.store.db.AllocSize = max(leastGrowth, int(b.btx.Size())/growthShare) // read by this commit alone
	return b.btx.Commit()
}

// abort rolls back unless the batch was committed.
func (b *batch) abort() {
	b.tellRider(false)
	if b.btx == nil {
		return
	}
	var err error
	func() {
		defer b.c.store.guard(&err)()
		err = b.btx.Rollback()
	}()
	b.btx = nil
}

func (b *batch) tellRider(committed bool) {
	if b.rode != nil {
		b.rode(committed)
		b.rode = nil
	}
}
