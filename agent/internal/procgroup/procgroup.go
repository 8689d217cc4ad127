//go:build linux || darwin || freebsd || netbsd || openbsd

// Package procgroup starts a process in a group of its own and ends it together with what it started.
package procgroup

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
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

// busyPatience bounds how long Start waits for a program that somebody has open for writing.
const busyPatience = time.Second

// Start starts the command, which must not be used by itself, as the first process of a new group. The caller calls
// Wait. The command gets no right to look into other processes that its user does not give it: see launch.
//
// A program that was just written may be busy for a moment (ETXTBSY) although its writer has closed it: a process that
// was forked meanwhile, and has not become another program yet, has it open too. So it is tried again.
func Start(ctx context.Context, cmd *exec.Cmd) (*Group, error) {
	wait, waited := time.Millisecond, time.Duration(0)
	return start(cmd, func() bool {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return false
		}
		waited += wait
		wait *= 2
		return waited < busyPatience
	})
}

// start tries as long as the program is busy and again says so.
func start(cmd *exec.Cmd, again func() bool) (*Group, error) {
	for {
		attempt := *cmd // a Cmd is started once, also in vain
		attempt.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		err := launch(&attempt)
		if err == nil {
			return &Group{cmd: &attempt}, nil
		}
		if !errors.Is(err, syscall.ETXTBSY) || !again() {
			return nil, err
		}
	}
}

// State says how the first process ended, once Wait has returned.
func (g *Group) State() *os.ProcessState { return g.cmd.ProcessState }

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

// signal leaves errors aside: an empty group is what we want.
func (g *Group) signal(sig syscall.Signal) { _ = syscall.Kill(-g.cmd.Process.Pid, sig) }
