package boltstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	bolt "go.etcd.io/bbolt"

	"countersign/store/transfer"
)

// While another store is moved into a file, the file has a format that no version of the program opens, and a record
// that says how far that is. The last transaction of the move gives it its format.
const formatMoving = 1_000_000

var transferKey = []byte("transfer") // in the bucket meta: the transfer.Mark, as JSON

// Target is a file into which another store is moved.
type Target struct{ *Store }

var _ transfer.Target = Target{}

// OpenTarget opens the store at path for moving another one into it, and creates it when it is not there. It is for
// nothing else, and has the file for itself until Close. A file with records that no move has put there gives
// transfer.ErrNotEmpty and stays as it is; for reading only, one in which there is nothing yet gives fs.ErrNotExist.
func OpenTarget(path string, cfg Config) (transfer.Target, error) {
	cfg.moving = true
	s, err := Open(path, cfg)
	if cfg.ReadOnly && errors.Is(err, ErrEmpty) {
		return nil, fmt.Errorf("open store %s: there is no store yet: %w", path, fs.ErrNotExist)
	}
	if err != nil {
		return nil, err
	}
	return Target{s}, nil
}

// Mark returns how far the move has come.
func (s Target) Mark(ctx context.Context) (m *transfer.Mark, err error) {
	err = s.view(ctx, func(t *tx) (err error) {
		defer t.end(t.begin(), &err)
		v := t.value(bucketMeta, transferKey)
		if v == nil {
			return nil
		}
		text, err := t.raw(bucketMeta, transferKey, v)
		if err != nil {
			return err
		}
		m = new(transfer.Mark)
		if err := json.Unmarshal(text, m); err != nil {
			return t.damaged(fmt.Errorf("how far a move has come: %w", err))
		}
		return nil
	})
	return m, err
}

// Empty reports whether there is no record.
func (s Target) Empty(ctx context.Context) (empty bool, err error) {
	err = s.view(ctx, func(t *tx) (err error) {
		defer t.end(t.begin(), &err)
		empty = true
		for _, b := range buckets {
			if string(b.name) != string(bucketMeta) && t.seek(b.name, nil) != nil {
				empty = false
			}
		}
		return nil
	})
	return empty, err
}

// Import adds the records, and marks how far that is.
func (s Target) Import(ctx context.Context, records []transfer.Record, m transfer.Mark) error {
	mark, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return s.write(ctx, func(t *tx) error {
		for _, r := range records {
			if err := t.importRecord(r); err != nil {
				return fmt.Errorf("put one of the %s: %w", r.Kind(), err)
			}
		}
		return errors.Join(t.putFormat(formatMoving), t.putRaw(bucketMeta, transferKey, mark))
	})
}

// Finish gives the file its format.
func (s Target) Finish(ctx context.Context) error {
	return s.write(ctx, func(t *tx) error {
		is := format
		if s.crypt != nil {
			is = formatEncrypted
		}
		return errors.Join(t.drop(bucketMeta, transferKey), t.putFormat(is))
	})
}

// write runs fn in a transaction of its own. After a failure the store has to be opened again.
func (s Target) write(ctx context.Context, fn func(t *tx) error) (err error) {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.active.Done()
	defer s.guard(&err)()
	err = s.db.Update(func(btx *bolt.Tx) (err error) {
		t := s.tx(btx, true)
		defer t.end(t.begin(), &err)
		return fn(t)
	})
	if err != nil {
		s.fail(fmt.Errorf("%w: %s: %w", ErrFailed, s.path, err))
		return fmt.Errorf("write store %s: %w", s.path, err)
	}
	return nil
}
