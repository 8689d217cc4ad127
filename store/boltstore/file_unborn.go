package boltstore

import (
	"fmt"
	"io"
	"os"
)

// bornPages is how many pages bbolt writes, in one write, when it makes a file.
const bornPages = 4

// unborn reports whether the file is what a process leaves behind that was killed while it made the file: no commit can
// have been acknowledged in it. Either nothing but zeros came to be written, or the first pages did not all; the first
// head then still has the number it was born with, which the very first commit replaces.
func unborn(f io.ReaderAt, size int64) (bool, error) {
	first, err := headAt(f, 0)
	if err == nil {
		return first.txid == 0 && first.high == bornPages && uint64(size) < bornPages*first.pageSize, nil
	}
	// A piece of a grown file that is shorter than a page can be all zeros too.
	if page := int64(os.Getpagesize()); size < page || size > bornPages*page {
		return false, nil
	}
	content := make([]byte, size)
	if _, err := f.ReadAt(content, 0); err != nil {
		return false, fmt.Errorf("read store: %w", err)
	}
	for _, b := range content {
		if b != 0 {
			return false, nil
		}
	}
	return true, nil
}
