package patchtool

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
)

// possible refuses edits that the system would not allow, so that nobody is asked about them.
func possible(root *os.Root, edits []edit) error {
	seen := make(map[string]bool)
	for i := range edits {
		dir, _ := folder(edits[i].path)
		if seen[dir] {
			continue
		}
		seen[dir] = true
		if err := writable(root, dir); err != nil {
			return fmt.Errorf("the directory of %s cannot be changed: %w", quote(edits[i].path), err)
		}
	}
	return nil
}

// writable reports whether names may be added to a directory, or to the nearest one above it that is there.
func writable(root *os.Root, dir string) error {
	for {
		at, err := descend(root, dir)
		if errors.Is(err, fs.ErrNotExist) && dir != "." {
			dir = path.Dir(dir)
			continue
		}
		if err != nil {
			return err
		}
		defer at.Close()
		return mayChange(at)
	}
}
