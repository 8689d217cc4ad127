//go:build linux || darwin || freebsd || netbsd || openbsd

// Package procgroup starts a process in a group of its own and ends it together with what it started.
package procgroup

import (
	"os/exec"
	"sync"
	"syscall"
)

// Supported is false where a process and all that it started cannot be ended together.
const Supported = true

// Group is a process and all that it started, as far as they stayed in its process group. The group has the number of
// its first process, which is not given to another as long as that process has not been waited for: so the group is
// only ever signalled before.
type Group struct {
	cmd *exec.Cmd

	mu     sync.Mutex
	waited bool
}

// Start starts the command as the first process of a new group. The caller calls Wait.
func Start(cmd *exec.Cmd) (*Group, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &Group{cmd: cmd}, nil
}

// Wait waits for the first process, kills what is left of the group, and returns what [exec.Cmd.Wait] says.
func (g *Group) Wait() error {
	awaitExit(g.cmd.Process.Pid)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.signal(syscall.SIGKILL)
	g.waited = true
	return g.cmd.Wait()
}

// Terminate asks the group to end, and reports whether the first process may have been alive.
func (g *Group) Terminate() bool { return g.send(syscall.SIGTERM) }

// Kill ends the group, and reports whether the first process may have been alive.
func (g *Group) Kill() bool { return g.send(syscall.SIGKILL) }

func (g *Group) send(sig syscall.Signal) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.waited {
		return false
	}
	g.signal(sig)
	return true
}

func (g *Group) signal(sig syscall.Signal) { _ = syscall.Kill(-g.cmd.Process.Pid, sig) } // an empty group is what we want
