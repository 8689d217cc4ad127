package boltstore

import (
	"bytes"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"

	bolt "go.etcd.io/bbolt"

	"countersign/approvals"
)

var (
	errEnded    = errors.New("transaction has ended")
	errReadOnly = errors.New("read-only transaction")
)

// tx is one caller's view of a bbolt transaction, which in a group commit it shares with others.
type tx struct {
	btx     *bolt.Tx
	write   bool
	dirty   bool       // something was written through this view
	damage  error      // met on the way; the transaction must not be committed
	jobs    bool       // when jobs are due has changed
	ready   []readyJob // what the scheduler is told after the commit
	undoLog []change   // in the order of the writes
	buf     []byte     // to encode in
	ended   atomic.Bool

	// What was read last through this view, which alone writes in its time: a record that is read is often written next,
	// and need not be looked up again.
	auditEnd struct { // of a workspace
		ws  approvals.WorkspaceID
		seq uint64
	}
	run     runFacts
	request struct { // whose it is
		ws  approvals.WorkspaceID
		id  approvals.RequestID
		run approvals.RunID
	}

	path string // of the file, for errors
}

var _ approvals.Tx = (*tx)(nil)

// begin is called first by every method; its results go to a deferred end. Pages that cannot be read or make no sense
// make bbolt panic or fault within the map: both become an error of the method, and no panic of a caller's function is
// ever mistaken for one of them.
func (t *tx) begin() bool { return debug.SetPanicOnFault(true) }

func (t *tx) end(onFault bool, err *error) {
	debug.SetPanicOnFault(onFault)
	if r := recover(); r != nil {
		t.damage = t.damaged(r)
		*err = t.damage
	}
}

// usable returns why the view cannot be used any more, or not for writing.
func (t *tx) usable(write bool) error {
	switch {
	case t.ended.Load():
		return errEnded
	case write && !t.write:
		return errReadOnly
	}
	return t.damage
}

// get reads the record under k into record: approvals.ErrNotFound when there is none.
func (t *tx) get(bucket, k []byte, record any) error {
	v := t.btx.Bucket(bucket).Get(k)
	if v == nil {
		return approvals.ErrNotFound
	}
	return t.decode(bucket, k, v, record)
}

// decode reads v, which is stored under k, into record. Its errors are ErrDamaged, and ErrNewer for a record that has
// fields of a newer version of the program.
func (t *tx) decode(bucket, k, v []byte, record any) error {
	err := decode(k, v, record)
	switch {
	case errors.Is(err, errNewerField):
		return fmt.Errorf("%w: %s: %s %q: %w; nothing is lost: run the newer version again", ErrNewer, t.path, bucket, k, err)
	case err != nil:
		return t.damaged(fmt.Errorf("%s %q: %w", bucket, k, err))
	}
	return nil
}

func (t *tx) damaged(detail any) error { return damaged(t.path, detail) }

// raw returns a copy of the bytes stored under k by putRaw.
func (t *tx) raw(bucket, k, v []byte) ([]byte, error) {
	payload, err := unseal(k, v)
	if err != nil {
		return nil, t.damaged(fmt.Errorf("%s %q: %w", bucket, k, err))
	}
	return bytes.Clone(payload), nil
}

func (t *tx) put(bucket, k []byte, record any) error { return t.store(bucket, k, t.encode(k, record)) }

// encode returns the record as it is stored. bbolt keeps what it is given until the commit.
func (t *tx) encode(k []byte, record any) []byte {
	t.buf = appendSealed(t.buf[:0], k, record)
	return bytes.Clone(t.buf)
}

func (t *tx) putRaw(bucket, k, payload []byte) error { return t.store(bucket, k, seal(k, payload)) }

// mark puts an index entry: a key without a value. (bbolt reports a nil value of this transaction as missing.)
func (t *tx) mark(bucket, k []byte) error { return t.store(bucket, k, []byte{}) }

func (t *tx) store(bucket, k, v []byte) error {
	b := t.btx.Bucket(bucket)
	return t.replace(b, k, b.Get(k), v)
}

// replace puts v in the place of old, which is what the bucket holds; nil for nothing.
func (t *tx) replace(b *bolt.Bucket, k, old, v []byte) error {
	t.note(b, k, old)
	b.FillPercent = fillPercent
	return b.Put(k, v)
}

// drop deletes k, if it is there.
func (t *tx) drop(bucket, k []byte) error {
	b := t.btx.Bucket(bucket)
	old := b.Get(k)
	if old == nil {
		return nil
	}
	t.note(b, k, old)
	return b.Delete(k)
}

// change is the value that a key had before a write; nil when it had none.
type change struct {
	bucket *bolt.Bucket
	k, old []byte
}

// note keeps what a bucket holds under a key that is about to change.
func (t *tx) note(b *bolt.Bucket, k, old []byte) {
	t.undoLog = append(t.undoLog, change{b, k, old})
	t.dirty = true
}

// undo takes back everything that was written through this view. When that is impossible it counts as damage, and
// the transaction that the view shares is not committed.
func (t *tx) undo() {
	var err error
	defer func() { t.damage = errors.Join(t.damage, err) }()
	defer t.end(t.begin(), &err)
	for i := len(t.undoLog) - 1; i >= 0 && err == nil; i-- {
		c := t.undoLog[i]
		if c.old == nil {
			err = c.bucket.Delete(c.k)
		} else {
			err = c.bucket.Put(c.k, c.old)
		}
	}
	t.undoLog, t.dirty, t.jobs, t.ready = nil, false, false, nil
}

// scan calls fn for the entries whose keys start with prefix, from the key from on (nil: from the first), in order,
// until fn returns false or an error.
func (t *tx) scan(bucket, prefix, from []byte, fn func(k, v []byte) (bool, error)) error {
	c := t.btx.Bucket(bucket).Cursor()
	if from == nil {
		from = prefix
	}
	for k, v := c.Seek(from); k != nil && bytes.HasPrefix(k, prefix); k, v = c.Next() {
		if more, err := fn(k, v); err != nil || !more {
			return err
		}
	}
	return nil
}

// last returns the entry with the greatest key that starts with prefix, or nil.
func (t *tx) last(bucket, prefix []byte) (k, v []byte) {
	c := t.btx.Bucket(bucket).Cursor()
	past := append(bytes.Clone(prefix), bytes.Repeat([]byte{0xff}, 9)...)
	if k, _ = c.Seek(past); k == nil {
		k, v = c.Last()
	} else {
		k, v = c.Prev()
	}
	if !bytes.HasPrefix(k, prefix) {
		return nil, nil
	}
	return k, v
}

// identified refuses records that lack a part of their key.
func identified(what string, parts ...string) error {
	for _, p := range parts {
		if p == "" {
			return fmt.Errorf("put %s: incomplete key %q: %w", what, parts, approvals.ErrInvalid)
		}
	}
	return nil
}
