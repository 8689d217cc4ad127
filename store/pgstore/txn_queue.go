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
	none error // what it means that the statement divides by zero; see oneRow
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
	t.waiting = append(t.waiting, statement{sql, args, none})
}

// take returns a batch of what waits.
func (t *tx) take() (*pgx.Batch, []statement) {
	sent := t.waiting
	t.waiting = nil
	b := &pgx.Batch{}
	for _, s := range sent {
		b.Queue(s.sql, s.args...)
	}
	return b, sent
}

// results reads what became of the statements that were sent first.
func results(br pgx.BatchResults, sent []statement) error {
	for _, s := range sent {
		if _, err := br.Exec(); err != nil {
			switch {
			case s.none != nil && isCode(err, codeDivisionByZero):
				return s.none
			case isCode(err, codeCheck):
				return fmt.Errorf("%w: %w", approvals.ErrInvalid, err)
			}
			return err
		}
	}
	return nil
}

// query sends what waits and a statement, in one round trip, and calls each with every row of its result.
func (t *tx) query(each func(pgx.Rows) error, sql string, args ...any) error {
	if err := t.usable(false); err != nil {
		return err
	}
	b, sent := t.take()
	b.Queue(sql, args...)
	t.trips++
	br := t.conn.SendBatch(t.ctx, b)
	err := results(br, sent)
	if err == nil {
		err = readRows(br, each)
	}
	if closing := br.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return t.fail(err)
	}
	return nil
}

func readRows(br pgx.BatchResults, each func(pgx.Rows) error) error {
	rows, err := br.Query()
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := each(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// errNotCommitted is returned for a COMMIT that the server has answered with a rollback.
var errNotCommitted = errors.New("the server has rolled the transaction back")

// sendCommit sends what waits together with the commit.
func (t *tx) sendCommit(ctx context.Context) error {
	b, sent := t.take()
	b.Queue("commit")
	t.trips++
	br := t.conn.SendBatch(ctx, b)
	err := results(br, sent)
	var tag pgconn.CommandTag
	if err == nil {
		tag, err = br.Exec()
	}
	if closing := br.Close(); err == nil {
		err = closing
	}
	if err == nil && tag.String() != "COMMIT" {
		err = fmt.Errorf("%w: %s", errNotCommitted, tag)
	}
	return err
}
