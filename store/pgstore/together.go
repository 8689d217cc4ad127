package pgstore

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// viewsAtOnce and updatesAtOnce are how many transactions of a queue are under way before callers wait for one
	// another. Two that write at once conflict with each other, be it only over a page.
	viewsAtOnce   = 2
	updatesAtOnce = 1
	// together is how many callers share a transaction at most. The server locks what it reads row by row, up to 31 rows
	// of a table with its usual settings, and then the whole table, which has replicas conflict with each other.
	together = 16
	// longestWait is how long others wait for a transaction under way. After that it is not counted any more.
	longestWait = 50 * time.Millisecond
	// sharedTries is how often a caller whose transaction conflicts with others shares it, before it has its own.
	sharedTries = 2
)

// queue gives callers their turns to begin a transaction. A caller that finds nobody there has its own at once. When as
// many as may be are under way, those who come wait, and share the next one.
type queue struct {
	store *Store
	pool  *pgxpool.Pool
	write bool

	mu       sync.Mutex
	begun    []*turn // for which others wait
	waiting  []*member
	watching bool // hurry will be called
}

// turn is the right to have a transaction under way.
type turn struct{ since time.Time }

func (s *Store) makeQueues() {
	for i, pool := range []*pgxpool.Pool{s.clicks, s.work} {
		for j, write := range []bool{false, true} {
			q := &s.queues[i][j]
			q.store, q.pool, q.write = s, pool, write
		}
	}
}

func (s *Store) queue(ctx context.Context, write bool) *queue {
	i, j := 0, 0
	if s.pool(ctx) == s.work {
		i = 1
	}
	if write {
		j = 1
	}
	return &s.queues[i][j]
}

// atOnce is how many transactions are under way before callers wait.
func (q *queue) atOnce() int {
	if q.write {
		return updatesAtOnce
	}
	return viewsAtOnce
}

// enter waits for the caller's turn. It returns one that the caller has alone, and gives back with leave, or the caller's
// part in a batch.
func (q *queue) enter(ctx context.Context) (*turn, *member, error) {
	q.mu.Lock()
	if len(q.begun) < q.atOnce() && len(q.waiting) == 0 {
		own := q.begin()
		q.mu.Unlock()
		return own, nil, nil
	}
	m := &member{ctx: ctx, called: make(chan call, 1), told: make(chan error, 1)}
	q.waiting = append(q.waiting, m)
	if !q.watching {
		q.watching = true
		time.AfterFunc(longestWait/2, q.hurry)
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
	t := &turn{time.Now()}
	q.begun = append(q.begun, t)
	return t
}

// leave ends a turn.
func (q *queue) leave(t *turn) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if i := slices.Index(q.begun, t); i >= 0 {
		q.begun = slices.Delete(q.begun, i, i+1)
		q.next()
	}
}

// next gives a turn to those who wait, if there are any. q.mu is held.
func (q *queue) next() {
	n := min(len(q.waiting), together)
	if n == 0 {
		return
	}
	taken := q.waiting[:n:n]
	q.waiting = slices.Clone(q.waiting[n:])
	if n == 1 {
		taken[0].called <- call{alone: q.begin()}
		return
	}
	b := newBatch(q, taken, q.begin())
	for _, m := range taken {
		m.called <- call{batch: b}
	}
	go b.run()
}

// hurry has nobody wait any more for a transaction that takes too long: it may wait for a lock, or its closure for one
// of those who wait.
func (q *queue) hurry() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.watching = len(q.waiting) > 0; !q.watching {
		return
	}
	q.begun = slices.DeleteFunc(q.begun, func(t *turn) bool { return time.Since(t.since) >= longestWait })
	for len(q.begun) < q.atOnce() && len(q.waiting) > 0 {
		q.next()
	}
	time.AfterFunc(longestWait/2, q.hurry)
}
