package pgstore

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"
)

const (
	// atATime is how many transactions of a queue are under way before callers wait for one another. Two that write
	// at once conflict with each other, be it only over a page; of those that read each costs several round trips.
	// One that commits is not counted where enough people wait; see queue.ahead.
	atATime = 1
	// together is how many callers share a transaction, where several processes write to the store. The server locks
	// what it reads row by row, up to 31 rows of a table with its usual settings, and then the whole table, which has
	// replicas conflict with each other; see docs/postgresql.md for settings with more room.
	together = 16
	// togetherAlone is how many do when no other process writes to it: a fifth more of them a second.
	togetherAlone = 30
	// longestWait is how long others wait for a transaction under way, and longestView for one that reads. After that
	// it is not counted any more.
	longestWait = 100 * time.Millisecond
	longestView = 10 * time.Millisecond
	// straggling is how long a batch waits for a closure that neither reads nor returns. It goes on without it then,
	// and the closure runs again in a transaction of its own.
	straggling = 100 * time.Millisecond
	// mostTurns is in how many turns those who work have one, while people come all the time.
	mostTurns = 4
	// mostIdleBatches is how many goroutines wait for the next batch: one for each queue, one for a turn that is given
	// ahead, and one for where a slow transaction is not counted any more.
	mostIdleBatches = 5
	// afterConflict is in how many turns none is given ahead, once a transaction has conflicted with another one.
	afterConflict = 32
	// sharedTries is how often a caller whose transaction conflicts with others shares it, before it has its own.
	sharedTries = 2
)

// queue gives callers their turns to begin a transaction. A caller that finds nobody there has its own at once. When as
// many as may be are under way, those who come wait, and share the next one.
type queue struct {
	store *Store
	write bool

	straggling time.Duration
	longest    time.Duration // longestWait, or longestView

	mu       sync.Mutex
	begun    []*turn // for which others wait
	turns    int     // that were given to those who waited
	worked   int     // the turn that was last one of work
	careful  int     // until so many turns were given, none is given ahead
	waiting  []*member
	watching bool // hurry will be called
}

// turn is the right to have a transaction under way.
type turn struct {
	since   time.Time
	commits bool // its closures have ended, and what they wrote is on its way
}

func (s *Store) makeQueues() {
	for _, q := range []*queue{&s.views[0], &s.views[1], &s.updates} {
		q.store, q.write = s, q == &s.updates
		q.straggling, q.longest = cmp.Or(s.cfg.straggling, straggling), longestView
		if q.write {
			q.longest = longestWait
		}
	}
}

func (s *Store) queue(ctx context.Context, write bool) *queue {
	switch {
	case write:
		return &s.updates
	case isWork(ctx):
		return &s.views[1]
	}
	return &s.views[0]
}

// enter waits for the caller's turn. It returns one that the caller has alone, and gives back with leave, or, unless it
// is to have one alone, the caller's part in a batch.
func (q *queue) enter(ctx context.Context, alone bool) (*turn, *member, error) {
	q.mu.Lock()
	if len(q.begun) < atATime && len(q.waiting) == 0 && (alone || !q.store.cfg.always) {
		own := q.begin()
		q.mu.Unlock()
		return own, nil, nil
	}
	m := &member{ctx: ctx, work: isWork(ctx), alone: alone, since: q.turns,
		called: make(chan call, 1), told: make(chan error, 1)}
	q.waiting = append(q.waiting, m)
	if q.store.cfg.always && len(q.begun) < atATime {
		q.next()
	}
	q.ahead()
	if !q.watching {
		q.watching = true
		time.AfterFunc(q.longest/2, q.hurry)
	}
	q.mu.Unlock()
	select {
	case c := <-m.called:
		return c.alone, m.in(c.batch), nil
	case <-ctx.Done():
	}
	q.mu.Lock()
	i := slices.Index(q.waiting, m)
	if i >= 0 {
		q.waiting = slices.Delete(q.waiting, i, i+1)
	}
	q.mu.Unlock()
	if i < 0 {
		switch c := <-m.called; {
		case c.alone != nil:
			q.leave(c.alone)
		default:
			m.in(c.batch).quit()
		}
	}
	return nil, nil, ctx.Err()
}

// begin begins a turn. q.mu is held.
func (q *queue) begin() *turn {
	t := &turn{since: time.Now()}
	q.begun = append(q.begun, t)
	return t
}

// leave ends a turn.
func (q *queue) leave(t *turn) {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.begun, t)
	if i < 0 {
		return
	}
	q.begun = slices.Delete(q.begun, i, i+1)
	if len(q.begun) < atATime {
		q.next()
	}
	q.ahead()
}

// commits notes that a turn's closures have ended.
func (q *queue) commits(t *turn) {
	q.mu.Lock()
	defer q.mu.Unlock()
	t.commits = true
	q.ahead()
}

// ahead gives the next turn while the one before commits, once as many people wait as may share a transaction: they
// gain nothing by waiting, while the server writes and this process has nothing to do. Fewer do gain, since there would
// be more transactions of fewer. So do all where transactions have just conflicted, where somebody needs one alone so
// as not to, and where other processes use the server meanwhile. q.mu is held.
func (q *queue) ahead() {
	if q.mayBeAhead() {
		q.next()
	}
}

func (q *queue) mayBeAhead() bool {
	switch {
	case !q.write || q.turns < q.careful || q.room() != togetherAlone:
		return false
	case len(q.begun) != atATime || !q.begun[0].commits:
		return false
	}
	people := 0
	for _, m := range q.waiting {
		switch {
		case m.alone:
			return false
		case !m.work:
			people++
		}
	}
	return people >= togetherAlone
}

// noteConflict notes err if it says that a transaction was refused because of what another one has read or written.
func (q *queue) noteConflict(err error) {
	if classify(err) != patiently {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.careful = q.turns + afterConflict
}

// next gives a turn to those who wait, if there are any. q.mu is held.
func (q *queue) next() {
	taken := q.take()
	switch {
	case len(taken) == 0:
		return
	case len(taken) == 1 && (taken[0].alone || !q.store.cfg.always):
		taken[0].called <- call{alone: q.begin()}
		return
	}
	b := newBatch(q, taken, q.begin())
	q.store.batches.Go(b.run) // before they are called: with the last of them that leaves, the store may be closed
	for _, m := range taken {
		m.called <- call{batch: b}
	}
}

// take takes those whose turn it is out of the queue: somebody who needs a transaction alone, or as many as may share
// one. People come before work, and each of both in the order in which they came. Work, which reads more than once and
// has those who share its transaction wait for that, has the room that people leave, and one of several turns with as
// many as there is room for. q.mu is held.
func (q *queue) take() (taken []*member) {
	if len(q.waiting) == 0 {
		return nil
	}
	q.turns++
	next := q.first(false)
	if work := q.first(true); next == nil || work != nil && q.turns-max(work.since, q.worked) >= mostTurns {
		next = work
		q.worked = q.turns
	}
	if next.alone {
		taken = []*member{next}
	} else {
		taken = q.some(next.work)
	}
	q.waiting = slices.DeleteFunc(q.waiting, func(m *member) bool { return slices.Contains(taken, m) })
	return taken
}

// first returns who of those at work, or of the people, has waited longest; nil: there is none.
func (q *queue) first(work bool) *member {
	for _, m := range q.waiting {
		if m.work == work {
			return m
		}
	}
	return nil
}

// some returns those who share a transaction next: those who work, or people, and in what room they leave the others.
func (q *queue) some(work bool) (taken []*member) {
	left := q.room()
	for _, work := range []bool{work, !work} {
		for _, m := range q.waiting {
			if m.work == work && !m.alone && left > 0 {
				taken = append(taken, m)
				left--
			}
		}
	}
	return taken
}

// room is how many share a transaction.
func (q *queue) room() int {
	if q.store.others.Load() == 0 && !q.store.cfg.ReadOnly { // who only reads does not know of others
		return togetherAlone
	}
	return together
}

// hurry has nobody wait any more for a transaction that takes too long: it may wait for a lock, or its closure for one
// of those who wait.
func (q *queue) hurry() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.watching = len(q.waiting) > 0; !q.watching {
		return
	}
	q.begun = slices.DeleteFunc(q.begun, func(t *turn) bool { return time.Since(t.since) >= q.longest })
	for len(q.begun) < atATime && len(q.waiting) > 0 {
		q.next()
	}
	time.AfterFunc(q.longest/2, q.hurry)
}
