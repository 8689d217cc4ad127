//go:build unix && !aix && !solaris

package boltstore

import (
	"errors"
	"os"
	"syscall"
	"time"
)

// locks says whether lock shows that somebody else has a file open.
const locks = true

// lock takes the advisory lock that bbolt takes too, so that the file can be looked at before bbolt maps it. It waits
// for at most patience and reports false when somebody else still has the lock then. Closing the file releases it.
func lock(f *os.File, exclusive bool, patience time.Duration) (bool, error) {
	how := syscall.LOCK_SH
	if exclusive {
		how = syscall.LOCK_EX
	}
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	retry := time.NewTicker(20 * time.Millisecond)
	defer retry.Stop()
	for {
		err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
		if err == nil {
			return true, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return false, err
		}
		select {
		case <-retry.C:
		case <-deadline.C:
			return false, nil
		}
	}
}
