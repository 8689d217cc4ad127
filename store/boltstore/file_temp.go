package boltstore

import (
	"os"
	"path/filepath"
	"regexp"
)

// tempPrefix begins the names of files that are being written, and have another name once they are whole. The digits
// behind it are of os.CreateTemp.
const tempPrefix = ".countersign-new-"

var tempName = regexp.MustCompile(`^` + regexp.QuoteMeta(tempPrefix) + `[0-9]+$`)

// CreateTemp makes a file in the folder that is to be whole before it gets its name. Those that were left behind by
// processes that were killed are removed first: one that is locked is being written. The caller removes the file, or
// gives it a name, and closes it after that.
func CreateTemp(folder string) (*os.File, error) {
	sweep(folder, tempName.MatchString)
	return createLocked(folder, tempPrefix+"*")
}

// createLocked makes a file and locks it as a reader does, so that whoever wrote it can still read it with Open.
func createLocked(folder, pattern string) (*os.File, error) {
	f, err := os.CreateTemp(folder, pattern)
	if err != nil {
		return nil, err
	}
	_, _ = lock(f, false, 0) // a file system without locks: nothing is ever removed there either
	return f, nil
}

// sweep removes the files of those names that nobody has locked.
func sweep(folder string, named func(name string) bool) {
	if !locks {
		return
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return // of which making a file tells
	}
	for _, e := range entries {
		if !named(e.Name()) || !e.Type().IsRegular() {
			continue
		}
		f, err := os.OpenFile(in(folder, e.Name()), os.O_RDWR, 0)
		if err != nil {
			continue
		}
		if free, err := lock(f, true, 0); free && err == nil {
			os.Remove(f.Name())
		}
		f.Close()
	}
}

// sweepBeside removes what was left behind beside a store that is there: what was to replace it, what was to save one
// that was taken away and is back or was replaced by a backup, and the word about that.
func (s *Store) sweepBeside() {
	path := target(s.path)
	rescue := regexp.MustCompile(`^` + regexp.QuoteMeta(rescuePrefix(path)) + `[0-9]+$`)
	word := regexp.MustCompile(`^` + regexp.QuoteMeta(filepath.Base(path)+moved) + `[0-9]{8}T[0-9]{6}\.[0-9]{3}Z$`)
	sweep(Folder(path), func(name string) bool {
		return tempName.MatchString(name) || rescue.MatchString(name) || word.MatchString(name)
	})
}
