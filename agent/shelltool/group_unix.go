//go:build linux || darwin || freebsd || netbsd || openbsd

package shelltool

import (
	"os"
	"os/exec"
	"sync"
	"syscall"
)

const supported = true

func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// group is a process and all that it started, as far as they stayed in its process group. The group has the number of
// its first process, which is not given to another as long as that process has not been waited for: so the group is
// only ever signalled before.
type group struct {
	cmd *exec.Cmd

	mu     sync.Mutex
	waited bool
}

// wait waits for the first process, kills what is left of the group and takes the process off the system's table.
func (g *group) wait() {
	awaitExit(g.cmd.Process.Pid)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.signal()
	_ = g.cmd.Wait() // how it ended is in ProcessState
	g.waited = true
}

// kill kills the group, and reports whether the first process may have been alive.
func (g *group) kill() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.waited {
		return false
	}
	g.signal()
	return true
}

func (g *group) signal() { _ = syscall.Kill(-g.cmd.Process.Pid, syscall.SIGKILL) } // an empty group is what we want

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
