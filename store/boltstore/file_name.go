package boltstore

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Folder returns the folder of the file at path. Unlike filepath.Dir it leaves the path as it is written: what is above
// a folder that a symbolic link leads to, only the system knows.
func Folder(path string) string {
	folder, _ := filepath.Split(path)
	switch short := strings.TrimRight(folder, string(filepath.Separator)); {
	case folder == "":
		return "."
	case short == filepath.VolumeName(folder):
		return folder
	default:
		return short
	}
}

// in returns the path of the file of that name in the folder.
func in(folder, name string) string {
	return strings.TrimRight(folder, string(filepath.Separator)) + string(filepath.Separator) + name
}

// GiveName gives the file at from, in the same folder, the name to, which no other file has: fs.ErrExist otherwise.
func GiveName(from, to string) error { return giveName(from, to, os.Link, renameNew) }

// giveName is GiveName with what a file system may lack: hard links, and a rename that replaces nothing. Where it has
// neither, the name is taken first, by a file that no program takes for one of its own.
func giveName(from, to string, link, renameNew func(from, to string) error) error {
	err := link(from, to)
	if err == nil {
		return os.Remove(from)
	}
	if !linkless(err) {
		return err
	}
	err = renameNew(from, to)
	if !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, syscall.EINVAL) {
		return err
	}
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString("A file of Countersign's was about to come here. Begin again.\n")
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(from, to)
	}
	if err != nil {
		return errors.Join(err, os.Remove(to))
	}
	return nil
}

// linkless reports whether an error of os.Link says that the file system has no hard links, as those of memory cards
// and of some networks.
func linkless(err error) bool {
	return errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EMLINK) || errors.Is(err, errors.ErrUnsupported)
}

// keepAside has the file that is open at path go by the name aside too. Where the file system has no hard links that
// is a copy.
func keepAside(old *os.File, path, aside string, link func(from, to string) error) error {
	err := link(path, aside)
	if err == nil || !linkless(err) {
		return err
	}
	f, err := CreateTemp(Folder(path))
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	size, err := sizeOf(old)
	if err != nil {
		return err
	}
	if _, err := io.Copy(f, io.NewSectionReader(old, 0, size)); err != nil {
		return fmt.Errorf("keep %s: %w", path, err)
	}
	if err := errors.Join(keepAccess(old, f), f.Sync()); err != nil {
		return err
	}
	return GiveName(f.Name(), aside)
}
