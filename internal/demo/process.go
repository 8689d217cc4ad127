package demo

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

// process is one start of the bot.
type process struct {
	cmd    *exec.Cmd
	exited chan struct{}
	err    error // of Wait, once exited is closed
}

// stopTimeout is how long the bot may drain before it is killed.
const stopTimeout = 8 * time.Second

// start starts the program with the arguments; its output is appended to the log.
func (s *Stage) start(args ...string) (*process, error) {
	log, err := os.OpenFile(s.logPath(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("log of the bot: %w", err)
	}
	defer log.Close()
	p := &process{cmd: exec.Command(s.cfg.Executable, args...), exited: make(chan struct{})}
	p.cmd.Env, p.cmd.Dir = s.environ(), s.dir
	p.cmd.Stdout, p.cmd.Stderr = log, log
	tether(p.cmd)
	started := make(chan error)
	go func() {
		// The child dies with the thread that made it, so that thread waits for it.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			p.err = p.cmd.Wait()
			close(p.exited)
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start the bot: %w", err)
	}
	return p, nil
}

// kill ends the process the way a power cut would.
func (p *process) kill() {
	p.cmd.Process.Kill() // an error means that it has ended already
	<-p.exited
}

// stop asks the process to end and waits for it. The error says how it ended when that was not in order.
func (p *process) stop() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop the bot: %w", err)
	}
	select {
	case <-p.exited:
		return p.err
	case <-time.After(stopTimeout):
		p.kill()
		return fmt.Errorf("the bot did not stop within %s", stopTimeout)
	}
}

// command runs a command of the program to its end and returns what it printed.
func (s *Stage) command(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, s.cfg.Executable, args...)
	cmd.Env, cmd.Dir = s.environ(), s.dir
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	if err := cmd.Run(); err != nil {
		said := strings.TrimSpace(out.String() + complaint.String())
		return out.String(), fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, said)
	}
	return out.String(), nil
}

func (s *Stage) logPath() string { return filepath.Join(s.dir, "bot.log") }

// logTail returns the end of the bot's log.
func (s *Stage) logTail() string {
	data, err := os.ReadFile(s.logPath())
	if err != nil {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	return strings.Join(lines[max(0, len(lines)-20):], "\n")
}
