package app_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// output collects what a process prints while it is being read.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// process is one start of the program.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	out    output
	exited chan struct{}
	reach  chan string        // names of crash points reached
	before map[string]float64 // numbers that it must come back to; nil: nobody has looked
}

// spawn starts the program. Everything it prints is searched for secrets when the test ends.
func spawn(t *testing.T, path, dir string, env []string, args ...string) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.Command(path, args...), exited: make(chan struct{}), reach: make(chan string, 1)}
	p.cmd.Dir, p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = dir, env, &p.out, &p.out
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p.cmd.ExtraFiles = []*os.File{w}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	go func() {
		defer r.Close()
		if name, err := io.ReadAll(io.LimitReader(r, 1)); err == nil && len(name) > 0 {
			p.reach <- string(name)
		}
	}()
	go func() {
		p.cmd.Wait()
		close(p.exited)
	}()
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("output of process %d:\n%s", p.cmd.Process.Pid, p.out.String())
		}
	})
	return p
}

func (p *process) kill() {
	p.cmd.Process.Kill()
	<-p.exited
}

func (p *process) signal(s os.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.t.Fatal(err)
	}
}

// stop ends the process with SIGTERM and returns its exit code.
func (p *process) stop() int {
	p.t.Helper()
	p.signal(syscall.SIGTERM)
	return p.wait()
}

// wait returns the exit code, or fails the test when the process does not end in time.
func (p *process) wait() int {
	p.t.Helper()
	select {
	case <-p.exited:
	case <-time.After(patience):
		p.t.Fatalf("the process did not end within %s:\n%s", patience, p.out.String())
	}
	return p.cmd.ProcessState.ExitCode()
}

// says waits until the process has printed the text.
func (p *process) says(text string) {
	p.t.Helper()
	deadline, ended := time.After(patience), false
	for !strings.Contains(p.out.String(), text) {
		if ended {
			p.t.Fatalf("the process ended and did not say %q:\n%s", text, p.out.String())
		}
		select {
		case <-p.exited:
			ended = true // what it printed last is to be read yet
		case <-time.After(5 * time.Millisecond):
		case <-deadline:
			p.t.Fatalf("the process does not say %q:\n%s", text, p.out.String())
		}
	}
}
