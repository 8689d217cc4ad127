package approvals

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"countersign/agent"
	"countersign/internal/fault"
)

var (
	errDraining  = errors.New("the worker is stopping")
	errLeaseLost = errors.New("the lease could not be renewed")
)

// claims are the claims of a worker that are under way, by owner.
type claims struct {
	mu    sync.Mutex
	owner map[string]bool
}

func (c *claims) add(owner string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.owner == nil {
		c.owner = make(map[string]bool)
	}
	c.owner[owner] = true
}

func (c *claims) remove(owner string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.owner, owner)
}

func (c *claims) has(owner string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.owner[owner]
}

// hold keeps the lease until release is called. The returned context is the run's: it outlives ctx by the time that
// running tools have to finish, and ends when the lease is lost. The lease counts from before the transaction that took
// it, by this process's own monotonic time, so that it never outlasts what others see.
func (x *execution) hold(ctx context.Context) (run context.Context, release func()) {
	run, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	keep, stop := context.WithCancel(run)
	drained, end := context.WithCancel(context.WithoutCancel(ctx))
	unhook := context.AfterFunc(ctx, func() { time.AfterFunc(x.drain, end) })
	x.drained = drained.Done()
	x.until.set(x.held.Add(x.lease)) // before anything asks whether it has lapsed
	done := make(chan struct{})
	go func() {
		defer close(done)
		x.keep(keep, ctx.Done(), cancel)
	}()
	return run, func() {
		stop()
		<-done
		cancel(nil)
		unhook()
		end()
	}
}

// rest waits, and reports false when the worker has been told to stop and the time to drain is over.
func (x *execution) rest(pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-x.drained:
		return false
	}
}

// keep renews the lease until ctx ends, and cancels the run when it is lost or when the time to drain is over. Where
// this process alone works on the store nobody else can take the run, and a lease is not lost because it could not be
// written.
func (x *execution) keep(ctx context.Context, stopping <-chan struct{}, cancel context.CancelCauseFunc) {
	ticker := time.NewTicker(x.renew)
	defer ticker.Stop()
	var drained <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-stopping:
			fault.Point("shutdown.drain")
			stopping, drained = nil, time.After(x.drain)
		case <-drained:
			cancel(errDraining)
			return
		case <-ticker.C:
			if err := x.prolong(ctx, &x.until, x.extend, slog.String("run", string(x.run.ID))); err != nil {
				cancel(err)
				return
			}
		}
	}
}

// prolong renews a lease once, by extend. It returns why the lease is lost; nil while it holds, also where extend
// has failed.
func (w *Worker) prolong(
	ctx context.Context, until *lapse, extend func(context.Context) error, whose slog.Attr,
) error {
	began := time.Now()
	bounded, cancel := context.WithTimeout(ctx, w.renew)
	defer cancel()
	err := extend(bounded)
	switch {
	case err == nil:
		until.set(began.Add(w.lease))
		return nil
	case errors.Is(err, ErrFenced):
		return ErrFenced
	case w.lapsed(until):
		return errLeaseLost
	case ctx.Err() == nil:
		w.log.WarnContext(ctx, "lease not renewed", whose, "error", err)
	}
	return nil
}

// lapse is when a lease ends, by this process's own monotonic time; zero: it is not held yet.
type lapse struct {
	mu sync.Mutex
	at time.Time
}

func (l *lapse) set(at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.at = at
}

func (l *lapse) passed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.at.IsZero() && time.Now().After(l.at)
}

// lapsed reports whether another process may have taken what the lease is for. A process that was frozen and goes on
// finds out here before anything it waits for tells it.
func (w *Worker) lapsed(until *lapse) bool { return until.passed() && !exclusive(w.store) }

// extend renews the lease once, and has the cards of calls that have been running since the last time say so.
func (x *execution) extend(ctx context.Context) error {
	return x.write(ctx, func(c *txn, r *Run) error {
		r.LeaseUntil = c.Now().Add(x.lease)
		c.changed(r)
		return x.showRunning(c)
	})
}

// showRunning has the cards of calls that run for longer than a renewal brought up to date, once for each.
func (x *execution) showRunning(c *txn) error {
	all, err := c.requestsOf(x.run.ID)
	if err != nil {
		return err
	}
	for _, r := range all {
		since := c.Now().Sub(r.OutcomeAt)
		if r.Outcome == OutcomeRunning && since >= 0 && since < x.renew {
			c.show(r)
		}
	}
	return nil
}

// modelFunc is a function that is a model.
type modelFunc func(context.Context, *agent.ModelRequest) (*agent.ModelResponse, error)

// Respond calls f.
func (f modelFunc) Respond(ctx context.Context, req *agent.ModelRequest) (*agent.ModelResponse, error) {
	return f(ctx, req)
}

// interruptible returns m, except that it stops at once when stopping ends: nothing is lost by asking a model again,
// so a worker that stops waits for tools only.
func interruptible(stopping context.Context, m agent.Model) agent.Model {
	ask := func(
		ctx context.Context, respond func(context.Context) (*agent.ModelResponse, error),
	) (*agent.ModelResponse, error) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		defer context.AfterFunc(stopping, func() { cancel(errDraining) })()
		if stopping.Err() != nil {
			return nil, errDraining
		}
		if err := fault.Error("model.before"); err != nil {
			return nil, err
		}
		resp, err := respond(ctx)
		fault.Point("model.after")
		if err != nil && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return resp, err
	}
	whole := modelFunc(func(ctx context.Context, req *agent.ModelRequest) (*agent.ModelResponse, error) {
		return ask(ctx, func(ctx context.Context) (*agent.ModelResponse, error) { return m.Respond(ctx, req) })
	})
	s, ok := m.(agent.StreamModel)
	if !ok {
		return whole
	}
	return streamFunc{whole, func(
		ctx context.Context, req *agent.ModelRequest, emit func(agent.ModelDelta) bool,
	) (*agent.ModelResponse, error) {
		return ask(ctx, func(ctx context.Context) (*agent.ModelResponse, error) {
			return s.RespondStream(ctx, req, emit)
		})
	}}
}
