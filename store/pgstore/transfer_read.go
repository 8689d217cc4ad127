package pgstore

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"countersign/approvals"
	"countersign/store/transfer"
)

// OpenSource opens the store that url names for moving it elsewhere: for reading only, with any keys that it needs, and
// for as long as nobody else has it open.
func OpenSource(ctx context.Context, url string, cfg Config) (transfer.Source, error) {
	cfg.ReadOnly, cfg.moving = true, true
	s, err := Open(ctx, url, cfg)
	if err != nil {
		return nil, err // never a typed nil
	}
	return s, nil
}

var _ transfer.Source = (*Store)(nil)

// How many rows are read at a time: few where one may be large.
const (
	transferRows  = transfer.PageRecords
	transferLarge = 100
)

// Records yields the records of the kind behind a key, in order; see transfer.Source.
func (s *Store) Records(ctx context.Context, kind transfer.Kind, after transfer.Key) iter.Seq2[transfer.Record, error] {
	return transfer.Pages(after, func(after transfer.Key) (page []transfer.Record, err error) {
		err = s.run(ctx, false, func(t *tx) error {
			page, err = t.records(kind, after)
			return err
		})
		return page, err
	})
}

// readout is how the records of a kind lie in the schema.
type readout struct {
	from  string   // the rows
	key   []string // the columns of the key
	order []string // of the key, where its columns are not it
	data  string   // the columns behind the key
	large bool
	read  func(t *tx, rows pgx.Rows, k *rowKey) (transfer.Record, error)
}

// rowKey is the key of a row.
type rowKey struct {
	parts []string
	into  []any
}

func (k *rowKey) scan(rows pgx.Rows, more ...any) error {
	if err := rows.Scan(append(k.into, more...)...); err != nil {
		return err
	}
	for i, p := range k.parts {
		k.parts[i] = untext(p)
	}
	return nil
}

// ws is the first part, and place the three behind it.
func (k *rowKey) ws() approvals.WorkspaceID { return approvals.WorkspaceID(k.parts[0]) }
func (k *rowKey) place() approvals.Place {
	return approvals.Place{Surface: k.parts[1], Channel: k.parts[2], Thread: k.parts[3]}
}

// records reads a page.
func (t *tx) records(kind transfer.Kind, after transfer.Key) (page []transfer.Record, err error) {
	if kind == transfer.KindCounter {
		return t.counterRecord(after)
	}
	from, ok := readouts[kind]
	if !ok {
		return nil, fmt.Errorf("read %s: %w: this store knows none", kind, approvals.ErrInvalid)
	}
	sql, args := from.statement(after)
	err = t.query(func(rows pgx.Rows) error {
		k := &rowKey{parts: make([]string, len(from.key))}
		for i := range k.parts {
			k.into = append(k.into, &k.parts[i])
		}
		r, err := from.read(t, rows, k)
		page = append(page, r)
		return err
	}, sql, args...)
	return page, err
}

// statement selects the rows behind a key. Parts that are numbers are compared as such.
func (r *readout) statement(after transfer.Key) (sql string, args []any) {
	order := r.key
	if r.order != nil {
		order = r.order
	}
	columns, behind, by := "", "", ""
	for i, c := range r.key {
		if i > 0 {
			columns += ", "
		}
		columns += c + "::text as key_" + strconv.Itoa(i) // a name of its own: the order is by the column
	}
	for i, c := range order {
		if i > 0 {
			by += ", "
			behind += ", "
		}
		by += c
		behind += fmt.Sprintf("$%d", i+1)
		numbered := c == "seq" || c == "start" || c == "n"
		switch {
		case len(after) == 0 && numbered:
			args = append(args, int64(-1))
		case len(after) == 0 && c == "appended":
			args = append(args, time.Time{})
		case len(after) == 0:
			args = append(args, "")
		case numbered:
			args = append(args, int64(transfer.Number(after[i])))
		case c == "appended":
			args = append(args, appendedOf(transfer.Number(after[i])))
		default:
			args = append(args, text(after[i]))
		}
	}
	limit := transferRows
	if r.large {
		limit = transferLarge
	}
	return "select " + columns + ", " + r.data + " from " + r.from + " where (" + by + ") > (" + behind +
		") and " + r.condition() + " order by " + by + " limit " + strconv.Itoa(limit), args
}

// condition selects the rows that count.
func (r *readout) condition() string {
	switch r.from {
	case "audit":
		if r.key[1] == "seq" {
			return "seq is not null"
		}
		return "unsealed_id is not null"
	case "jobs":
		return "due is not null"
	}
	return "true"
}

// appendedOf is the time that the key of a transfer.SessionKey has.
func appendedOf(micro uint64) time.Time {
	if micro == 0 {
		return time.Time{}
	}
	return time.UnixMicro(int64(micro)).UTC()
}

func (t *tx) counterRecord(after transfer.Key) (page []transfer.Record, err error) {
	if len(after) > 0 {
		return nil, nil
	}
	var n int64
	err = t.one(func(rows pgx.Rows) error { return rows.Scan(&n) },
		"select case when is_called then last_value else 0 end from job_generation")
	return []transfer.Record{transfer.Counter{Generation: uint64(n)}}, err
}

// recordIn reads a row whose record is the one column behind the key.
func recordIn[T any](kind string, as func(*T) transfer.Record) func(*tx, pgx.Rows, *rowKey) (transfer.Record, error) {
	return func(t *tx, rows pgx.Rows, k *rowKey) (transfer.Record, error) {
		var data []byte
		if err := k.scan(rows, &data); err != nil {
			return nil, err
		}
		record := new(T)
		err := t.opened(data, record, kind, k.parts...)
		return as(record), err
	}
}

// rawIn reads a row whose one column behind the key is bytes.
func rawIn(t *tx, rows pgx.Rows, k *rowKey, kind string) (json.RawMessage, error) {
	var data []byte
	if err := k.scan(rows, &data); err != nil {
		return nil, err
	}
	return t.open(data, kind, k.parts...)
}
