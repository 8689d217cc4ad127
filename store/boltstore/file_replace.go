package boltstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Replace puts the file at from, a whole store in the folder that Beside returns, in the place of the store at path.
// What was there keeps its bytes and is called aside from then on; there is no moment at which path names nothing. The
// new file belongs to whom the old one belonged, or, where there was none and this user is the superuser, to whom the
// folder belongs: a bot of another user than this one still opens it. Errors: ErrInUse while another process has the
// store open, or replaces it; fs.ErrExist when there is a store and aside is empty, or when there is a file called so.
// from is gone when Replace has succeeded.
func Replace(path, from, aside string) error {
	path, err := resolve(path)
	if err != nil {
		return fmt.Errorf("replace store: %w", err)
	}
	old, err := os.OpenFile(path, os.O_RDWR, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = appear(path, from)
	case err != nil:
	case aside == "":
		err = &fs.PathError{Op: "replace", Path: path, Err: errors.Join(fs.ErrExist, old.Close())}
	default:
		err = errors.Join(swap(old, path, from, aside), old.Close())
	}
	if err != nil {
		return fmt.Errorf("replace store: %w", err)
	}
	return syncFolder(path)
}

// resolve returns where the file really is: a rename would replace a symbolic link to it. A link to nothing stays, and
// leads to the new file then.
func resolve(path string) (string, error) {
	found, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		return target(path), nil
	}
	return found, err
}

// Beside returns the folder in which the file at from of Replace has to be.
func Beside(path string) (string, error) {
	path, err := resolve(path)
	if err != nil {
		return "", fmt.Errorf("replace store: %w", err)
	}
	return Folder(path), nil
}

// appear gives the file the name, which no other file has.
func appear(path, from string) error {
	f, err := os.OpenFile(from, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if err := errors.Join(giveToFolder(Folder(path), f), f.Close()); err != nil {
		return err
	}
	return GiveName(from, path)
}

// swap exchanges the files while old is locked: nobody opens it meanwhile.
func swap(old *os.File, path, from, aside string) error {
	ok, err := lock(old, true, lockPatience)
	if err != nil {
		return fmt.Errorf("lock %s: %w", path, err)
	}
	if !ok {
		return inUse(path)
	}
	current, err := inPlace(old, path)
	if err != nil {
		return err
	}
	if !current { // another program has replaced it meanwhile, and somebody may have that one open
		return inUse(path)
	}
	if err := inherit(old, from); err != nil {
		return err
	}
	if err := keepAside(old, path, aside, os.Link); err != nil {
		return err
	}
	return os.Rename(from, path)
}

// inherit gives the file at from to those who may open the old one.
func inherit(old *os.File, from string) error {
	f, err := os.OpenFile(from, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(keepAccess(old, f), f.Close())
}
