package boltstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// ErrPlace is what an error of Open is where the path names no place for a store: its folder is not there, or it or the
// file may not be written. It stays so until a person mends it.
var ErrPlace = errors.New("no place for a store")

// placeError is ErrPlace in other words.
type placeError struct{ error }

func (e placeError) Is(target error) bool { return target == ErrPlace }

func (e placeError) Unwrap() error { return e.error }

// ofPlace are the system's errors that are about a path, and not about what is going on.
var ofPlace = []error{
	fs.ErrNotExist, fs.ErrPermission, syscall.ENOTDIR, syscall.EISDIR, syscall.EROFS, syscall.ELOOP,
	syscall.ENAMETOOLONG, syscall.EINVAL,
}

// misplaced marks err as ErrPlace if the system says that it is about the path.
func misplaced(err error) error {
	if slices.ContainsFunc(ofPlace, func(about error) bool { return errors.Is(err, about) }) {
		return placeError{err}
	}
	return err
}

// CheckPlace returns the error that Open would return for the place of a store, ErrPlace or ErrNotStore, as far as it
// shows without opening the store. It writes nothing, and does not mind who has the store open.
func CheckPlace(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := leftBehind(path); err != nil {
			return err
		}
		return checkFolder(path)
	case err != nil:
		return openError(path, false, err)
	case !info.Mode().IsRegular():
		return irregular(path, info)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return openError(path, false, err)
	}
	defer f.Close()
	if fresh, err := unborn(f, info.Size()); info.Size() == 0 || fresh || err != nil {
		return nil // made from the beginning; what cannot be read is for Open to say
	}
	if readHeads(f).foreign() {
		return foreignFile(path)
	}
	return nil
}

// checkFolder judges the folder of a file that is not there.
func checkFolder(path string) error {
	if os.IsPathSeparator(path[len(path)-1]) {
		return placeError{fmt.Errorf("open store %s: it names a folder; name a file in it, such as %s", path,
			filepath.Join(path, exampleName))}
	}
	folder := Folder(target(path))
	info, err := os.Stat(folder)
	switch {
	case err != nil:
		return openError(path, false, err)
	case !info.IsDir():
		return openError(path, false, &fs.PathError{Op: "open", Path: folder, Err: syscall.ENOTDIR})
	}
	if err := writable(folder); err != nil {
		return openError(path, false, &fs.PathError{Op: "open", Path: folder, Err: err})
	}
	return nil
}

// exampleName is the file that messages suggest.
const exampleName = "countersign.db"

// target returns the file that is made at path: what a symbolic link to nothing leads to.
func target(path string) string {
	for range 40 { // more links end in ELOOP, which is an error of Stat
		to, err := os.Readlink(path)
		if err != nil {
			break
		}
		if !filepath.IsAbs(to) {
			to = in(Folder(path), to)
		}
		path = to
	}
	return path
}

// openError says what is wrong with the place of a store that cannot be opened, and what to do.
func openError(path string, readOnly bool, err error) error {
	folder := Folder(target(path))
	info, missing := os.Stat(folder)
	switch {
	case errors.Is(err, fs.ErrNotExist) && readOnly:
		err = fmt.Errorf("open store %s: there is no such file: %w", path, fs.ErrNotExist)
	case errors.Is(missing, fs.ErrNotExist):
		err = fmt.Errorf("open store %s: the folder %s is not there; create it first: %w", path, folder, fs.ErrNotExist)
	case missing == nil && !info.IsDir(), errors.Is(missing, syscall.ENOTDIR), errors.Is(err, syscall.ENOTDIR):
		err = fmt.Errorf("open store %s: %s is no folder; name a file in one: %w", path, folder, syscall.ENOTDIR)
	case errors.Is(err, fs.ErrPermission) && readOnly:
		err = fmt.Errorf("open store %s: this user must be able to read it: %w", path, fs.ErrPermission)
	case errors.Is(err, fs.ErrPermission):
		err = fmt.Errorf("open store %s: this user must be able to read and write the file and the folder %s: %w",
			path, folder, fs.ErrPermission)
	case errors.Is(err, syscall.EROFS):
		err = fmt.Errorf("open store %s: the file system of the folder %s is read-only; name a file that can be "+
			"written: %w", path, folder, syscall.EROFS)
	default:
		err = fmt.Errorf("open store: %w", err)
	}
	return misplaced(err)
}

// irregular is the error for a path that names no regular file.
func irregular(path string, info fs.FileInfo) error {
	if info.IsDir() {
		return fmt.Errorf("open store %s: %w: it is a folder, no regular file; name a file in it, such as %s", path,
			ErrNotStore, filepath.Join(path, exampleName))
	}
	return fmt.Errorf("open store %s: %w: it is no regular file (%s); name another one", path, ErrNotStore,
		info.Mode().Type())
}

// foreignFile is the error for a file that something else has made.
func foreignFile(path string) error {
	return fmt.Errorf("open store %s: %w: it does not begin as one; name another file, or move this one away", path,
		ErrNotStore)
}
