package pgstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"countersign/approvals"
)

// What ends an attempt in a shared transaction without being told to the caller.
var (
	// errApart: the closure does what only a transaction of its own can, or takes long.
	errApart = errors.New("the closure needs a transaction of its own")
	// errOverlap: it has read or written what another one of the same transaction writes.
	errOverlap = errors.New("another closure of the transaction has the same rows")
	// errRefused: the server has refused the transaction. Whose statement it was shows when each has its own.
	errRefused = errors.New("the server has refused the transaction")
)

// errNotNew is of a record that a closure has written without having read it, as one that is new, and that is there.
// Which lists it was in is not known.
var errNotNew = errors.New("a record that was not read is there already")

// call has one who waits begin: alone, or with others.
type call struct {
	alone *turn
	batch *batch
}

// member is a caller's part in a batch.
type member struct {
	ctx    context.Context
	work   bool // nobody waits for the answer
	alone  bool // it needs a transaction alone
	since  int  // queue.turns when it came
	called chan call
	told   chan error // what became of the commit

	b       *batch
	state   memberState // b.mu guards it
	reads   []string    // what was read and written, by placeIn
	writes  []string
	changes []string    // lists in which something is written; see together_lists.go
	kept    []statement // of what has finished: its writes
}

type memberState int

const (
	waits    memberState = iota // for the transaction to begin
	works                       // its closure runs
	reads                       // its closure waits for rows
	finished                    // its closure has returned, and is to be committed
	gone
)

func (m *member) in(b *batch) *member {
	if m.b = b; b == nil {
		return nil
	}
	return m
}

// attempt runs fn once, on the caller's own goroutine, and waits for the commit.
func (m *member) attempt(fn func(*tx) error) (*tx, error) {
	defer m.quit() // also of a closure that panics
	select {
	case <-m.b.begun:
	case <-m.ctx.Done():
		return nil, m.ctx.Err()
	}
	t, err := m.b.tx(m)
	if err != nil {
		return nil, err
	}
	err = fn(t)
	t.ended.Store(true)
	switch {
	case errors.Is(t.failed, errApart), errors.Is(t.failed, errAgain):
		return nil, t.failed
	case t.failed != nil && classify(t.failed) != never:
		return nil, t.failed
	case t.failed != nil && m.b.failure() != nil: // whoever of them was to blame
		return nil, errRefused
	case t.failed != nil && err == nil:
		return nil, t.failed
	case err != nil:
		return nil, &ownError{err}
	case m.ctx.Err() != nil:
		return nil, m.ctx.Err()
	}
	if err := m.b.finish(m, t); err != nil {
		return nil, err
	}
	return t, m.await()
}

// await waits for the commit.
func (m *member) await() error {
	select {
	case err := <-m.told:
		return err
	case <-m.ctx.Done():
	}
	if m.withdraw() {
		return m.ctx.Err()
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case err := <-m.told:
		return err
	case <-timer.C:
	}
	if m.b.q.write {
		return fmt.Errorf("%w: %w", approvals.ErrCommitUnknown, m.ctx.Err())
	}
	return m.ctx.Err()
}

// withdraw takes back what was finished, unless the commit is on its way.
func (m *member) withdraw() bool {
	m.b.mu.Lock()
	defer m.b.mu.Unlock()
	if m.b.closed {
		return false
	}
	m.b.end(m)
	return true
}

// quit ends the caller's part. What was written is not committed, unless that is on its way.
func (m *member) quit() {
	m.b.mu.Lock()
	defer m.b.mu.Unlock()
	m.b.end(m)
}

// leave has the closure run again, in a transaction of its own.
func (t *tx) leave() {
	if t.failed == nil {
		t.failed = errApart
	}
}

// takes notes what a statement writes, and reports whether it is to wait for the commit. One of which that cannot be
// said needs a transaction of its own, and so does a second one about the same row, unless it replaces the first.
func (m *member) takes(t *tx, s *statement) bool {
	if s.row == nil {
		t.leave()
		return false
	}
	for _, p := range s.places {
		if !slices.Contains(m.writes, p) {
			m.writes = append(m.writes, p)
			continue
		}
		i := slices.IndexFunc(t.waiting, func(o statement) bool {
			return o.row == s.row && slices.Contains(o.places, p)
		})
		if i < 0 || !s.row.whole {
			t.leave()
			return false
		}
		t.waiting[i] = *s
		return false
	}
	return true
}

// read reads with the next round trip of the batch.
func (m *member) read(t *tx, places []string, s statement) error {
	own := func(p string) bool { return slices.Contains(m.writes, p) || slices.Contains(m.changes, p) }
	if places == nil || slices.ContainsFunc(places, own) {
		t.leave()
		return t.failed
	}
	m.reads = append(m.reads, places...)
	return m.wait(t, s)
}

// wait waits for the rows of a statement that is sent with the next round trip.
func (m *member) wait(t *tx, s statement) error {
	r := &reading{member: m, statement: s, done: make(chan struct{})}
	if err := m.b.ask(r); err != nil {
		return t.fail(err)
	}
	select {
	case <-r.done:
	case <-m.ctx.Done():
		r.abandon()
		m.quit()
		return t.fail(m.ctx.Err())
	}
	if r.err != nil {
		return t.fail(r.err)
	}
	t.now, t.off, t.id = m.b.base.now, m.b.base.off, m.b.base.id
	return nil
}
