package pgstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"countersign/approvals"
)

// statement is one that waits to be sent.
type statement struct {
	sql  string
	args []any
	none error                // what it means that the statement divides by zero, see oneRow, or adds what is there
	read func(pgx.Rows) error // called with every row; nil: its rows do not matter

	key    *keyRead      // what it reads by a key
	row    *rowStatement // what it writes; nil: that cannot be said
	places []string      // the rows, by placeIn
	jobs   *jobColumns   // of enqueueRows
	keys   []jobKey      // of remindRows
}

// oneRow has a statement that returns rows divide by zero when it touches none. The server notices, not this program,
// because the commit may be on its way together with the statement.
func oneRow(sql string) string {
	return "with touched as (" + sql + " returning 1) select 1 / count(*) from touched"
}

// later has a statement sent with the next round trip: that of a read, or of the commit.
func (t *tx) later(sql string, args ...any) { t.laterIf(nil, sql, args...) }

// laterIf is later for a statement made by oneRow: none is what the transaction fails with when it touches no row.
func (t *tx) laterIf(none error, sql string, args ...any) {
	t.add(statement{sql: sql, args: args, none: none})
}

func (t *tx) add(s statement) {
	if t.shared == nil || t.shared.takes(t, &s) {
		t.waiting = append(t.waiting, s)
	}
}

// query sends what waits and a statement, in one round trip, and calls each with every row of its result.
func (t *tx) query(each func(pgx.Rows) error, sql string, args ...any) error {
	return t.lookUp(nil, each, sql, args...)
}

// lookUp is query for a statement that only reads what lies in the places, named by placeIn; nil: that cannot be said.
func (t *tx) lookUp(places []string, each func(pgx.Rows) error, sql string, args ...any) error {
	return t.readIn(places, statement{sql: sql, args: args, read: each})
}

// lookUpBy is lookUp by a key, which can be done for several keys at once.
func (t *tx) lookUpBy(r *keyRead, places []string, each func(pgx.Rows) error, args ...any) error {
	return t.readIn(places, statement{key: r, sql: r.one, args: args, read: each})
}

func (t *tx) readIn(places []string, s statement) error {
	if err := t.usable(false); err != nil {
		return err
	}
	if t.shared != nil {
		return t.shared.read(t, places, s)
	}
	return t.exchange(t.ctx, &s)
}

// exchange sends what waits and one more statement, if there is one, in one round trip, and with it the commit of a
// transaction that reads once.
func (t *tx) exchange(ctx context.Context, last *statement) error {
	if t.over {
		return t.fail(errAgain)
	}
	if last != nil {
		t.waiting = append(t.waiting, *last)
	}
	var err error
	if t.over = t.once && last != nil; t.over {
		err = t.sendCommit(ctx)
	} else {
		_, err = t.send(ctx)
	}
	if err != nil {
		return t.fail(err)
	}
	return nil
}

// send sends what waits, in one round trip, and returns what the server says of the last statement.
func (t *tx) send(ctx context.Context) (tag pgconn.CommandTag, err error) {
	sent := adjacent(t.waiting)
	t.waiting = nil
	b := &pgx.Batch{}
	for _, s := range sent {
		b.Queue(s.sql, s.args...)
	}
	t.trips++
	br := t.conn.SendBatch(ctx, b)
	for i := 0; i < len(sent) && err == nil; i++ {
		tag, err = sent[i].result(br)
	}
	if closing := br.Close(); err == nil {
		err = closing
	}
	return tag, err
}

// result reads what became of a statement.
func (s *statement) result(br pgx.BatchResults) (pgconn.CommandTag, error) {
	if s.read == nil {
		tag, err := br.Exec()
		switch {
		case s.none != nil && isCode(err, codeDivisionByZero):
			err = s.none
		case s.none != nil && s.row != nil && s.row.isNew && isCode(err, codeUnique):
			err = s.none
		case isCode(err, codeCheck):
			err = fmt.Errorf("%w: %w", approvals.ErrInvalid, err)
		}
		return tag, err
	}
	rows, err := br.Query()
	if err != nil {
		return pgconn.CommandTag{}, err
	}
	defer rows.Close()
	for rows.Next() {
		if err := s.read(rows); err != nil {
			return pgconn.CommandTag{}, err
		}
	}
	return rows.CommandTag(), rows.Err()
}

// errNotCommitted is returned for a COMMIT that the server has answered with a rollback.
var errNotCommitted = errors.New("the server has rolled the transaction back")

// sendCommit sends what waits together with the commit.
func (t *tx) sendCommit(ctx context.Context) error {
	t.later("commit")
	return rolledBack(t.send(ctx))
}

// rolledBack is the error of a commit that the server has answered.
func rolledBack(tag pgconn.CommandTag, err error) error {
	if err == nil && tag.String() != "COMMIT" {
		err = fmt.Errorf("%w: %s", errNotCommitted, tag)
	}
	return err
}
