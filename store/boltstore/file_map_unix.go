//go:build linux || darwin || freebsd

package boltstore

import (
	"math"
	"os"
	"syscall"
)

// systemSize returns the size of the file system that holds the file; 0 when it is unknown.
func systemSize(f *os.File) int64 {
	var st syscall.Statfs_t
	if err := syscall.Fstatfs(int(f.Fd()), &st); err != nil {
		return 0
	}
	blocks, size := uint64(st.Blocks), uint64(st.Bsize)
	if size == 0 || blocks > math.MaxInt64/2/size {
		return mostMap
	}
	return int64(blocks * size)
}

// mappable reports whether so much of the file, and of what it may grow by, can be mapped.
func mappable(f *os.File, size int64) bool {
	if size > math.MaxInt {
		return false
	}
	m, err := syscall.Mmap(int(f.Fd()), 0, int(size), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return false
	}
	return syscall.Munmap(m) == nil
}

// freeBytes returns how much room the file system that holds the file has for this user; known is false when it is
// not known.
func freeBytes(f *os.File) (free int64, known bool) {
	var st syscall.Statfs_t
	if err := syscall.Fstatfs(int(f.Fd()), &st); err != nil {
		return 0, false
	}
	blocks, size := uint64(max(st.Bavail, 0)), uint64(st.Bsize)
	if size == 0 || blocks > math.MaxInt64/2/size {
		return mostMap, true
	}
	return int64(blocks * size), true
}
