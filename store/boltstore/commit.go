package boltstore

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// maxBatch bounds how many updates share one commit, so that the first of them does not wait for a stream of others.
const maxBatch = 128

// committer is a group commit: callers that wait for the disk share its next write. The first caller becomes the leader
// of a batch: it runs its own function, has those of all callers that wait by then run in the same bbolt transaction,
// commits once, tells all of them the result, and makes the first caller that has come meanwhile the next leader.
// Functions run one after the other: the leader's on its own goroutine, the others on one that is there for them,
// because to wake each caller for its turn costs more than most functions do. A lone caller pays for nothing but its
// own commit.
//
// Callers in no hurry wait for others to share a write with, for as long as patience.
//
// A function that fails, panics or ends its goroutine has its writes undone (see tx.undo), and the rest of the batch
// goes on; its caller panics or ends its goroutine in turn. What a function returned is reported only after the commit,
// because it may rest on what others of the batch wrote.
type committer struct {
	store *Store

	mu      sync.Mutex
	leading bool // a batch is under way
	queue   []*update
	later   []*update   // wait for company, see updateSoon
	waits   int         // how many have been the first of later
	waited  *time.Timer // of the newest of those; see patience
	shared  bool        // the last batch had several updates
	stats   struct{ commits, updates atomic.Uint64 }
	kept    room // for the next batch
	aside   aside
}

// update is one call of Store.Update on its way.
type update struct {
	ctx  context.Context
	fn   func(*tx) error
	wake chan signal

	// Set by run, read by the leader afterwards.
	t       *tx
	err     error
	unwound bool // fn panicked or ended its goroutine: the caller does too, and is told nothing else
	// independent says that fn wrote nothing and ran before anybody of the batch wrote: its result holds even if the
	// commit fails.
	independent bool
}

// signal tells a waiting caller what to do: lead the next batch, panic or end its goroutine as its function did, or
// (none of these) return err.
type signal struct {
	lead     bool
	unwound  bool
	panicked any // the value; nil: the function ended its goroutine
	err      error
}

// update runs fn in a transaction that is committed with it.
func (c *committer) update(ctx context.Context, fn func(*tx) error) error {
	u := &update{ctx: ctx, fn: fn, wake: make(chan signal, 1)}
	if !c.join(u) {
		lead, err := c.wait(u)
		if !lead {
			return err
		}
	}
	return c.lead(u)
}

// An update that nobody waits for waits for the next commit for as long as patience, unless a company of them waits.
const (
	patience = 20 * time.Millisecond
	company  = 32
)

// updateSoon is update with the next batch that somebody begins, or with one of their own when nobody has within
// patience or a company waits.
func (c *committer) updateSoon(ctx context.Context, fn func(*tx) error) error {
	u := &update{ctx: ctx, fn: fn, wake: make(chan signal, 1)}
	c.mu.Lock()
	if c.later = append(c.later, u); len(c.later) == 1 {
		c.waits++
		this := c.waits
		c.waited = time.AfterFunc(patience, func() { c.hurry(this) })
	} else if len(c.later) == company {
		c.begin()
	}
	c.mu.Unlock()
	lead, err := c.wait(u)
	if !lead {
		return err
	}
	return c.lead(u)
}

// hurry ends the wait for company of those that have waited since the given wait began. Others may wait by now, who
// have begun another one.
func (c *committer) hurry(wait int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if wait == c.waits {
		c.begin()
	}
}

// begin has those that wait for company written with the next batch, which begins now unless one is under way. c.mu is
// held.
func (c *committer) begin() {
	c.bringLater()
	if !c.leading {
		c.next()
	}
}

// bringLater puts those that wait for company behind the queue. c.mu is held.
func (c *committer) bringLater() {
	if len(c.later) == 0 {
		return
	}
	c.waited.Stop()
	c.queue = append(c.queue, c.later...)
	c.later = nil
}

// join reports whether u leads; otherwise it waits in the queue.
func (c *committer) join(u *update) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.leading {
		c.leading = true
		c.bringLater()
		return true
	}
	c.queue = append(c.queue, u)
	return false
}

// wait waits until u leads or has its result. A cancelled context ends the wait as long as no batch has taken u.
func (c *committer) wait(u *update) (lead bool, err error) {
	cancelled := u.ctx.Done()
	for {
		select {
		case s := <-u.wake:
			switch {
			case s.panicked != nil:
				panic(s.panicked)
			case s.unwound:
				runtime.Goexit()
			}
			return s.lead, s.err
		case <-cancelled:
			if c.withdraw(u) {
				return false, u.ctx.Err()
			}
			cancelled = nil
		}
	}
}

// run runs the function of u in the transaction of b. Unless it ends well, its writes are undone.
func (c *committer) run(u *update, b *batch) {
	u.t = c.store.txIn(b.btx, b.room)
	u.t.ctx = u.ctx
	u.unwound = true
	defer func() {
		if u.unwound || u.err != nil {
			u.t.undo()
		}
		b.room = u.t.room.next()
		u.t.room = room{}
		u.t.ended.Store(true)
	}()
	if u.err = u.ctx.Err(); u.err == nil {
		u.err = u.fn(u.t)
	}
	u.unwound = false
}

// withdraw takes u out of the queue, if it is still there.
func (c *committer) withdraw(u *update) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, waiting := range []*[]*update{&c.queue, &c.later} {
		if i := slices.Index(*waiting, u); i >= 0 {
			*waiting = slices.Delete(*waiting, i, i+1)
			return true
		}
	}
	return false
}

// take takes the first n waiting updates, or as many as there are.
func (c *committer) take(n int) []*update {
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

// handOver makes the first waiting caller the leader.
func (c *committer) handOver() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.queue) > 0 {
		c.bringLater()
	}
	c.next()
}

// next is handOver with c.mu held.
func (c *committer) next() {
	c.leading = len(c.queue) > 0
	if c.leading {
		u := c.queue[0]
		c.queue = c.queue[1:]
		u.wake <- signal{lead: true}
	}
}

// lead runs one batch that begins with u.
func (c *committer) lead(u *update) error {
	defer c.handOver()
	if err := c.store.usable(); err != nil {
		return err
	}
	b := batch{c: c, room: c.kept, updates: []*update{u}}
	if b.room.recent == nil {
		b.room.recent = new(recent)
	}
	if err := b.begin(); err != nil {
		return err
	}
	defer b.abort() // does nothing once the batch has ended
	b.run(u)
	for b.fill(); c.shared && b.yield(); {
		b.fill()
	}
	c.shared = len(b.updates) > 1
	err := b.commit()
	c.kept = b.room.next()
	c.kept.opened = nil
	for _, follower := range b.updates[1:] {
		if !follower.unwound {
			follower.wake <- signal{err: follower.result(err)}
		}
	}
	return u.result(err)
}

// result is what the caller is told when the batch ended with err.
func (u *update) result(err error) error {
	if err != nil && !u.independent {
		return err
	}
	return u.err
}
