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

// A job that fails is repeated after minPause, twice that, and so on up to maxPause, each shortened by up to a fifth.
const (
	minPause = 200 * time.Millisecond
	maxPause = time.Minute
)

func pause(attempts int) time.Duration {
	p := maxPause
	if attempts < 16 {
		p = min(minPause<<attempts, maxPause)
	}
	return p - rand.N(p/5)
}

// Jobs that ended well are removed together with whatever is committed next, but no later than after flushDelay, or
// as soon as there are flushCount of them.
const (
	flushDelay = 25 * time.Millisecond
	flushCount = 64
)

// Dispatch hands due jobs to handle; every kind of job has Config.Workers handlers of its own. It learns of jobs from the
// commits that enqueue them and looks at the file only when something is due. A handler that panics counts as failed.
// When ctx has ended, what a handler returns with an error is repeated later as if it had not been started. Dispatch
// returns an error when the store is closed or has failed, and when it runs already.
func (s *Store) Dispatch(ctx context.Context, handle func(context.Context, approvals.Job) error) error {
	if err := s.startDispatch(); err != nil {
		return fmt.Errorf("dispatch jobs: %w", err)
	}
	defer s.endDispatch()
	ctx, cancel := context.WithCancel(ctx)
	d := &dispatcher{
		store:    s,
		handle:   handle,
		ledger:   s.ledger,
		busy:     make(map[string]bool),
		lines:    make(map[approvals.JobKind]*line),
		running:  make(map[approvals.JobKind]int),
		finished: make(chan dueJob),
		flushed:  make(chan error),
	}
	defer d.flush(context.WithoutCancel(ctx)) // the handlers have ended: this is the last thing to do
	defer d.drain()
	defer cancel()
	s.ready.listen(true)
	defer s.ready.listen(false)
	if err := d.findReady(ctx); err != nil && ctx.Err() == nil {
		return fmt.Errorf("dispatch jobs: %w", err)
	}
	return d.run(ctx)
}

func (s *Store) startDispatch() error {
	if s.cfg.ReadOnly {
		return ErrReadOnly
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return approvals.ErrClosed
	case s.dispatching:
		return errors.New("jobs are being dispatched already")
	}
	s.dispatching = true
	return nil
}

func (s *Store) endDispatch() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dispatching = false
}

// dispatcher is the state of one Dispatch. Only the goroutine of Dispatch touches it, except for the ledger.
type dispatcher struct {
	store    *Store
	handle   func(context.Context, approvals.Job) error
	ledger   *ledger
	busy     map[string]bool // keys of jobs that are being handled
	lines    map[approvals.JobKind]*line
	running  map[approvals.JobKind]int // how many of busy
	finished chan dueJob

	flushing bool
	flushed  chan error
	flushAt  time.Time // when to flush; zero for when there is something
	flushOff bool      // it was put off: not before flushAt, however much there is
}

// dueJob is a job whose time has come, at the generation it was seen.
type dueJob struct {
	key string
	approvals.Job
	gen uint64
}

func (d *dispatcher) run(ctx context.Context) error {
	for {
		next, err := d.start(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return fmt.Errorf("dispatch jobs: %w", err)
		}
		if at := d.planFlush(ctx); !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
		if d.wait(ctx, next); ctx.Err() != nil {
			return nil
		}
	}
}

// wait returns when there may be something to do; next is when at the latest, zero for never.
func (d *dispatcher) wait(ctx context.Context, next time.Time) {
	var alarm <-chan time.Time
	if !next.IsZero() {
		timer := time.NewTimer(time.Until(next))
		defer timer.Stop()
		alarm = timer.C
	}
	select {
	case <-ctx.Done():
	case <-alarm:
	case <-d.store.wake:
	case j := <-d.finished:
		d.end(j)
	case err := <-d.flushed:
		d.flushEnded(err)
	}
}

// planFlush starts to write the ledger when it is time, and returns when it will be.
func (d *dispatcher) planFlush(ctx context.Context) time.Time {
	n := d.ledger.len()
	switch {
	case d.flushing:
		return time.Time{}
	case n == 0:
		d.flushAt, d.flushOff = time.Time{}, false
		return time.Time{}
	case d.flushAt.IsZero():
		d.flushAt = time.Now().Add(flushDelay)
	}
	if (n < flushCount || d.flushOff) && time.Now().Before(d.flushAt) {
		return d.flushAt
	}
	d.flushing, d.flushAt, d.flushOff = true, time.Time{}, false
	go func() { d.flushed <- d.flush(context.WithoutCancel(ctx)) }()
	return time.Time{}
}

// flushEnded puts the next flush off when one has failed, for want of space for instance; the next commit may still do it.
func (d *dispatcher) flushEnded(err error) {
	d.flushing = false
	if err != nil {
		d.flushAt, d.flushOff = time.Now().Add(maxPause), true
	}
}

// flush commits what the ledger holds: an empty write, on which the ledger rides.
func (d *dispatcher) flush(ctx context.Context) error {
	if d.ledger.len() == 0 {
		return nil
	}
	return d.store.update(ctx, func(t *tx) error {
		t.dirty = true
		return nil
	})
}

// end notes that a handler has ended. What came meanwhile, or was not answered, may be ready now.
func (d *dispatcher) end(j dueJob) {
	delete(d.busy, j.key)
	d.running[j.Kind]--
	d.line(j.Kind).add(j.key)
}

func (d *dispatcher) line(kind approvals.JobKind) *line {
	l := d.lines[kind]
	if l == nil {
		l = &line{in: make(map[string]bool)}
		d.lines[kind] = l
	}
	return l
}

// findReady puts into the lines what the file has that was due when it was written.
func (d *dispatcher) findReady(ctx context.Context) error {
	return d.store.view(ctx, func(t *tx) (err error) {
		defer t.end(t.begin(), &err)
		return t.scan(bucketWork, nil, nil, func(k, _ []byte) (bool, error) {
			if kind, ok := jobOf(k); ok {
				d.line(kind).add(string(k))
			}
			return true, ctx.Err()
		})
	})
}

// drain waits for everything that was started.
func (d *dispatcher) drain() {
	for len(d.busy) > 0 || d.flushing {
		select {
		case j := <-d.finished:
			d.end(j)
		case <-d.flushed:
			d.flushing = false
		}
	}
}

// start starts handlers for what is due, as far as there is room, and returns when the next job will be due.
func (d *dispatcher) start(ctx context.Context) (next time.Time, err error) {
	for _, j := range d.store.ready.take() {
		d.line(j.kind).add(j.key)
	}
	var ready []dueJob
	answered := d.ledger.snapshot() // before the file's: what a commit takes off the ledger is off the file then, too
	err = d.store.view(ctx, func(t *tx) (err error) {
		p := pass{d: d, t: t, answered: answered, now: time.Now(), took: make(map[approvals.JobKind]int)}
		ready, next, err = p.run()
		return err
	})
	if err != nil {
		return next, err
	}
	for _, j := range ready {
		d.busy[j.key] = true
		d.running[j.Kind]++
		go d.work(ctx, j)
	}
	return next, nil
}

// work handles one job and notes how that ended.
func (d *dispatcher) work(ctx context.Context, j dueJob) {
	defer func() { d.finished <- j }()
	err := d.call(ctx, j.Job)
	switch {
	case err == nil:
		d.ledger.add(j.key, j.gen)
		return
	case ctx.Err() != nil:
		return
	}
	d.ledger.drop(j.key)
	d.store.cfg.Logger.Debug("job failed", "kind", j.Kind, "id", j.ID, "attempts", j.Attempts+1, "error", err)
	uerr := d.store.update(ctx, func(t *tx) error { return t.retryJob([]byte(j.key), j.gen, err, time.Now()) })
	if uerr == nil {
		return
	}
	d.store.cfg.Logger.Error("failure of a job not recorded", "kind", j.Kind, "id", j.ID, "error", uerr)
	timer := time.NewTimer(pause(j.Attempts)) // it still looks due: hold it back
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

var errPanicked = errors.New("handler panicked")

// call runs the handler. What it panics with is not logged: it may hold anything.
func (d *dispatcher) call(ctx context.Context, j approvals.Job) (err error) {
	defer func() {
		if r := recover(); r != nil {
			d.store.cfg.Logger.Error("job handler panicked", "kind", j.Kind, "id", j.ID,
				"type", fmt.Sprintf("%T", r), slog.String("stack", string(debug.Stack())))
			err = errPanicked
		}
	}()
	return d.handle(ctx, j)
}
