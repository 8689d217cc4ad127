package boltstore

import (
	"context"
	"sync"
	"sync/atomic"

	bolt "go.etcd.io/bbolt"
)

// maxBatch bounds how many updates share one commit, so that the first of them does not wait for a stream of others.
const maxBatch = 128

// committer is a group commit: callers that wait for the disk share its next write. It owns no goroutine and no
// timer. The first caller becomes the leader of a batch: it runs its own function, lets every caller that waits by
// then run theirs in the same bbolt transaction, commits once, tells all of them the result, and makes the first
// caller that has come meanwhile the next leader. Functions run one after the other, each on its caller's goroutine:
// each caller passes the transaction on to the next, and the last one back to the leader. A lone caller pays for
// nothing but its own commit.
//
// A function that fails, panics or ends its goroutine has its writes undone (see tx.undo), and the rest of the batch
// goes on. What a function returned is reported only after the commit, because it may rest on what others of the
// batch wrote.
type committer struct {
	store *Store

	mu      sync.Mutex
	leading bool // a batch is under way
	queue   []*update
	shared  bool // the last batch had several updates
	stats   struct{ commits, updates atomic.Uint64 }
	passed  chan struct{} // 1 deep: the transaction is back with the leader
	undoLog []change      // empty; the room of the last one, for the update whose turn it is
}

// update is one call of Store.Update on its way.
type update struct {
	ctx  context.Context
	fn   func(*tx) error
	wake chan signal

	// Set by run, read by the leader afterwards.
	t       *tx
	err     error
	unwound bool // fn panicked or ended its goroutine: the caller is gone
	// independent says that fn wrote nothing and ran before anybody of the batch wrote: its result holds even if the
	// commit fails.
	independent bool
}

// signal tells a waiting caller what to do: lead the next batch, run in this one, or (neither) return err.
type signal struct {
	lead  bool
	batch *batch
	err   error
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

// join reports whether u leads; otherwise it waits in the queue.
func (c *committer) join(u *update) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.leading {
		c.leading = true
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
			case s.lead:
				return true, nil
			case s.batch == nil:
				return false, s.err
			}
			s.batch.runAndPass(u)
		case <-cancelled:
			if c.withdraw(u) {
				return false, u.ctx.Err()
			}
			cancelled = nil
		}
	}
}

// run runs the function of u in btx. Unless it ends well, its writes are undone.
func (c *committer) run(u *update, btx *bolt.Tx) {
	u.t = c.store.tx(btx, true)
	u.t.ctx, u.t.undoLog = u.ctx, c.undoLog
	u.unwound = true
	defer func() {
		if u.unwound || u.err != nil {
			u.t.undo()
		}
		c.undoLog = emptied(u.t.undoLog)
		u.t.undoLog = nil
		u.t.ended.Store(true)
	}()
	if u.err = u.ctx.Err(); u.err == nil {
		u.err = u.fn(u.t)
	}
	u.unwound = false
}

// maxUndoRoom bounds what is kept from one update to the next.
const maxUndoRoom = 256

func emptied(log []change) []change {
	if cap(log) > maxUndoRoom {
		return nil
	}
	clear(log)
	return log[:0]
}

// withdraw takes u out of the queue, if it is still there.
func (c *committer) withdraw(u *update) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, w := range c.queue {
		if w == u {
			c.queue = append(c.queue[:i], c.queue[i+1:]...)
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
	b := batch{c: c, updates: []*update{u}}
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
