package boltstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	bolt "go.etcd.io/bbolt"

	"countersign/approvals"
)

var (
	errEnded    = errors.New("transaction has ended")
	errReadOnly = errors.New("read-only transaction")
)

// tx is one caller's view of a bbolt transaction, which in a group commit it shares with others.
type tx struct {
	btx    *bolt.Tx
	write  bool
	dirty  bool       // something was written through this view
	damage error      // met on the way; the transaction must not be committed
	jobs   bool       // when jobs are due has changed
	ready  []readyJob // what the scheduler is told after the commit
	room              // of a transaction that writes; its undoLog is in the order of the writes
	ended  atomic.Bool
	now    time.Time
	ctx    context.Context // of the call of View or Update, of which the tx is a part; nil: it never ends

	path  string      // of the file, for errors
	crypt *encryption // of an encrypted file; nil: its values are plain
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

// Now returns the store's time, the same at every call.
func (t *tx) Now() time.Time { return t.now }

// usable returns why the view cannot be used any more, or not for writing.
func (t *tx) usable(write bool) error {
	switch {
	case t.ended.Load():
		return errEnded
	case write && !t.write:
		return errReadOnly
	case t.damage != nil:
		return t.damage
	}
	return t.cancelled()
}

func (t *tx) cancelled() error {
	if t.ctx == nil {
		return nil
	}
	return t.ctx.Err()
}

// get reads the record under k into record: approvals.ErrNotFound when there is none.
func (t *tx) get(bucket, k []byte, record any) error {
	_, err := t.read(bucket, k, record)
	return err
}

// read is get that also returns what is stored, which holds until the record is written.
func (t *tx) read(bucket, k []byte, record any) (raw []byte, err error) {
	raw = t.value(bucket, k)
	if raw == nil {
		return nil, approvals.ErrNotFound
	}
	return raw, t.decode(bucket, k, raw, record)
}

// indexed reads the record that an index names; that it is missing means damage.
func (t *tx) indexed(bucket, k []byte, record any) error {
	_, err := t.readIndexed(bucket, k, record)
	return err
}

// readIndexed is indexed that also returns what is stored, which holds until the record is written.
func (t *tx) readIndexed(bucket, k []byte, record any) (raw []byte, err error) {
	raw, err = t.read(bucket, k, record)
	if errors.Is(err, approvals.ErrNotFound) {
		return nil, t.damaged(fmt.Errorf("%s %q is in an index but missing", bucket, k))
	}
	return raw, err
}

// decode reads v, which is stored under k, into record. Its errors are ErrDamaged, and ErrNewer for a record that has
// fields of a newer version of the program.
func (t *tx) decode(bucket, k, v []byte, record any) error {
	payload, err := t.payload(bucket, k, v)
	if err == nil {
		err = readRecord(payload, record)
	}
	switch {
	case errors.Is(err, errNewerField):
		return fmt.Errorf(
			"%w: %s: %s %q: %w; nothing is lost: run the newer version again", ErrNewer, t.path, bucket, k, err)
	case err != nil:
		return t.damaged(fmt.Errorf("%s %q: %w", bucket, k, err))
	}
	return nil
}

func (t *tx) damaged(detail any) error { return damaged(t.path, detail) }

// raw returns a copy of the bytes stored under k by putRaw.
func (t *tx) raw(bucket, k, v []byte) ([]byte, error) {
	payload, err := t.copied(bucket, k, v)
	if err != nil {
		return nil, t.damaged(fmt.Errorf("%s %q: %w", bucket, k, err))
	}
	return payload, nil
}

func (t *tx) put(bucket, k []byte, record any) error {
	return t.store(bucket, k, t.encode(bucket, k, record))
}

// encode returns the record as it is stored. bbolt keeps what it is given until the commit.
func (t *tx) encode(bucket, k []byte, record any) []byte {
	if t.encrypts(bucket) {
		t.buf = appendRecord(t.buf[:0], record)
		return t.seal(bucket, k, t.buf)
	}
	t.buf = appendWithChecksum(t.buf[:0], k, record)
	return bytes.Clone(t.buf)
}

func (t *tx) putRaw(bucket, k, payload []byte) error {
	return t.store(bucket, k, t.seal(bucket, k, payload))
}

// mark puts an index entry: a key without a value. (bbolt reports a nil value of this transaction as missing.) In the
// bucket queue, where it stands between records, it is a sealed value without content.
func (t *tx) mark(bucket, k []byte) error { return t.store(bucket, k, t.markOf(bucket, k)) }

// add is mark for an entry that is not there.
func (t *tx) add(bucket, k []byte) error {
	return t.replace(t.bucket(bucket), k, nil, t.markOf(bucket, k))
}

func (t *tx) markOf(bucket, k []byte) []byte {
	if string(bucket) == string(bucketQueue) {
		return t.seal(bucket, k, nil)
	}
	return []byte{}
}

func (t *tx) store(bucket, k, v []byte) error {
	b := t.bucket(bucket)
	return t.replace(b, k, b.get(k), v)
}

// replace puts v in the place of old, which is what the bucket holds; nil for nothing.
func (t *tx) replace(b *bucket, k, old, v []byte) error {
	t.note(b, k, old)
	b.FillPercent = fillPercent
	return b.Put(k, v)
}

// drop deletes k, if it is there.
func (t *tx) drop(bucket, k []byte) error {
	b := t.bucket(bucket)
	old := b.get(k)
	if old == nil {
		return nil
	}
	t.note(b, k, old)
	return b.found.Delete()
}

// change is the value that a key had before a write; nil when it had none.
type change struct {
	bucket *bucket
	k, old []byte
}

// note keeps what a bucket holds under a key that is about to change.
func (t *tx) note(b *bucket, k, old []byte) {
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
	t.dirty, t.jobs, t.ready = false, false, nil
}

// value returns what is stored under k; nil when there is nothing, or no such bucket (see bucketInfo.added).
func (t *tx) value(bucket, k []byte) []byte {
	if b := t.bucket(bucket); b != nil {
		return b.get(k)
	}
	return nil
}

func (t *tx) has(bucket, k []byte) bool { return t.value(bucket, k) != nil }

// scan calls fn for the entries whose keys start with prefix, from the key from on (nil: from the first), in order,
// until fn returns false or an error. It ends when the context of the transaction does.
func (t *tx) scan(bucket, prefix, from []byte, fn func(k, v []byte) (bool, error)) error {
	b := t.bucket(bucket)
	if b == nil {
		return nil
	}
	c := b.Cursor()
	if from == nil {
		from = prefix
	}
	n := 0
	for k, v := c.Seek(from); k != nil && bytes.HasPrefix(k, prefix); k, v = c.Next() {
		if n++; n%64 == 0 {
			if err := t.cancelled(); err != nil {
				return err
			}
		}
		if more, err := fn(k, v); err != nil || !more {
			return err
		}
	}
	return nil
}

// scanBack is scan in the opposite order, for the entries whose keys are less than before.
func (t *tx) scanBack(bucket, prefix, before []byte, fn func(k, v []byte) (bool, error)) error {
	b := t.bucket(bucket)
	if b == nil {
		return nil
	}
	c := b.Cursor()
	n := 0
	for k, v := seekBefore(c, before); k != nil && bytes.HasPrefix(k, prefix); k, v = c.Prev() {
		if n++; n%64 == 0 {
			if err := t.cancelled(); err != nil {
				return err
			}
		}
		if more, err := fn(k, v); err != nil || !more {
			return err
		}
	}
	return nil
}

// collect appends the records whose keys start with prefix to the list, from the key from on (nil: from the first),
// until it holds so many.
func collect[T any](t *tx, list *[]*T, bucket, prefix, from []byte, limit int) error {
	if limit <= 0 {
		return nil
	}
	err := t.scan(bucket, prefix, from, func(k, v []byte) (bool, error) {
		record := new(T)
		if err := t.decode(bucket, k, v, record); err != nil {
			return false, err
		}
		*list = append(*list, record)
		return len(*list) < limit, nil
	})
	if err != nil {
		*list = nil
	}
	return err
}

// eachWorkspace calls fn for the workspaces that have entries in the bucket, in order, until it returns false or an
// error.
func (t *tx) eachWorkspace(bucket []byte, fn func(ws string) (bool, error)) error {
	for k := t.seek(bucket, nil); k != nil; {
		ws, _, ok := cutPart(k)
		if !ok {
			return t.damaged(fmt.Errorf("%s %q: unreadable key", bucket, k))
		}
		if more, err := fn(ws); err != nil || !more {
			return err
		}
		k = t.seek(bucket, behind(key(ws)))
	}
	return t.cancelled()
}

// seek returns the first key of the bucket that is not less than k, or nil.
func (t *tx) seek(bucket, k []byte) []byte {
	c := t.cursor(bucket)
	if c == nil {
		return nil
	}
	found, _ := c.Seek(k)
	return found
}

// last returns the entry with the greatest key that starts with prefix, or nil.
func (t *tx) last(bucket, prefix []byte) (k, v []byte) {
	c := t.cursor(bucket)
	if c == nil {
		return nil, nil
	}
	return seekLast(c, prefix)
}

// seekLast moves the cursor to the entry with the greatest key that starts with prefix; nil when there is none.
func seekLast(c *bolt.Cursor, prefix []byte) (k, v []byte) {
	if k, v = seekBefore(c, behind(prefix)); !bytes.HasPrefix(k, prefix) {
		return nil, nil
	}
	return k, v
}

// seekBefore moves the cursor to the entry with the greatest key that is less than before; nil when there is none.
func seekBefore(c *bolt.Cursor, before []byte) (k, v []byte) {
	if k, _ = c.Seek(before); k == nil {
		return c.Last()
	}
	return c.Prev()
}

// prev moves the cursor back by one entry, as long as its key starts with prefix.
func prev(c *bolt.Cursor, prefix []byte) (k, v []byte) {
	if k, v = c.Prev(); !bytes.HasPrefix(k, prefix) {
		return nil, nil
	}
	return k, v
}

// dropAll deletes the entries whose keys start with prefix, from the key from on (nil: from the first).
func (t *tx) dropAll(bucket, prefix, from []byte) error {
	_, err := t.dropSome(bucket, prefix, from, 0)
	return err
}

// dropSome is dropAll for so many entries at most, all when limit is zero or less. It reports whether there are more.
func (t *tx) dropSome(bucket, prefix, from []byte, limit int) (more bool, err error) {
	var keys [][]byte
	err = t.scan(bucket, prefix, from, func(k, _ []byte) (bool, error) {
		if more = limit > 0 && len(keys) == limit; more {
			return false, nil
		}
		keys = append(keys, bytes.Clone(k))
		return true, nil
	})
	for _, k := range keys {
		err = errors.Join(err, t.drop(bucket, k))
	}
	return more, err
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
