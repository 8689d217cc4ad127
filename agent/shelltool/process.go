package shelltool

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/exec"
	"sync"
	"time"

	"countersign/agent/internal/procgroup"
	"countersign/agent/internal/redact"
)

// process is one program to run.
type process struct {
	path  string
	exec  string   // another name of the same file, for the system call; empty: path
	fd    int      // the descriptor that exec goes by
	args  []string // with the name of the program as the first
	env   []string
	dir   string
	grace time.Duration

	hidden *redact.Output // what is taken out of what it prints
}

// result is what became of a process.
type result struct {
	stdout, stderr *capture

	notStarted error  // why it did not start
	code       int    // of a process that ended by itself
	signal     string // of one that was ended by a signal that was not ours
	timeout    bool   // it was stopped because the time was up
	held       bool   // its output was still open after everything was killed
	unknown    bool   // it was stopped because the caller wanted no more, or could not be stopped
}

// run runs the process to its end, or kills it and all of its group when bounded ends: because of the time, or because
// outer ended too. When run returns, nothing of the group is left that a signal could end.
func (p process) run(outer, bounded context.Context, limit int) result {
	res := result{stdout: newCapture(limit, p.hidden), stderr: newCapture(limit, p.hidden)}
	if bounded.Err() != nil {
		res.notStarted, res.timeout = errNoTime, true
		return res
	}
	pipes, err := newPipes()
	if err != nil {
		res.notStarted = err
		return res
	}
	defer pipes.close()
	group, err := p.start(bounded, pipes)
	if err != nil {
		res.notStarted = cause(err)
		return res
	}
	pipes.started()
	var readers sync.WaitGroup
	readers.Go(func() { pipes.out.readInto(res.stdout) })
	readers.Go(func() { pipes.err.readInto(res.stderr) })

	ended := make(chan struct{})
	go func() { // ends with the process
		_ = group.Wait() // how it ended is in ProcessState
		close(ended)
	}()
	killed := false
	select {
	case <-ended:
	case <-bounded.Done():
		killed = group.Kill()
		select {
		case <-ended:
		case <-time.After(p.grace):
			res.unknown = true
		}
	}
	pipes.deadline(time.Now().Add(p.grace))
	readers.Wait()
	res.held = pipes.out.held || pipes.err.held
	if !res.unknown {
		res.ending(group.State(), killed, outer.Err() != nil)
	}
	return res
}

// start starts the process, which writes to the pipes.
func (p process) start(ctx context.Context, pipes *pipes) (*procgroup.Group, error) {
	if p.exec != "" {
		if err := pipes.spare(p.fd); err != nil {
			return nil, err
		}
	}
	return procgroup.Start(ctx, &exec.Cmd{Path: cmp.Or(p.exec, p.path), Args: p.args, Env: p.env, Dir: p.dir,
		Stdout: pipes.out.w, Stderr: pipes.err.w})
}

var errNoTime = errors.New("the time for the call was used up before")

// pipe is a stream from a process. Only readInto writes held, and it is read when readInto has returned.
type pipe struct {
	r, w *os.File
	held bool
}

func (p *pipe) readInto(c *capture) {
	_, err := c.ReadFrom(p.r)
	p.held = errors.Is(err, os.ErrDeadlineExceeded)
}

type pipes struct{ out, err pipe }

func newPipes() (*pipes, error) {
	var p pipes
	var err error
	if p.out.r, p.out.w, err = os.Pipe(); err != nil {
		return nil, err
	}
	if p.err.r, p.err.w, err = os.Pipe(); err != nil {
		p.close()
		return nil, err
	}
	return &p, nil
}

// started gives up the ends that the process has now.
func (p *pipes) started() {
	p.out.w.Close()
	p.err.w.Close()
}

// deadline bounds how long the readers wait for somebody who keeps an end open.
func (p *pipes) deadline(t time.Time) {
	_ = p.out.r.SetReadDeadline(t) // pipes have deadlines on every Unix
	_ = p.err.r.SetReadDeadline(t)
}

func (p *pipes) close() {
	for _, f := range []*os.File{p.out.r, p.out.w, p.err.r, p.err.w} {
		f.Close() // nil and closed ones say so, which is no matter
	}
}
