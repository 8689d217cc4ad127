package mcptoolset

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"sync"
	"time"

	"countersign/agent/internal/procgroup"
)

// inherited are the environment variables that a server gets from this process. The tokens that this process has are
// not among them.
var inherited = []string{"HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TMPDIR", "TZ", "USER"}

const (
	// exitGrace is how long a server may take to end by itself after its input was closed, and again after SIGTERM.
	exitGrace = 2 * time.Second
	// writeTimeout is how long a server may leave its input unread while something is being written.
	writeTimeout = 5 * time.Second
	// maxStderr is how much is kept of the end of what a server writes to its standard error.
	maxStderr = 4 << 10
)

// process is a server that was started here.
type process struct {
	group         *procgroup.Group
	stdin, stdout *os.File
	stderr        *tail
	exited        chan struct{} // closed when it has ended, and its group with it
	status        error         // how, once exited is closed
}

// start starts the server. The caller calls wait, in a goroutine, and stop.
func (d *declared) start(ctx context.Context) (*process, error) {
	cmd := exec.Command(d.Command[0], d.Command[1:]...)
	cmd.Dir = d.Dir
	cmd.Env = d.environment()
	cmd.WaitDelay = time.Second // for what it started and left with its standard error
	p := &process{stderr: &tail{}, exited: make(chan struct{})}
	cmd.Stderr = p.stderr
	theirIn, ourIn, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	ourOut, theirOut, err := os.Pipe()
	if err != nil {
		closeAll(theirIn, ourIn)
		return nil, err
	}
	cmd.Stdin, cmd.Stdout = theirIn, theirOut
	p.stdin, p.stdout = ourIn, ourOut
	p.group, err = procgroup.Start(ctx, cmd)
	closeAll(theirIn, theirOut)
	if err != nil {
		closeAll(ourIn, ourOut)
		return nil, err
	}
	return p, nil
}

func closeAll(files ...*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}

func (d *declared) environment() []string {
	var env []string
	for _, name := range inherited {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.Env)) {
		env = append(env, name+"="+d.Env[name]) // the last one counts
	}
	return env
}

// wait returns when the process has ended. What it started and left behind is killed; nothing more is read after a
// moment, even if somebody who left the group holds on to its output.
func (p *process) wait() {
	p.status = p.group.Wait()
	close(p.exited)
	_ = p.stdout.SetReadDeadline(time.Now().Add(time.Second))
}

// stop ends the process and its group: by closing its input, by SIGTERM, by SIGKILL.
func (p *process) stop() {
	_ = p.stdin.Close()
	for _, next := range []func() bool{p.group.Terminate, p.group.Kill} {
		select {
		case <-p.exited:
		case <-time.After(exitGrace):
			next()
		}
	}
	<-p.exited
	_ = p.stdout.Close()
}

// lastWords is the last line that the server wrote to its standard error.
func (p *process) lastWords() string {
	lines := bytes.Split(bytes.TrimSpace(p.stderr.bytes()), []byte("\n"))
	return string(lines[len(lines)-1])
}

// problem says how the process ended, or "" as long as it runs.
func (p *process) problem() string {
	select {
	case <-p.exited:
	default:
		return ""
	}
	text := "the program ended"
	if p.status != nil {
		text += " with " + p.status.Error()
	}
	if words := p.lastWords(); words != "" {
		text += "; its last words: " + words
	}
	return text
}

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	kept []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p...)
	if over := len(t.kept) - maxStderr; over > 0 {
		t.kept = append(t.kept[:0], t.kept[over:]...)
	}
	return len(p), nil
}

func (t *tail) bytes() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return bytes.Clone(t.kept)
}

// stdinWriter writes to a server and does not wait for ever for one that reads nothing.
type stdinWriter struct{ *process }

// partialWriteError says that a message was not written to its end: the stream is of no use any more.
type partialWriteError struct {
	written int
	err     error
}

func (e *partialWriteError) Error() string {
	return fmt.Sprintf("%d bytes of a message written: %v", e.written, e.err)
}
func (e *partialWriteError) Unwrap() error { return e.err }

func (w stdinWriter) Write(data []byte) (int, error) {
	_ = w.stdin.SetWriteDeadline(time.Now().Add(writeTimeout))
	n, err := w.stdin.Write(data)
	if err == nil {
		return n, nil
	}
	w.group.Kill()
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = fmt.Errorf("the server did not read its input for %s", writeTimeout)
	}
	return n, &partialWriteError{n, err}
}

func (w stdinWriter) Close() error { return w.stdin.Close() }
