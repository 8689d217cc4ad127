//go:build !(linux || darwin || freebsd)

package boltstore

import "os"

// systemSize returns 0: unknown.
func systemSize(*os.File) int64 { return 0 }

// mappable leaves it to bbolt to find out.
func mappable(*os.File, int64) bool { return true }

// freeBytes does not know.
func freeBytes(*os.File) (free int64, known bool) { return 0, false }
