//go:build darwin || freebsd || netbsd || openbsd

package procgroup

import (
	"errors"

	"golang.org/x/sys/unix"
)

// awaitExit returns when the process has ended, and leaves it to be waited for.
func awaitExit(pid int) {
	queue, err := unix.Kqueue()
	if err != nil {
		return // without a queue it is waited for at once; the group is killed a moment later than it should be
	}
	defer unix.Close(queue)
	changes, events := make([]unix.Kevent_t, 1), make([]unix.Kevent_t, 1)
	unix.SetKevent(&changes[0], pid, unix.EVFILT_PROC, unix.EV_ADD|unix.EV_ONESHOT)
	changes[0].Fflags = unix.NOTE_EXIT
	for {
		_, err := unix.Kevent(queue, changes, events, nil) // ESRCH: it has ended before
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}
