package storetest

import (
	"bytes"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"strings"
	"time"

	"countersign/approvals"
)

// memoryTx is a transaction: a snapshot, and what was written to it.
type memoryTx struct {
	root      *tree
	now       time.Time
	write     bool
	ended     bool
	jobs      bool // were changed
	looks     int  // how many records QueryRequests looks at
	cancelled func() error

	deferred bool
	queue    []func() error // puts that are to be carried out
	failed   error          // of one that was: nothing can be done after it
}

var errMisused = errors.New("transaction cannot do that")

// Now implements [approvals.Tx].
func (t *memoryTx) Now() time.Time { return t.now }

func (t *memoryTx) usable(write bool) error {
	if t.ended || write && !t.write {
		return errMisused
	}
	if t.failed != nil {
		return t.failed
	}
	return t.cancelled()
}

// reading is called before every read.
func (t *memoryTx) reading() error {
	if err := t.usable(false); err != nil {
		return err
	}
	return t.flush()
}

// change carries out a write, now or later. Whatever op needs of a record is its own by then.
func (t *memoryTx) change(op func() error) error {
	if err := t.usable(true); err != nil {
		return err
	}
	if !t.deferred {
		return op()
	}
	t.queue = append(t.queue, op)
	return nil
}

// flush carries out what was deferred.
func (t *memoryTx) flush() error {
	for t.failed == nil && len(t.queue) > 0 {
		op := t.queue[0]
		t.queue = t.queue[1:]
		t.failed = op()
	}
	return t.failed
}

// set writes without asking.
func (t *memoryTx) set(k string, data []byte) { t.root = t.root.put(k, &value{data: data}) }

// remove deletes without asking.
func (t *memoryTx) remove(k string) { t.root = t.root.delete(k) }

// removeAll deletes all keys that start so.
func (t *memoryTx) removeAll(prefix string) {
	for k := range t.rows(prefix, "") {
		t.remove(k)
	}
}

// rows yields what the keys that start so hold, in order, from a key on. What the caller changes meanwhile is not seen.
func (t *memoryTx) rows(prefix, start string) iter.Seq2[string, *value] {
	return func(yield func(string, *value) bool) {
		for k, v := range t.root.from(max(prefix, start)) {
			if !strings.HasPrefix(k, prefix) || !yield(k, v) {
				return
			}
		}
	}
}

// ordered yields the records of a kind behind an id, or, the newest first, those before it; all when it is empty.
func (t *memoryTx) ordered(kind string, ws approvals.WorkspaceID, behind string, newest bool) iter.Seq[*value] {
	return func(yield func(*value) bool) {
		if !newest {
			for _, v := range t.rows(key(kind, ws), after(key(kind, ws, behind))) {
				if !yield(v) {
					return
				}
			}
			return
		}
		var before []*value
		for k, v := range t.rows(key(kind, ws), "") {
			if behind != "" && k >= key(kind, ws, behind) {
				break
			}
			before = append(before, v)
		}
		for _, v := range slices.Backward(before) {
			if !yield(v) {
				return
			}
		}
	}
}

// identified refuses records that lack a part of their key.
func identified(ws approvals.WorkspaceID, parts ...string) error {
	if ws == "" || slices.Contains(parts, "") {
		return approvals.ErrInvalid
	}
	return nil
}

// put encodes a record that has a complete key.
func (t *memoryTx) put(k string, record any) error {
	data, err := marshal(record)
	if err != nil {
		return err
	}
	return t.change(func() error {
		t.set(k, data)
		return nil
	})
}

// drop deletes a record.
func (t *memoryTx) drop(k string) error {
	return t.change(func() error {
		t.remove(k)
		return nil
	})
}

// get decodes a record.
func get[T any](t *memoryTx, k string) (*T, error) {
	if err := t.reading(); err != nil {
		return nil, err
	}
	v := t.root.get(k)
	if v == nil {
		return nil, approvals.ErrNotFound
	}
	return decode[T](v)
}

// decode returns a record that is the caller's own.
func decode[T any](v *value) (*T, error) {
	record := new(T)
	if err := json.Unmarshal(v.data, record); err != nil {
		return nil, err
	}
	return record, nil
}

// matching yields the records that start with the prefix and match. They are shared: nobody may hand them out.
func matching[T any](t *memoryTx, prefix string, match func(*T) bool) iter.Seq2[*T, *value] {
	return func(yield func(*T, *value) bool) {
		for _, v := range t.rows(prefix, "") {
			if record := look[T](v); match(record) && !yield(record, v) {
				return
			}
		}
	}
}

// list decodes the records that start with the prefix and match, in order, at most limit.
func list[T any](t *memoryTx, prefix string, limit int, match func(*T) bool) ([]*T, error) {
	if err := t.reading(); err != nil || limit <= 0 {
		return nil, err
	}
	var records []*T
	for _, v := range matching(t, prefix, match) {
		record, err := decode[T](v)
		if err != nil {
			return nil, err
		}
		if records = append(records, record); len(records) == limit {
			break
		}
	}
	return records, nil
}

// anything is the match that takes everything.
func anything[T any](*T) bool { return true }

// marshal keeps the bytes of raw JSON within the record.
func marshal(record any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	err := enc.Encode(record)
	return buf.Bytes(), err
}
