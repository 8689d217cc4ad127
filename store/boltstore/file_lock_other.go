//go:build !unix || aix || solaris

package boltstore

import (
	"os"
	"time"
)

// lock leaves locking to bbolt, which waits by itself.
func lock(*os.File, bool, time.Duration) (bool, error) { return true, nil }
