package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"countersign/internal/app"
	"countersign/store"
)

// writeNew makes the file at path with what write writes: whole and on disk, or not at all. It replaces nothing.
func writeNew(path string, write func(*os.File) error) error {
	switch _, err := os.Lstat(path); {
	case err == nil:
		return app.Misconfigured(fmt.Errorf("%s exists already; choose another name", path))
	case !errors.Is(err, fs.ErrNotExist):
		return unmade(path, err)
	case os.IsPathSeparator(path[len(path)-1]):
		return app.Misconfigured(fmt.Errorf("%s names a folder; name a file", path))
	}
	folder := store.Folder(path)
	f, err := store.CreateTemp(folder)
	if err != nil {
		return unmade(path, err)
	}
	defer os.Remove(f.Name())
	defer f.Close()
	if err := write(f); err != nil {
		return unwritten(f, path, "nothing was made", err)
	}
	if err := f.Sync(); err != nil {
		return unwritten(f, path, "nothing was made", err)
	}
	if err := store.GiveName(f.Name(), path); err != nil {
		return err
	}
	return syncFolder(folder)
}

// unwritten is the error of writing to f, which was to become the file at path. Other errors stay as they are.
func unwritten(f *os.File, path, stands string, err error) error {
	failed, ok := errors.AsType[*fs.PathError](err)
	if !ok || failed.Path != f.Name() {
		return err
	}
	next := ""
	if errors.Is(failed.Err, syscall.ENOSPC) || errors.Is(failed.Err, syscall.EDQUOT) {
		next = ": make room there first"
	}
	return fmt.Errorf("%s cannot be written: %w; %s%s", path, failed.Err, stands, next)
}

// unmade is the error for a file that cannot be made at path, which a person mends where it is about its folder. It
// does not name the file that would have been written first.
func unmade(path string, err error) error {
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		err = failed.Err
	}
	folder := store.Folder(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return app.Misconfigured(fmt.Errorf("%s cannot be made: the folder %s is not there", path, folder))
	case errors.Is(err, syscall.ENOTDIR):
		return app.Misconfigured(fmt.Errorf("%s cannot be made: %s is no folder", path, folder))
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return app.Misconfigured(fmt.Errorf("%s cannot be made: this user must be able to write the folder %s: %w",
			path, folder, err))
	}
	return fmt.Errorf("%s cannot be made: %w", path, err)
}

func syncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// interrupted says of work that a signal has cut off how things stand.
func interrupted(err error, stands string) error {
	if !errors.Is(err, context.Canceled) {
		return err
	}
	return &interruption{stands, err}
}

type interruption struct {
	stands string
	error
}

func (e *interruption) Error() string { return "interrupted: " + e.stands }

func (e *interruption) Unwrap() error { return e.error }
