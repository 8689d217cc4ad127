package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"countersign/internal/app"
)

// writeNew makes the file at path with what write writes: whole and on disk, or not at all. It replaces nothing.
func writeNew(path string, write func(*os.File) error) error {
	switch _, err := os.Lstat(path); {
	case err == nil:
		return app.Misconfigured(fmt.Errorf("%s exists already; choose another name", path))
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	if err := write(f); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := os.Link(f.Name(), path); err != nil { // unlike a rename, a link replaces nothing
		return err
	}
	return syncFolder(filepath.Dir(path))
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
