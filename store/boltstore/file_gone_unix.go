//go:build unix

package boltstore

import (
	"os"
	"syscall"
)

// deleted reports whether no path names the open file any more: it goes with the last process that has it open.
func deleted(f *os.File) bool {
	info, err := f.Stat()
	if err != nil {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && stat.Nlink == 0
}
