package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// results is where a command writes its results. It remembers that some were lost, whether or not the command looks:
// then it has not done what it was asked for.
type results struct {
	w io.Writer

	mu   sync.Mutex
	lost error  // the first error of writing
	tell func() // is called then; nil: nobody asks
}

func (r *results) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lost != nil {
		return 0, r.lost // nothing is written behind a gap
	}
	n, err := r.w.Write(p)
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	if r.lost = err; err != nil && r.tell != nil {
		r.tell()
	}
	return n, err
}

// untilLost returns a context that ends when what is written to p.Stdout is lost, for a command that would go on
// forever.
func (p *Program) untilLost(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	if r, ok := p.Stdout.(*results); ok {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.tell = cancel
	}
	return ctx, cancel
}

// outlivePipe has writing to a closed pipe return an error, where it would end the program without a word. Programs
// that are started from here do not inherit that.
func (p *Program) outlivePipe() {
	p.pipe = make(chan os.Signal, 1)
	signal.Notify(p.pipe, syscall.SIGPIPE)
}

// endWithPipe undoes outlivePipe: a bot ends when nobody reads its log any more.
func (p *Program) endWithPipe() { signal.Stop(p.pipe) }

// judge returns the error of a command that has ended with err, which is not done if its results were lost.
func (r *results) judge(err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lost == nil {
		return err
	}
	lost := fmt.Errorf("the results were lost on the way: %w; what the command has changed stays changed", r.lost)
	if err == nil || errors.Is(err, errSilent) || errors.Is(err, r.lost) || errors.Is(err, context.Canceled) {
		return lost
	}
	return errors.Join(err, lost)
}
