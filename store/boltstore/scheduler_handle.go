package boltstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime/debug"
	"sync"
	"time"
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

// handlers are the goroutines that handle jobs. A goroutine that has handled one waits for the next: a new one begins
// with a small stack, and growing that took a twentieth of the processor time of a run. All end in drain.
type handlers struct {
	next    chan claimedJob // to one that waits; closed when there are no more
	idle    chan struct{}   // one element for each that waits, or is about to
	running sync.WaitGroup
}

func newHandlers() handlers {
	return handlers{next: make(chan claimedJob), idle: make(chan struct{}, mostIdle)}
}

// handOver has a goroutine handle the job, a new one if none waits.
func (d *scheduler) handOver(ctx context.Context, j claimedJob) {
	select {
	case d.next <- j:
	default:
		d.running.Go(func() { d.workOn(ctx, j) })
	}
}

// workOn handles the job and those that follow, until there are no more or enough others wait.
func (d *scheduler) workOn(ctx context.Context, j claimedJob) {
	for {
		d.work(ctx, j)
		select {
		case d.idle <- struct{}{}:
		default:
			return
		}
		next, more := <-d.next
		if !more {
			return
		}
		<-d.idle
		j = next
	}
}

// work handles one job and records how that ended: success as an acknowledgement, which a later commit writes;
// failure at once.
func (d *scheduler) work(ctx context.Context, j claimedJob) {
	defer func() { d.ended <- j }()
	acks, log := d.store.acks, d.store.cfg.Logger
	err := d.call(ctx, j)
	switch {
	case err == nil:
		acks.add(j.key, j.Generation)
		j.done = true
		return
	case ctx.Err() != nil:
		return
	}
	acks.drop(j.key)
	log.Debug("job failed", "kind", j.Kind, "id", j.ID, "attempts", j.Attempts+1, "error", err)
	uerr := d.store.update(ctx, func(t *tx) error { return t.retryJob([]byte(j.key), j.Generation, err) })
	if uerr == nil || ctx.Err() != nil { // a stop: the file says of the job what it said before
		return
	}
	log.Error("failure of a job not recorded", "kind", j.Kind, "id", j.ID, "error", uerr)
	timer := time.NewTimer(backOff(j.Attempts)) // the file still says that it is due: it keeps its slot for as long
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

var errPanicked = errors.New("handler panicked")

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
