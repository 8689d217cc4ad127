package pgstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"countersign/approvals"
)

// batch is a transaction that several callers share. Their closures run side by side, each on its caller's goroutine;
// what they read goes to the server in common round trips. All see what was committed before the batch began. What they
// write waits; a closure that has read or written what one that finished before it writes is not committed with the
// others but runs again. So those that are committed could have run one after the other, in the order in which they
// finished.
type batch struct {
	q      *queue
	turn   *turn
	ctx    context.Context // ends when nobody waits for the batch any more
	cancel context.CancelFunc
	begun  chan struct{} // closed when closures may run
	base   *tx           // the transaction; nil: it could not be begun

	mu      sync.Mutex
	members []*member
	left    int // members that are not gone
	working int // members whose closures run
	asked   []*reading
	over    bool            // it has ended with what was read
	closed  bool            // what has finished is committed; nobody else can finish
	broken  error           // the transaction can only be rolled back
	written map[string]bool // rows that are written, and lists that change
	moved   chan struct{}   // something has changed for the goroutine of the batch
}

func newBatch(q *queue, members []*member, own *turn) *batch {
	b := &batch{q: q, turn: own, members: members, left: len(members), begun: make(chan struct{}),
		written: make(map[string]bool), moved: make(chan struct{}, 1)}
	first := members[0]
	if i := slices.IndexFunc(members, func(m *member) bool { return !m.work }); i >= 0 {
		first = members[i] // people do not wait for a connection of work's
	}
	once := !slices.ContainsFunc(members, func(m *member) bool { return !approvals.OneRead(m.ctx) })
	b.ctx, b.cancel = context.WithCancel(approvals.WithOneRead(context.WithoutCancel(first.ctx), once))
	return b
}

// run is the goroutine of the batch, the only one that talks to the server.
func (b *batch) run() {
	defer b.q.leave(b.turn)
	defer b.cancel()
	conn, err := b.q.store.pool(b.ctx).Acquire(b.ctx)
	if err != nil {
		b.begin(fmt.Errorf("connect to PostgreSQL: %w", err))
		return
	}
	defer conn.Release() // closes a connection that is not idle
	b.base = b.q.store.begin(b.ctx, conn, b.q.write)
	defer b.base.end()
	b.begin(nil)
	for {
		asked, done := b.next()
		if done {
			break
		}
		b.answer(asked, conn)
	}
	b.q.commits(b.turn)
	b.commit(conn)
}

func (b *batch) lostOr(err error, conn *pgxpool.Conn) error {
	if err == nil {
		return nil
	}
	return b.q.store.lostOr(b.ctx, err, conn)
}

// begin has the closures run, or says why they cannot.
func (b *batch) begin(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.broken = err
	for _, m := range b.members {
		if m.state == waits {
			m.state = works
			b.working++
		}
	}
	close(b.begun)
}

// tx returns a member's view of the transaction.
func (b *batch) tx(m *member) (*tx, error) {
	if err := b.failure(); err != nil {
		return nil, b.told(err)
	}
	return &tx{store: b.q.store, ctx: m.ctx, write: b.q.write, crypt: b.base.crypt, known: newKnown(), shared: m}, nil
}

func (b *batch) failure() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.broken
}

// told is what a member is told of an error of the transaction: of one that would come again only who runs by itself
// learns whether it is its own.
func (b *batch) told(err error) error {
	if err == nil || errors.Is(err, approvals.ErrCommitUnknown) || classify(err) != never {
		return err
	}
	return errRefused
}

// ask has a statement sent with the next round trip.
func (b *batch) ask(r *reading) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.broken != nil:
		return b.broken
	case b.closed || r.member.state != works:
		return errApart
	case b.over:
		return errAgain
	}
	b.asked = append(b.asked, r)
	r.member.state = reads
	b.worksNot()
	return nil
}

// worksNot notes that a closure does not run any more. b.mu is held.
func (b *batch) worksNot() {
	if b.working--; b.working == 0 {
		b.wake()
	}
}

func (b *batch) wake() {
	select {
	case b.moved <- struct{}{}:
	default:
	}
}

// end ends a member's part. b.mu is held.
func (b *batch) end(m *member) {
	if m.state == gone {
		return
	}
	if m.state == works {
		b.worksNot()
	}
	m.state = gone
	if b.left--; b.left == 0 {
		b.cancel()
		b.wake()
	}
}

// finish takes over what a member's closure has written, unless somebody else's writes the same or what it has read.
func (b *batch) finish(m *member, t *tx) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.broken != nil:
		return b.told(b.broken)
	case b.closed || m.state != works:
		return errApart
	}
	for _, places := range [][]string{m.reads, m.writes} {
		for _, p := range places {
			if b.written[p] && !b.q.store.cfg.loose {
				return errOverlap
			}
		}
	}
	for _, places := range [][]string{m.writes, m.changes} {
		for _, p := range places {
			b.written[p] = true
		}
	}
	m.kept, m.state = t.waiting, finished
	b.worksNot()
	return nil
}

// next returns what the closures want to read, once none of them runs, or done when all have ended.
func (b *batch) next() (asked []*reading, done bool) {
	timer := time.NewTimer(b.q.straggling)
	defer timer.Stop()
	for late := false; ; {
		b.mu.Lock()
		switch idle := b.working == 0 || late; {
		case b.left == 0 || idle && len(b.asked) == 0:
			b.closed = true
			b.mu.Unlock()
			return nil, true
		case idle:
			asked, b.asked = b.asked, nil
			b.over = b.base.once && slices.ContainsFunc(asked, func(r *reading) bool { return r.statement.sql != "" })
			b.mu.Unlock()
			return asked, false
		}
		b.mu.Unlock()
		select {
		case <-b.moved:
		case <-timer.C:
			late = true
		}
	}
}

// commit commits what has finished, and tells those who wait for it.
func (b *batch) commit(conn *pgxpool.Conn) {
	b.mu.Lock()
	err := b.broken
	defer func() { b.q.noteConflict(err) }()
	var waiting []*member
	var writes []statement
	for _, m := range b.members {
		if m.state == finished {
			waiting, writes = append(waiting, m), append(writes, m.kept...)
		}
	}
	b.mu.Unlock()
	if len(waiting) == 0 {
		return
	}
	if err == nil {
		writes, err = joined(writes)
		b.base.waiting = append(b.base.waiting, writes...)
	}
	if err == nil {
		err = b.lostOr(b.base.commit(), conn)
	}
	for _, m := range waiting {
		m.told <- b.told(err)
	}
}
