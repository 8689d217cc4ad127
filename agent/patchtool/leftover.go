package patchtool

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"time"
)

// leftoverAge is how old what a patch left behind has to be. A patch takes moments; but another tool may be at work in
// a part of the same directory, with a lock of its own.
const leftoverAge = time.Hour

var leftoverName = regexp.MustCompile(`^` + regexp.QuoteMeta(tempPrefix) +
	`(?:([0-9]+)-)?[0-9a-f]{12}-[0-9]+\.(?:new|old)$`)

// sweep removes what patches that were killed left in the directories of the edits, and returns the names of what it
// keeps: files that are the only ones with what was there before.
func sweep(root *os.Root, edits []edit, before time.Time) (kept []string) {
	var dirs []string
	for i := range edits {
		if dir, _ := folder(edits[i].path); !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	for _, dir := range dirs {
		at, err := descend(root, dir)
		if err != nil {
			continue // it comes to be, or the patch fails for it
		}
		for _, name := range leftovers(at, before) {
			if !removable(at, name) {
				kept = append(kept, path.Join(dir, name))
				continue
			}
			_ = at.Remove(name) // the next patch tries again
		}
		at.Close()
	}
	return kept
}

// leftovers are the names in a directory of files that a patch wrote for itself before that time.
func leftovers(dir *os.Root, before time.Time) (names []string) {
	f, err := dir.Open(".")
	if err != nil {
		return nil
	}
	defer f.Close()
	entries, _ := f.ReadDir(-1) // those that were read count
	for _, e := range entries {
		m := leftoverName.FindStringSubmatch(e.Name())
		if m != nil && e.Type().IsRegular() && begun(m[1]) < before.Unix() {
			names = append(names, e.Name())
		}
	}
	return names
}

// begun is when a patch began that has this in its names; earlier versions had nothing.
func begun(seconds string) int64 {
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// removable reports whether nothing is lost with a leftover: a new file never took effect under that name, and an old
// one that has another name still is, or was again, where it belongs.
func removable(dir *os.Root, name string) bool {
	if path.Ext(name) == ".new" {
		return true
	}
	info, err := dir.Lstat(name)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	n, known := links(info)
	return known && n > 1
}
