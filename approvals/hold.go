package approvals

import (
	"context"
	"errors"
	"time"

	"countersign/agent"
	"countersign/internal/fault"
)

var (
	errDraining  = errors.New("the worker is stopping")
	errLeaseLost = errors.New("the lease could not be renewed")
)

// hold keeps the lease until release is called. The returned context is the run's: it outlives ctx by the time that
// running tools have to finish, and ends when the lease is lost.
func (x *execution) hold(ctx context.Context) (run context.Context, release func()) {
	run, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	keep, stop := context.WithCancel(run)
	done := make(chan struct{})
	go func() {
		defer close(done)
		x.keep(keep, ctx.Done(), cancel)
	}()
	return run, func() {
		stop()
		<-done
		cancel(nil)
	}
}

// keep renews the lease until ctx ends, and cancels the run when it cannot or when the time to drain is over.
func (x *execution) keep(ctx context.Context, stopping <-chan struct{}, cancel context.CancelCauseFunc) {
	ticker := time.NewTicker(x.renew)
	defer ticker.Stop()
	until := x.run.LeaseUntil
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
			next, err := x.extend(ctx)
			switch {
			case err == nil:
				until = next
			case errors.Is(err, ErrFenced):
				cancel(ErrFenced)
				return
			case !clock().Before(until):
				cancel(errLeaseLost)
				return
			default:
				x.log.WarnContext(ctx, "lease not renewed", "run", x.run.ID, "error", err)
			}
		}
	}
}

// extend renews the lease once.
func (x *execution) extend(ctx context.Context) (until time.Time, err error) {
	ctx, cancel := context.WithTimeout(ctx, x.renew)
	defer cancel()
	err = x.write(ctx, func(c *change, r *Run) error {
		until = clock().Add(x.lease)
		r.LeaseUntil = until
		return c.putRun(r)
	})
	return until, err
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
	return modelFunc(func(ctx context.Context, req *agent.ModelRequest) (*agent.ModelResponse, error) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		defer context.AfterFunc(stopping, func() { cancel(errDraining) })()
		if stopping.Err() != nil {
			return nil, errDraining
		}
		fault.Point("model.before")
		resp, err := m.Respond(ctx, req)
		fault.Point("model.after")
		if err != nil && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return resp, err
	})
}
