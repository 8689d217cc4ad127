//go:build linux || darwin || freebsd || netbsd || openbsd

package shelltool

import (
	"os"
	"syscall"
)

// ending takes over how a process ended.
func (r *result) ending(state *os.ProcessState, killed, unwanted bool) {
	status, ok := state.Sys().(syscall.WaitStatus)
	switch {
	case ok && status.Signaled() && killed && status.Signal() == syscall.SIGKILL:
		r.timeout, r.unknown = !unwanted, unwanted
	case ok && status.Signaled():
		r.signal = status.Signal().String()
		r.code = 128 + int(status.Signal())
	default:
		r.code = state.ExitCode()
	}
}
