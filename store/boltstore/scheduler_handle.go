package boltstore

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

// mostIdle is how many goroutines wait for the next job.
const mostIdle = 32

// work handles one job and records how that ended, also of a handler that ends its goroutine.
func (d *scheduler) work(ctx context.Context, j claimedJob) {
	err := errGoexit // unless it returns
	defer func() {
		j.done = err == nil
		j.missed = d.record(ctx, j, err)
		d.ended <- j
	}()
	err = d.call(ctx, j)
}

// mostMissed bounds the pause after a failure that was not recorded: there may be room again.
const mostMissed = 5

// record records how a job ended: success as an acknowledgement, which a later commit writes; failure at once. It
// returns how many failures in a row the file does not know.
func (d *scheduler) record(ctx context.Context, j claimedJob, err error) int {
	acks, log := d.store.acks, d.store.cfg.Logger
	switch {
	case err == nil:
		acks.add(j.key, j.Generation)
		return 0
	case ctx.Err() != nil:
		return 0
	}
	acks.drop(j.key)
	log.Debug("job failed", "kind", j.Kind, "id", j.ID, "attempts", j.Attempts+1, "error", err)
	uerr := d.store.update(ctx, func(t *tx) error { return t.retryJob([]byte(j.key), j.Generation, err) })
	if uerr == nil || ctx.Err() != nil { // a stop: the file says of the job what it said before
		return 0
	}
	log.Error("failure of a job not recorded", "kind", j.Kind, "id", j.ID, "error", uerr)
	// The file still says that it is due: it keeps its slot for as long.
	timer := time.NewTimer(backOff(min(j.Attempts, mostMissed)))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	if asked, ok := errors.AsType[*approvals.RetryError](err); ok && asked.Uncounted {
		return j.missed
	}
	return j.missed + 1
}

var (
	errPanicked = errors.New("handler panicked")
	errGoexit   = errors.New("handler ended its goroutine")
)

// call runs the handler. What it panics with is not logged: it may hold anything.
func (d *scheduler) call(ctx context.Context, j claimedJob) (err error) {
	defer func() {
		if r := recover(); r != nil {
			d.store.cfg.Logger.Error("job handler panicked", "kind", j.Kind, "id", j.ID,
				"type", fmt.Sprintf("%T", r), slog.String("stack", string(debug.Stack())))
			err = errPanicked
		}
	}()
	return d.handle(ctx, j.Job)
}
