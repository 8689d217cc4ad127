package boltstore

import (
	"context"
	"errors"
	"runtime"
	"runtime/debug"

	bolt "go.etcd.io/bbolt"
)

// batch is the updates that share one bbolt transaction.
type batch struct {
	c       *committer
	btx     *bolt.Tx
	room    room // for the next update
	updates []*update
	waiting []*update // those of updates that have not run yet
	// acked, if set, is told whether the acknowledgements that were written into the transaction were committed.
	acked func(committed bool)
	// What the updates did, taken together.
	dirty, jobs bool
	ready       []readyJob
	damage      error
}

func (b *batch) begin() (err error) {
	defer b.c.store.guard(&err)()
	b.btx, err = b.c.store.db.Begin(true)
	return err
}

// run runs u and notes what it did.
func (b *batch) run(u *update) {
	defer func() { // also when u ends its goroutine
		u.independent = !b.dirty && !u.t.dirty
		b.note(u.t)
	}()
	b.c.run(u, b)
}

// runWaiting runs the waiting updates until none is left, the file turns out to be damaged, or one of them ends the
// goroutine.
func (b *batch) runWaiting() {
	for len(b.waiting) > 0 && b.damage == nil {
		u := b.waiting[0]
		b.waiting = b.waiting[1:]
		b.runFor(u)
	}
}

// runFor runs u for its caller, who is told at once when it panics or ends the goroutine. The log keeps the stack of a
// panic, which the caller does not have.
func (b *batch) runFor(u *update) {
	defer func() {
		if !u.unwound {
			return
		}
		v := recover()
		if v != nil {
			b.c.store.cfg.Logger.Error("an update of the store panicked", "stack", string(debug.Stack()))
		}
		u.wake <- signal{unwound: true, panicked: v}
	}()
	b.run(u)
}

func (b *batch) note(t *tx) {
	b.dirty = b.dirty || t.dirty
	b.jobs = b.jobs || t.jobs
	b.ready = append(b.ready, t.ready...)
	if b.damage == nil {
		b.damage = t.damage
	}
}

// fill runs the updates that wait for the next commit.
func (b *batch) fill() {
	for len(b.updates) < maxBatch && b.damage == nil {
		b.waiting = b.c.take(maxBatch - len(b.updates))
		if len(b.waiting) == 0 {
			return
		}
		b.updates = append(b.updates, b.waiting...)
		for len(b.waiting) > 0 && b.damage == nil {
			b.c.aside.run(b)
		}
	}
}

// yield lets other goroutines run that are about to call, and reports whether somebody came.
func (b *batch) yield() bool {
	if len(b.updates) >= maxBatch || b.damage != nil {
		return false
	}
	runtime.Gosched()
	b.c.mu.Lock()
	defer b.c.mu.Unlock()
	return len(b.c.queue) > 0
}

// commit makes durable what the updates wrote, and the acknowledgements of jobs with it. Nothing is written when no
// update wrote anything.
func (b *batch) commit() error {
	if b.damage != nil {
		b.c.store.fail(b.damage)
		return b.damage
	}
	if !b.dirty {
		return nil
	}
	t := b.c.store.txIn(b.btx, b.room)
	b.acked = b.c.store.acks.write(t)
	if b.note(t); b.damage != nil {
		return b.commit()
	}
	if err := b.c.store.stillThere(context.WithoutCancel(b.updates[0].ctx)); err != nil {
		if errors.Is(err, ErrGone) {
			b.c.store.fail(err)
		}
		return err
	}
	if err := b.write(); err != nil {
		return b.c.store.commitFailed(err)
	}
	b.btx = nil
	b.c.stats.commits.Add(1)
	b.c.stats.updates.Add(uint64(len(b.updates)))
	b.reportAcks(true)
	if b.jobs {
		b.c.store.announced.add(b.ready)
		b.c.store.wakeUp()
	}
	return nil
}

func (b *batch) write() (err error) {
	defer b.c.store.guard(&err)()
	b.c.store.db.AllocSize = max(leastGrowth, int(b.btx.Size())/growthShare) // read by this commit alone
	if err := b.c.store.hole.ahead(b.btx.Size()); err != nil {
		return err
	}
	return b.btx.Commit()
}

// abort rolls back unless the batch was committed.
func (b *batch) abort() {
	b.reportAcks(false)
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

func (b *batch) reportAcks(committed bool) {
	if b.acked != nil {
		b.acked(committed)
		b.acked = nil
	}
}
