package boltstore

import (
	"fmt"
	"io"
)

// bbolt lets a file grow by setting its size, which leaves a hole at its end. To write into a hole costs the next sync
// far more than to write over something: the file system has to find room and to write down where it did. Commits
// therefore write zeros into the hole before they come to it, a stretch at a time, and most of them find no hole.
// The sync that a commit waits for anyway makes the zeros durable.
const (
	fillStretch = 128 << 10
	fillLeast   = 64 << 10 // is filled ahead of what a commit writes, or as far as the file goes
)

// filler writes zeros into the hole at the end of a file.
type filler struct {
	file io.WriterAt
	size func() (int64, error) // of the file
	end  int64                 // nothing before it is a hole
}

var zeros [fillStretch]byte

// ahead fills the hole behind used, up to which the file holds, or is about to hold, something. A full disk is no
// error: whether the commit itself finds room, its own writes say.
func (f *filler) ahead(used int64) error {
	f.end = max(f.end, used)
	if f.end-used >= fillLeast {
		return nil
	}
	size, err := f.size()
	if err != nil {
		return fmt.Errorf("size of store: %w", err)
	}
	n := min(size-f.end, fillStretch)
	if n <= 0 {
		return nil
	}
	if _, err := f.file.WriteAt(zeros[:n], f.end); err != nil && !full(err) {
		return fmt.Errorf("write to store: %w", err)
	}
	f.end += n
	return nil
}
