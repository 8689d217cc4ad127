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
		if err != nil {
			s.markMoved()
		}
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
	f, err := createLocked(Folder(to), rescuePrefix(target(s.path))+"*")
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

// moved is what the name of a file has more than the store's that says, before the time, that the store was moved away
// while it was open.
const moved = ".moved-"

// rescuePrefix begins the name of a copy of the store at path that is not whole yet.
func rescuePrefix(path string) string { return "." + filepath.Base(path) + "-rescue-" }

// markMoved leaves word beside the path for the next start, which whatever looks after the process may bring about
// before a person has read what happened.
func (s *Store) markMoved() {
	path := target(s.path) + moved + time.Now().UTC().Format("20060102T150405.000Z")
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		_, err = f.WriteString("The store was moved away from here while it was open.\n")
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		s.cfg.Logger.Warn("the next start may begin with an empty store", "path", s.path, "error", err)
	}
}

// leftBehind returns ErrPlace where no file is at the path but what is left of one that was deleted or moved while it
// was open: a new store in its place would have people believe that nothing was ever asked.
func leftBehind(path string) error {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	path = target(path)
	folder, base := Folder(path), filepath.Base(path)
	all, err := os.ReadDir(folder) // in order of their names, which is that of time
	if err != nil {
		return nil // of which opening the file tells
	}
	var whole, broken, word string
	for _, e := range all {
		switch name := e.Name(); {
		case strings.HasPrefix(name, base+rescued):
			whole = in(folder, name)
		case strings.HasPrefix(name, base+moved):
			word = in(folder, name)
		case strings.HasPrefix(name, rescuePrefix(path)):
			broken = in(folder, name)
		}
	}
	switch {
	case whole != "":
		err = fmt.Errorf("the file was deleted while it was open, and what was recorded in it is in %s; move that to "+
			"%s, or away from there to begin with an empty store", whole, path)
	case broken != "":
		err = fmt.Errorf("the file was deleted while it was open, and the copy of it, %s, is not whole; remove that, "+
			"and put the newest backup back, or begin with an empty store", broken)
	case word != "":
		err = fmt.Errorf("the file was moved away while it was open; find it and move it back, or remove %s to begin "+
			"with an empty store", word)
	default:
		return nil
	}
	return placeError{fmt.Errorf("open store %s: %w", path, err)}
}
