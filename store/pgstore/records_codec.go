package pgstore

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
	"github.com/jackc/pgx/v5"

	"countersign/approvals"
)

// encode returns the JSON of a record. Raw JSON within it keeps its bytes.
func encode(record any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(record); err != nil {
		return nil, fmt.Errorf("encode a record: %w", err)
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// decode reads the JSON of a record, as encode writes it. A field that this program does not know is refused: writing
// the record back would lose it. No error repeats what a record holds.
func decode(data []byte, record any) error {
	err := jsonv2.Unmarshal(data, record, asWritten)
	if err == nil {
		return nil
	}
	semantic, ok := errors.AsType[*jsonv2.SemanticError](err)
	switch {
	case ok && errors.Is(err, jsonv2.ErrUnknownName):
		return fmt.Errorf("%w: unknown field %q; nothing is lost: run the newer version again", ErrNewer,
			semantic.JSONPointer)
	case ok: // within a field, whose names are this program's
		return fmt.Errorf("%w: %q holds a JSON %v that is no %v", ErrDamaged, semantic.JSONPointer, semantic.JSONKind,
			semantic.GoType)
	}
	broken, _ := errors.AsType[*jsontext.SyntacticError](err)
	if broken == nil {
		broken = new(jsontext.SyntacticError)
	}
	return fmt.Errorf("%w: its JSON is broken after byte %d", ErrDamaged, broken.ByteOffset)
}

// asWritten reads what encoding/json has written, three times as fast as encoding/json does: durations are numbers, and
// raw JSON that came from a model or a tool holds whatever they wrote.
var asWritten = jsonv2.JoinOptions(
	jsonv2.RejectUnknownMembers(true),
	jsonv1.FormatDurationAsNano(true),
	jsontext.AllowDuplicateNames(true),
	jsontext.AllowInvalidUTF8(true),
)

// sealed returns a record as the column holds it.
func (t *tx) sealed(record any, kind string, key ...string) ([]byte, error) {
	data, err := encode(record)
	if err == nil && t.store.Format() < t.store.reads {
		data, err = t.store.withoutLater(data, kind)
	}
	if err != nil {
		return nil, err
	}
	return t.seal(data, kind, key...), nil
}

// opened reads what a column holds into a record.
func (t *tx) opened(data []byte, record any, kind string, key ...string) error {
	plain, err := t.open(data, kind, key...)
	if err == nil {
		err = decode(plain, record)
	}
	if err == nil && t.store.Format() < t.store.reads {
		t.store.noticeLater(plain, kind)
	}
	if err != nil {
		return fmt.Errorf("%s %q: %w", kind, key, err)
	}
	return nil
}

// read reads one record by its key; approvals.ErrNotFound when there is none. The statement returns the column alone.
func read[T any](t *tx, r *keyRead, kind string, key []string, args ...any) (*T, error) {
	record, found := new(T), false
	err := t.lookUpBy(r, r.places(args), func(rows pgx.Rows) error {
		found = true
		var data []byte
		if err := rows.Scan(&data); err != nil {
			return err
		}
		return t.opened(data, record, kind, key...)
	}, args...)
	if err == nil && !found {
		err = approvals.ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	return record, nil
}

// list reads records. The statement returns their keys, behind so many parts that all share, and the column.
func list[T any](t *tx, kind string, shared []string, parts int, sql string, args ...any) (all []*T, err error) {
	return listOf[T](t, nil, kind, shared, parts, sql, args...)
}

// listOf is list of what lies in places that can be named; nil: it cannot be said what the list depends on.
func listOf[T any](
	t *tx, places []string, kind string, shared []string, parts int, sql string, args ...any,
) (all []*T, err error) {
	err = t.lookUp(places, func(rows pgx.Rows) error {
		return appendRecord(t, &all, rows, kind, shared, parts)
	}, sql, args...)
	if err != nil {
		return nil, err
	}
	return all, nil
}

// listBy is listOf by a key.
func listBy[T any](
	t *tx, r *keyRead, places []string, kind string, shared []string, args ...any,
) (all []*T, err error) {
	err = t.lookUpBy(r, places, func(rows pgx.Rows) error {
		return appendRecord(t, &all, rows, kind, shared, 1)
	}, args...)
	if err != nil {
		return nil, err
	}
	return all, nil
}

func appendRecord[T any](t *tx, all *[]*T, rows pgx.Rows, kind string, shared []string, parts int) error {
	record := new(T)
	if err := t.scanRecord(rows, record, kind, shared, parts); err != nil {
		return err
	}
	*all = append(*all, record)
	return nil
}

// scanRecord reads a row of parts of a key and a record.
func (t *tx) scanRecord(rows pgx.Rows, record any, kind string, shared []string, parts int) error {
	var data []byte
	key := make([]string, len(shared)+parts)
	into := make([]any, parts+1)
	for i := range parts {
		into[i] = &key[len(shared)+i]
	}
	into[parts] = &data
	if err := rows.Scan(into...); err != nil {
		return err
	}
	for i := range key {
		if i < len(shared) {
			key[i] = shared[i]
		} else {
			key[i] = untext(key[i])
		}
	}
	return t.opened(data, record, kind, key...)
}
