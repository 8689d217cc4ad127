package boltstore

import (
	"context"
	"fmt"
	"io"

	bolt "go.etcd.io/bbolt"
)

// Backup writes the store as it is now to w and returns how many bytes that were: a file that Open opens. What is
// damaged is not copied: the snapshot is checked first, as by Check. The store stays usable meanwhile.
func (s *Store) Backup(ctx context.Context, w io.Writer) (n int64, err error) {
	if err = s.enter(ctx); err == nil {
		defer s.active.Done()
		n, err = s.copyTo(ctx, w)
	}
	if err != nil {
		return n, fmt.Errorf("back up store: %w", err)
	}
	return n, nil
}

// copyTo is Backup for callers who were admitted already.
func (s *Store) copyTo(ctx context.Context, w io.Writer) (n int64, err error) {
	err = s.inSnapshot(ctx, func(btx *bolt.Tx, h head) error {
		if err := s.check(ctx, btx, h); err != nil {
			return err
		}
		to := &cancelWriter{ctx: ctx, w: w}
		if n, err = btx.WriteTo(to); to.err != nil {
			return to.err
		}
		return err
	})
	return n, err
}

// cancelWriter writes until ctx ends. It keeps the error of the write that failed: of the first ones bbolt passes on no
// more than the text.
type cancelWriter struct {
	ctx context.Context
	w   io.Writer
	err error
}

func (c *cancelWriter) Write(p []byte) (n int, err error) {
	if err = c.ctx.Err(); err == nil {
		n, err = c.w.Write(p)
	}
	if err != nil {
		c.err = err
	}
	return n, err
}

// Stats are figures of an open store.
type Stats struct {
	FileBytes int64
	Commits   uint64 // writes to the disk since Open
	Updates   uint64 // calls of Update that shared them
}

// Stats returns the store's figures.
func (s *Store) Stats(ctx context.Context) (Stats, error) {
	if err := s.enter(ctx); err != nil {
		return Stats{}, err
	}
	defer s.active.Done()
	info, err := s.file.Stat()
	if err != nil {
		return Stats{}, fmt.Errorf("stats of store: %w", err)
	}
	return Stats{
		FileBytes: info.Size(),
		Commits:   s.commit.stats.commits.Load(),
		Updates:   s.commit.stats.updates.Load(),
	}, nil
}
