//go:build linux || darwin || freebsd || netbsd || openbsd

package patchtool

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const supported = true

// nonblocking keeps the opening of what became a pipe from waiting for its other end.
const nonblocking = syscall.O_NONBLOCK

// giveTo gives a new file the owner of an old one, where that is allowed.
func giveTo(f *os.File, like fs.FileInfo) {
	if s, ok := like.Sys().(*syscall.Stat_t); ok {
		_ = f.Chown(int(s.Uid), int(s.Gid))
	}
}

// mayChange asks the system whether this process may add names to a directory and remove them.
func mayChange(dir *os.Root) error {
	f, err := dir.Open(".")
	if err != nil {
		return cause(err)
	}
	defer f.Close()
	err = unix.Faccessat(int(f.Fd()), ".", unix.W_OK|unix.X_OK, unix.AT_EACCESS)
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EOPNOTSUPP) {
		return nil // it is found out later
	}
	return err
}

// links is how many names a file has, and whether that can be told.
func links(info fs.FileInfo) (uint64, bool) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return uint64(s.Nlink), true
}

// unsyncable reports that a file system does not write directories through, and cannot be told to.
func unsyncable(err error) bool { return errors.Is(err, syscall.EINVAL) }

// retry is how long a patch waits before it looks again whether another one is done.
const retry = 5 * time.Millisecond

// lock keeps other patches away from the directory, of this process and of others, until unlock is called. Where a file
// system has no locks it does nothing.
func lock(ctx context.Context, root *os.Root) (unlock func(), err error) {
	f, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	for {
		switch err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); {
		case errors.Is(err, syscall.EWOULDBLOCK):
		case errors.Is(err, syscall.EINTR):
			continue
		default:
			return func() { f.Close() }, nil
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, context.Cause(ctx)
		case <-time.After(retry):
		}
	}
}
