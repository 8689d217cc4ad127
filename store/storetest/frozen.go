package storetest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"countersign/store/transfer"
)

// frozenLine is a record as an earlier version of the program read it.
type frozenLine struct {
	Kind   transfer.Kind
	Key    transfer.Key
	Record json.RawMessage
}

func (l *frozenLine) String() string { return fmt.Sprintf("%s %q", l.Kind, l.Key) }

// Frozen compares what a store holds that an earlier version of the program wrote with what that version read: JSON
// objects with kind, key and record. Every record says what it said then, and there are no others; fields that have
// come since are empty. There are records of every kind, so that the comparison says something, except of those that
// the version did not read and that are named.
func Frozen(t testing.TB, s transfer.Source, read []byte, unread ...transfer.Kind) {
	t.Helper()
	now := make(map[string]transfer.Record)
	for _, kind := range transfer.Kinds() {
		if slices.Contains(unread, kind) {
			continue
		}
		for r, err := range s.Records(t.Context(), kind, nil) {
			if err != nil {
				t.Fatalf("%s: %v", kind, err)
			}
			now[(&frozenLine{Kind: kind, Key: r.Key()}).String()] = r
		}
	}
	kinds := make(map[transfer.Kind]bool)
	for dec := json.NewDecoder(bytes.NewReader(read)); ; {
		var l frozenLine
		if err := dec.Decode(&l); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		kinds[l.Kind] = true
		r, ok := now[l.String()]
		if delete(now, l.String()); !ok {
			t.Errorf("%s is gone", &l)
		} else if d := since(t, l.Record, r); d != "" {
			t.Errorf("%s reads differently (-then +now):\n%s", &l, d)
		}
	}
	for name := range now {
		t.Errorf("%s was not there", name)
	}
	for _, kind := range transfer.Kinds() {
		// What waits to be linked into a chain is linked within a second.
		if !kinds[kind] && !slices.Contains(unread, kind) && kind != transfer.KindUnsealed {
			t.Errorf("control: there were no %s", kind)
		}
	}
}

// since returns how a record differs from what it said then.
func since(t testing.TB, then json.RawMessage, now transfer.Record) string {
	t.Helper()
	data, err := json.Marshal(now)
	var was, is any
	if err := errors.Join(err, exactly(then, &was), exactly(data, &is)); err != nil {
		t.Fatal(err)
	}
	return cmp.Diff(was, withoutNew(was, is))
}

// exactly reads JSON with its numbers as they are written.
func exactly(data []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	return dec.Decode(v)
}

// withoutNew leaves out of a value the empty fields that it did not have then.
func withoutNew(then, now any) any {
	switch now := now.(type) {
	case map[string]any:
		was, _ := then.(map[string]any)
		for name, v := range now {
			if had, ok := was[name]; ok {
				now[name] = withoutNew(had, v)
			} else if isEmpty(v) {
				delete(now, name)
			}
		}
	case []any:
		was, _ := then.([]any)
		for i := range min(len(was), len(now)) {
			now[i] = withoutNew(was[i], now[i])
		}
	}
	return now
}

// isEmpty reports whether a value of JSON is what a field has that nobody has set.
func isEmpty(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for _, in := range v {
			if !isEmpty(in) {
				return false
			}
		}
		return true
	case []any:
		return len(v) == 0
	case string:
		return v == "" || v == "0001-01-01T00:00:00Z"
	case json.Number:
		return v == "0"
	case bool:
		return !v
	}
	return v == nil
}
