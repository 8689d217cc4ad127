// Package botprocess starts this program as a child process, with a folder and an environment of its own, and ends it:
// in order, or as a power cut would.
package botprocess

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// Program is the program as it is started.
type Program struct {
	Executable string
	Dir        string // where it works; its output goes to a file in it
	Environ    []string
}

// Process is one start of the program.
type Process struct {
	cmd    *exec.Cmd
	exited chan struct{}
	err    error // of Wait, once exited is closed
}

// stopTimeout is how long the program may drain before it is killed.
const stopTimeout = 8 * time.Second

// Start starts the program with the arguments; its output is appended to the log.
func (p *Program) Start(args ...string) (*Process, error) {
	log, err := os.OpenFile(p.LogPath(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("log of the bot: %w", err)
	}
	defer log.Close()
	c := &Process{cmd: exec.Command(p.Executable, args...), exited: make(chan struct{})}
	c.cmd.Env, c.cmd.Dir = p.Environ, p.Dir
	c.cmd.Stdout, c.cmd.Stderr = log, log
	tether(c.cmd)
	started := make(chan error)
	go func() {
		// The child dies with the thread that made it, so that thread waits for it.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := c.cmd.Start()
		started <- err
		if err == nil {
			c.err = c.cmd.Wait()
			close(c.exited)
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start the bot: %w", err)
	}
	return c, nil
}

// Pid is the number of the process.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Exited is closed when the process has ended.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Err says how the process ended when that was not in order; it may be called once Exited is closed.
func (p *Process) Err() error { return p.err }

// ExitedByItself reports whether the process ended without a signal; it may be called once Exited is closed.
func (p *Process) ExitedByItself() bool { return p.cmd.ProcessState.Exited() }

// Kill ends the process the way a power cut would.
func (p *Process) Kill() {
	p.cmd.Process.Kill() // an error means that it has ended already
	<-p.exited
}

// Stop asks the process to end and waits for it. The error says how it ended when that was not in order.
func (p *Process) Stop() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop the bot: %w", err)
	}
	select {
	case <-p.exited:
		return p.err
	case <-time.After(stopTimeout):
		p.Kill()
		return fmt.Errorf("the bot did not stop within %s", stopTimeout)
	}
}

// Run runs a command of the program to its end and returns what it printed. The error holds what it complained of.
func (p *Program) Run(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, p.Executable, args...)
	cmd.Env, cmd.Dir = p.Environ, p.Dir
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	if err := cmd.Run(); err != nil {
		said := strings.TrimSpace(out.String() + complaint.String())
		return out.String(), fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, said)
	}
	return out.String(), nil
}

// LogPath is where the output of started processes goes.
func (p *Program) LogPath() string { return filepath.Join(p.Dir, "bot.log") }

// LogTail returns the end of the log.
func (p *Program) LogTail() string {
	data, err := os.ReadFile(p.LogPath())
	if err != nil {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	return strings.Join(lines[max(0, len(lines)-20):], "\n")
}
