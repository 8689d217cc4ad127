//go:build !(linux || darwin || freebsd || netbsd || openbsd)

// Package procgroup starts a process in a group of its own and ends it together with what it started.
package procgroup

import (
	"context"
	"os"
	"os/exec"
)

// Supported is false where a process and all that it started cannot be ended together.
const Supported = false

// Group is a process.
type Group struct{ cmd *exec.Cmd }

// Start starts the command. The caller calls Wait.
func Start(_ context.Context, cmd *exec.Cmd) (*Group, error) {
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &Group{cmd: cmd}, nil
}

// State says how the process ended, once Wait has returned.
func (g *Group) State() *os.ProcessState { return g.cmd.ProcessState }

// Wait waits for the process.
func (g *Group) Wait() error { return g.cmd.Wait() }

// Terminate ends the process, and reports whether it may have been alive.
func (g *Group) Terminate() bool { return g.Kill() }

// Kill ends the process, and reports whether it may have been alive.
func (g *Group) Kill() bool { return g.cmd.Process.Kill() == nil }
