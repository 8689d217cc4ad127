package boltstore

import (
	"bytes"

	bolt "go.etcd.io/bbolt"

	"countersign/approvals"
)

// bucket is a bucket of a transaction, with one cursor for all that is looked up in it: bbolt allocates for each one
// that it makes, and for each time that it opens a bucket for a transaction that reads. Copies are of one bucket.
type bucket struct {
	*bolt.Bucket
	name  []byte
	found *bolt.Cursor // at what get looked for last, as long as nothing is written; nil: it has not
}

// mostOpened is how many buckets most transactions open at most.
const mostOpened = 4

// room is what the updates that share a transaction hand on to each other.
type room struct {
	opened  []bucket
	undoLog []change // empty
	buf     []byte   // to encode in, and to decrypt
	about   []byte   // what the value at hand is bound to
	*recent          // empty
}

// recent is what was read last through a view that writes, which alone does so in its time: a record that is read is
// often written next, and need not be looked up again.
type recent struct {
	auditEnd struct { // of a workspace
		ws  approvals.WorkspaceID
		seq uint64
	}
	run        runFacts
	runRaw     []byte       // as it is stored
	pending    pendingFacts // of a request
	pendingRaw []byte
	request    struct { // whose it is
		ws  approvals.WorkspaceID
		id  approvals.RequestID
		run approvals.RunID
	}
}

// The room that is kept from one update to the next is bounded.
const (
	maxUndoRoom = 256
	maxBufRoom  = 64 << 10
)

// next returns the room for the update after this one, without what it was used for.
func (r *room) next() room {
	*r.recent = recent{}
	n := room{opened: r.opened, about: r.about, recent: r.recent}
	if cap(r.undoLog) <= maxUndoRoom {
		clear(r.undoLog)
		n.undoLog = r.undoLog[:0]
	}
	if cap(r.buf) <= maxBufRoom {
		n.buf = r.buf
	}
	return n
}

// bucket opens a bucket of the transaction; nil: it has no such bucket.
func (t *tx) bucket(name []byte) *bucket {
	for i := range t.opened {
		if string(t.opened[i].name) == string(name) {
			return &t.opened[i]
		}
	}
	of := t.btx.Bucket(name)
	if of == nil {
		return nil
	}
	if t.opened == nil {
		t.opened = make([]bucket, 0, mostOpened)
	}
	t.opened = append(t.opened, bucket{Bucket: of, name: name})
	return &t.opened[len(t.opened)-1]
}

// look returns the bucket's cursor.
func (b *bucket) look() *bolt.Cursor {
	if b.found == nil {
		b.found = b.Cursor()
	}
	return b.found
}

// get returns what is stored under k, or nil.
func (b *bucket) get(k []byte) []byte {
	found, v := b.look().Seek(k)
	if !bytes.Equal(found, k) {
		return nil
	}
	return v
}

// cursor returns a cursor for one look into the bucket; nil: there is no such bucket.
func (t *tx) cursor(name []byte) *bolt.Cursor {
	if b := t.bucket(name); b != nil {
		return b.look()
	}
	return nil
}
