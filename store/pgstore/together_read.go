package pgstore

import (
	"fmt"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// reading is a statement for whose rows a closure waits; without one, it waits for the transaction to begin.
type reading struct {
	member    *member
	statement statement
	done      chan struct{}
	err       error // set before done is closed

	mu        sync.Mutex
	abandoned bool
}

// abandon has nothing of the closure touched from now on.
func (r *reading) abandon() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.abandoned = true
}

// row passes a row on, as long as the closure wants any. What the closure makes of it concerns nobody else.
func (r *reading) row(rows pgx.Rows) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.abandoned && r.err == nil {
		r.err = r.statement.read(rows)
	}
}

// question is a statement that is sent, and those who wait for its rows.
type question struct {
	statement statement
	of        []*reading
}

// questions makes one statement of those that read by different keys in the same way.
func questions(asked []*reading) (all []*question) {
	by := map[*keyRead]*question{}
	for _, r := range asked {
		q := by[r.statement.key]
		switch {
		case r.statement.sql == "":
			continue
		case q == nil || r.statement.key == nil:
			q = &question{}
			by[r.statement.key] = q
			all = append(all, q)
		}
		q.of = append(q.of, r)
	}
	for _, q := range all {
		q.statement = q.of[0].statement
		if len(q.of) == 1 {
			continue
		}
		var same []statement
		for _, r := range q.of {
			same = append(same, r.statement)
		}
		q.statement.sql, q.statement.args = q.statement.key.many, argumentsOf(same)
	}
	return all
}

// rows passes the rows on to those who wait for them.
func (q *question) rows(br pgx.BatchResults) error {
	rows, err := br.Query()
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if len(q.of) == 1 {
			q.of[0].row(rows)
			continue
		}
		row := numbered{rows}
		n, err := row.number()
		switch {
		case err != nil:
			return err
		case n < 0 || n >= len(q.of):
			return fmt.Errorf("%w: row %d of %d", ErrDamaged, n, len(q.of))
		}
		q.of[n].row(row)
	}
	return rows.Err()
}

// answer reads what the closures wait for, in one round trip, with which the transaction begins if it has not.
func (b *batch) answer(asked []*reading, conn *pgxpool.Conn) {
	err := b.lostOr(b.exchange(questions(asked)), conn)
	b.mu.Lock()
	defer b.mu.Unlock()
	if err != nil {
		b.broken = explain(err)
	}
	for _, r := range asked {
		if r.member.state == reads {
			r.member.state = works
			b.working++
		}
		if b.broken != nil && r.err == nil {
			r.err = b.broken
		}
		close(r.done)
	}
}

func (b *batch) exchange(all []*question) error {
	t := b.base
	first := t.waiting
	t.waiting = nil
	if len(first)+len(all) == 0 {
		return nil
	}
	sent := &pgx.Batch{}
	for _, s := range first {
		sent.Queue(s.sql, s.args...)
	}
	for _, q := range all {
		sent.Queue(q.statement.sql, q.statement.args...)
	}
	ends := t.once && len(all) > 0
	if ends {
		t.over = true
		sent.Queue("commit")
	}
	t.trips++
	br := t.conn.SendBatch(b.ctx, sent)
	var err error
	for i := 0; i < len(first) && err == nil; i++ {
		_, err = first[i].result(br)
	}
	for i := 0; i < len(all) && err == nil; i++ {
		err = all[i].rows(br)
	}
	if ends && err == nil {
		err = rolledBack(br.Exec())
	}
	if closing := br.Close(); err == nil {
		err = closing
	}
	return err
}
