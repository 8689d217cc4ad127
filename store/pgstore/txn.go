package pgstore

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"countersign/approvals"
)

var (
	errEnded    = errors.New("transaction has ended")
	errReadOnly = errors.New("read-only transaction")
	// errAgain: a closure that was to read once has read again.
	errAgain = errors.New("the transaction has ended with the first read")
)

// tx is one transaction on one connection.
type tx struct {
	store *Store
	conn  *pgxpool.Conn
	ctx   context.Context
	write bool
	ended atomic.Bool
	now   time.Time
	off   time.Duration // by how much the server's clock was ahead of now when that was read
	id    string        // of the transaction, as pg_xact_status takes it; of one that writes
	trips int           // to the server and back
	once  bool          // it ends with the first read that waits for rows
	over  bool          // it has
	crypt *encryption
	known known // in which lists the records are

	shared    *member     // the caller's part in a transaction of several; nil: it has its own
	waiting   []statement // puts that go with the next round trip
	failed    error       // what the server or a check has refused: the transaction can only be rolled back
	committed []func()    // called after the commit
}

// Now returns the time of the server when the transaction began.
func (t *tx) Now() time.Time {
	switch {
	case !t.now.IsZero() || t.usable(false) != nil:
	case t.shared != nil:
		t.shared.wait(t, statement{})
	default:
		t.beginFirst()
	}
	return t.now
}

// usable returns why the transaction cannot be used any more, or not for writing.
func (t *tx) usable(write bool) error {
	switch {
	case t.ended.Load():
		return errEnded
	case write && !t.write:
		return errReadOnly
	case t.failed != nil:
		return t.failed
	}
	return t.ctx.Err()
}

// begin prepares a transaction on the connection. It begins on the server, and its clock is read, in one round trip
// with the first statement that waits for an answer.
func (s *Store) begin(ctx context.Context, conn *pgxpool.Conn, write bool) *tx {
	t := &tx{store: s, conn: conn, ctx: ctx, write: write, crypt: s.crypt.Load(), known: newKnown(),
		once: !write && approvals.OneRead(ctx)}
	begin, clock := "begin isolation level serializable read only", "select "+microseconds+", ''"
	if write {
		begin = "begin isolation level serializable" // whether it may write says the server: see ErrTakesNoWrites
		clock = "select " + microseconds + ", pg_current_xact_id()::text"
	}
	before := s.elapsed()
	t.waiting = []statement{{sql: begin}, {sql: clock, read: func(rows pgx.Rows) error {
		var wall int64
		if err := rows.Scan(&wall, &t.id); err != nil {
			return err
		}
		t.now = s.clock.tell(time.UnixMicro(wall), before, s.elapsed())
		t.off = time.UnixMicro(wall).Sub(t.now)
		return nil
	}}}
	return t
}

// beginning is how many statements begin a transaction.
const beginning = 2

// microseconds is the server's clock, in microseconds since 1970.
const microseconds = "(extract(epoch from clock_timestamp()) * 1000000)::bigint"

// afterCommit has fn called once the transaction is committed.
func (t *tx) afterCommit(fn func()) { t.committed = append(t.committed, fn) }

// fail makes err, which the server or a check has returned, the end of the transaction.
func (t *tx) fail(err error) error {
	if gone := t.ctx.Err(); gone != nil {
		err = gone
	}
	if t.failed == nil {
		t.failed = explain(err)
	}
	return t.failed
}

// one reads one row; approvals.ErrNotFound when there is none.
func (t *tx) one(scan func(pgx.Rows) error, sql string, args ...any) error {
	found := false
	err := t.query(func(rows pgx.Rows) error {
		found = true
		return scan(rows)
	}, sql, args...)
	if err == nil && !found {
		return approvals.ErrNotFound
	}
	return err
}
