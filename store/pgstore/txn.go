package pgstore

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"countersign/approvals"
)

var (
	errEnded    = errors.New("transaction has ended")
	errReadOnly = errors.New("read-only transaction")
)

// tx is one transaction on one connection.
type tx struct {
	store *Store
	conn  *pgxpool.Conn
	ctx   context.Context
	write bool
	ended atomic.Bool
	now   time.Time
	id    string // of the transaction, as pg_xact_status takes it; of one that writes
	line  string // the server's timeline then
	trips int    // to the server and back
	crypt *encryption

	waiting   []statement // puts that go with the next round trip
	failed    error       // what the server or a check has refused: the transaction can only be rolled back
	committed []func()    // called after the commit
}

// Now returns the time of the server when the transaction began.
func (t *tx) Now() time.Time { return t.now }

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

// begin starts a transaction on the connection and reads the server's clock, in one round trip.
func (s *Store) begin(ctx context.Context, conn *pgxpool.Conn, write bool) (*tx, error) {
	sql := "begin isolation level serializable read only; select " + microseconds
	if write {
		sql = "begin isolation level serializable read write; select " + microseconds + ", pg_current_xact_id(), " + timeline
	}
	before := s.elapsed()
	results, err := conn.Conn().PgConn().Exec(ctx, sql).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("begin: %w", err)
	}
	row := results[len(results)-1].Rows[0]
	wall, err := readMicroseconds(row[0])
	if err != nil {
		return nil, err
	}
	t := &tx{store: s, conn: conn, ctx: ctx, write: write, trips: 1, crypt: s.crypt.Load(),
		now: s.clock.tell(wall, before, s.elapsed())}
	if write {
		t.id, t.line = string(row[1]), string(row[2])
	}
	return t, nil
}

// microseconds is the server's clock, in microseconds since 1970.
const microseconds = "(extract(epoch from clock_timestamp()) * 1000000)::bigint"

func readMicroseconds(text []byte) (time.Time, error) {
	var n int64
	if _, err := fmt.Sscan(string(text), &n); err != nil {
		return time.Time{}, fmt.Errorf("the server's clock says %q: %w", text, err)
	}
	return time.UnixMicro(n).UTC(), nil
}

// afterCommit has fn called once the transaction is committed.
func (t *tx) afterCommit(fn func()) { t.committed = append(t.committed, fn) }

// fail makes err, which the server or a check has returned, the end of the transaction.
func (t *tx) fail(err error) error {
	if gone := t.ctx.Err(); gone != nil {
		err = gone
	}
	if t.failed == nil {
		t.failed = err
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
