package pgstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime/debug"
	"time"

	"countersign/approvals"
)

// A job that fails is repeated after minBackOff, twice that, and so on up to maxBackOff, each shortened by up to a
// fifth.
const (
	minBackOff = 200 * time.Millisecond
	maxBackOff = time.Minute
)

func backOff(attempts int) time.Duration {
	p := maxBackOff
	if attempts < 16 {
		p = min(minBackOff<<attempts, maxBackOff)
	}
	return p - rand.N(p/5).Truncate(time.Microsecond)
}

var (
	errPanicked  = errors.New("handler panicked")
	errGoexit    = errors.New("handler ended its goroutine")
	errClaimLost = errors.New("the claim of the job has lapsed: another replica may work on it")
)

// work has a goroutine handle the job. begun is when its claim was asked for.
func (d *scheduler) work(ctx context.Context, j claimedJob, begun time.Time) {
	ctx, cancel := context.WithCancelCause(approvals.WithoutHurry(ctx))
	if len(d.busy) == 0 {
		d.renew = begun.Add(d.set.claimLease() / 3)
	}
	h := &handling{claimedJob: j, cancel: cancel, until: begun.Add(d.set.claimLease())}
	d.busy[j.number] = h
	d.lapsesAt(h.until)
	d.pool.Go(func() {
		err := errGoexit // unless it returns
		defer func() { d.report(ctx, j, err) }()
		err = d.call(ctx, j)
	})
}

// report tells the scheduler how a handler ended.
func (d *scheduler) report(ctx context.Context, j claimedJob, err error) {
	e := ended(j, err, ctx.Err() != nil)
	if e.outcome == failed {
		d.log.Debug("job failed", "kind", j.Kind, "id", j.ID, "attempts", j.Attempts+1, "error", err)
	}
	d.handled <- e
}

// call runs the handler, or fails where it cannot be given the job. What it panics with is not logged: it may hold
// anything.
func (d *scheduler) call(ctx context.Context, j claimedJob) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	if j.bad != nil {
		d.log.Warn("job not handled", "attempts", j.Attempts+1, "error", j.bad)
		return j.bad
	}
	defer func() {
		if r := recover(); r != nil {
			d.log.Error("job handler panicked", "kind", j.Kind, "id", j.ID,
				"type", fmt.Sprintf("%T", r), slog.String("stack", string(debug.Stack())))
			err = errPanicked
		}
	}()
	return d.handle(ctx, j.Job)
}
