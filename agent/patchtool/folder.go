package patchtool

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
)

// folder is the directory of a file and its name there.
func folder(name string) (dir, base string) {
	dir, base = path.Split(name)
	return path.Clean(dir), base
}

var errExchanged = errors.New("it was exchanged for another one meanwhile")

// descend opens a directory below the root, name by name. Each is looked at and opened in the directory before it, and
// what was opened is what was looked at: no link is followed, also when somebody exchanges directories meanwhile. Of a
// directory that is not there the error is fs.ErrNotExist; other errors are made for the model.
func descend(root *os.Root, dir string) (*os.Root, error) {
	at, err := root.OpenRoot(".")
	if err != nil || dir == "." {
		return at, err
	}
	done := 0
	for name := range strings.SplitSeq(dir, "/") {
		done += len(name)
		next, err := into(at, name)
		at.Close()
		if errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if err != nil {
			return nil, fmt.Errorf("%s %w", quote(dir[:done]), err)
		}
		at = next
		done++
	}
	return at, nil
}

// into opens a directory in another one.
func into(at *os.Root, name string) (*os.Root, error) {
	seen, err := at.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("cannot be looked at: %w", cause(err))
	case seen.Mode()&fs.ModeSymlink != 0:
		return nil, errors.New("is a symbolic link; name the file itself")
	case !seen.IsDir():
		return nil, errors.New("is not a directory")
	}
	next, err := at.OpenRoot(name)
	if err != nil {
		return nil, fmt.Errorf("cannot be opened: %w", cause(err))
	}
	opened, err := next.Stat(".")
	if err != nil || !os.SameFile(seen, opened) {
		next.Close()
		return nil, errExchanged
	}
	return next, nil
}

// stays makes sure that an open directory is the one that the path leads to now.
func stays(root *os.Root, dir string, open directory) error {
	now, err := descend(root, dir)
	if err != nil {
		return err
	}
	defer now.Close()
	there, err := now.Stat(".")
	if err != nil {
		return cause(err)
	}
	have, err := open.Lstat(".")
	if err != nil {
		return cause(err)
	}
	if !os.SameFile(there, have) {
		return errExchanged
	}
	return nil
}
