package boltstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// ErrGone is returned by every call after the path of the open store was found to name another file, or none: what
// would be written now, nobody would find again.
var ErrGone = errors.New("the store's file was taken away while it was open")

// rescued is what the name of a copy has more than the store's that is made of a file which was deleted while it was
// open, before the time.
const rescued = ".rescued-"

// stillThere returns ErrGone, with what to do, unless the path names the file that is open. It is asked before each
// commit. A file that was deleted goes with the process that has it open: it is copied beside its path first.
func (s *Store) stillThere(ctx context.Context) error {
	now, err := os.Stat(s.path)
	switch {
	case err == nil && os.SameFile(now, s.opened):
		return nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("look for store %s: %w", s.path, err)
	}
	place := "nothing is in its place"
	if err == nil {
		place = "another file is in its place"
	}
	if !deleted(s.file) {
		return fmt.Errorf("%w: %s, and %s; find the file that was moved, and move it back before the next start",
			ErrGone, s.path, place)
	}
	to := target(s.path) + rescued + time.Now().UTC().Format("20060102T150405.000Z")
	if err := s.rescue(ctx, to); err != nil {
		return fmt.Errorf("%w: %s was deleted, %s, and it cannot be copied: %w; put the newest backup there",
			ErrGone, s.path, place, err)
	}
	return fmt.Errorf("%w: %s was deleted, and %s; all that was recorded in it is in %s now: move that to %s before "+
		"the next start", ErrGone, s.path, place, to, s.path)
}

// rescue copies the store to a file that is not there yet, and has that name once it is whole. Close waits for it.
func (s *Store) rescue(ctx context.Context, to string) (err error) {
	f, err := os.CreateTemp(filepath.Dir(to), ".rescue-*")
	if err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, f.Close()); err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	if _, err := s.copyTo(ctx, f); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), to); err != nil {
		return err
	}
	if err := syncFolder(to); err != nil {
		s.cfg.Logger.Warn("the copy of a deleted store may not outlast a power cut", "path", to, "error", err)
	}
	return nil
}

// leftBehind returns ErrPlace where no file is at the path but the copy of one that was deleted: a new store in its
// place would have people believe that nothing was ever asked.
func leftBehind(path string) error {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	path = target(path)
	all, err := os.ReadDir(filepath.Dir(path)) // in order of their names, which is that of time
	if err != nil {
		return nil // of which opening the file tells
	}
	var newest string
	for _, e := range all {
		if strings.HasPrefix(e.Name(), filepath.Base(path)+rescued) {
			newest = filepath.Join(filepath.Dir(path), e.Name())
		}
	}
	if newest == "" {
		return nil
	}
	return placeError{fmt.Errorf("open store %s: the file was deleted while it was open, and what was recorded in it "+
		"is in %s; move that to %s, or away from there to begin with an empty store", path, newest, path)}
}
