package boltstore

import (
	"context"
	"errors"
	"fmt"

	bolt "go.etcd.io/bbolt"
)

// Check reads the whole file as it is now and returns ErrDamaged, with what is wrong, unless all of it is in order: the
// trees, the checksum of every record, and the agreement of the indexes with the records. It returns ErrNewer when it
// meets a record that only a newer version of the program can read. The store stays usable meanwhile. What the records
// say, for instance whether the audit chain holds, is the business of others.
func (s *Store) Check(ctx context.Context) error {
	return s.snapshot(ctx, func(btx *bolt.Tx, h head) error { return s.check(ctx, btx, h) })
}

// snapshot runs fn in a read transaction for which it has found the head in the file.
func (s *Store) snapshot(ctx context.Context, fn func(*bolt.Tx, head) error) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.active.Done()
	return s.inSnapshot(ctx, fn)
}

// inSnapshot is snapshot for callers who were admitted already.
func (s *Store) inSnapshot(ctx context.Context, fn func(*bolt.Tx, head) error) error {
	for ctx.Err() == nil {
		again, err := s.trySnapshot(fn)
		if !again {
			return err
		}
	}
	return ctx.Err()
}

// trySnapshot reports again when two commits have overwritten the head before it was read.
func (s *Store) trySnapshot(fn func(*bolt.Tx, head) error) (again bool, err error) {
	btx, err := s.begin(false)
	if err != nil {
		return false, err
	}
	defer s.rollback(btx)
	both := readHeads(s.file)
	for i, h := range both.copies {
		if both.errs[i] == nil && h.txid == uint64(btx.ID()) {
			return false, fn(btx, h)
		}
	}
	if both.errs[0] != nil && both.errs[1] != nil {
		return false, s.damaged(errors.Join(both.errs[0], both.errs[1]))
	}
	return true, nil
}

func (s *Store) check(ctx context.Context, btx *bolt.Tx, h head) error {
	known, sealed := make(map[string]bool), make(map[string]bool)
	for _, b := range buckets {
		known[string(b.name)], sealed[string(b.name)] = true, b.sealed
	}
	t := s.tx(btx, false)
	w := &walker{r: s.file, head: h, leaves: true, entry: func(bucket, k, v []byte) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		switch {
		case !known[string(bucket)]: // a newer version of the program has added it to the format
			return nil
		case !sealed[string(bucket)] && len(v) > 0:
			return fmt.Errorf("%s %q: an index entry with a value", bucket, k)
		case !sealed[string(bucket)]:
			return nil
		}
		if _, err := t.payload(bucket, k, v); err != nil {
			return fmt.Errorf("%s %q: %w", bucket, k, err)
		}
		return nil
	}}
	if err := w.walk(); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return s.damaged(err)
	}
	return t.checkIndexes(ctx)
}

// checkIndexes compares the indexes with the records.
func (t *tx) checkIndexes(ctx context.Context) (err error) {
	defer t.end(t.begin(), &err)
	for _, x := range indexes {
		want := 0
		err := t.scan(x.records, nil, nil, func(k, v []byte) (bool, error) {
			entries, err := x.entries(t, k, v)
			if err != nil {
				return false, err
			}
			for _, e := range entries {
				if !t.has(e.bucket, e.key) {
					return false, t.damaged(fmt.Errorf("%s lacks %q", e.bucket, e.key))
				}
			}
			want += len(entries)
			return true, ctx.Err()
		})
		if err != nil {
			return err
		}
		if err := t.countIndex(ctx, x, want); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) countIndex(ctx context.Context, x index, want int) error {
	have := 0
	for _, bucket := range x.buckets {
		err := t.scan(bucket, nil, nil, func(k, _ []byte) (bool, error) {
			if inIndex(bucket, k) {
				have++
			}
			return true, ctx.Err()
		})
		if err != nil {
			return err
		}
	}
	if have != want {
		return t.damaged(fmt.Errorf("the indexes of %s have %d entries instead of %d", x.records, have, want))
	}
	return nil
}

// inIndex reports whether an entry of a bucket that has an index is one of the index.
func inIndex(bucket, k []byte) bool {
	if string(bucket) != string(bucketQueue) {
		return true
	}
	return lastPart(k) == partRun && countParts(k) == 3
}
