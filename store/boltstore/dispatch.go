package boltstore

import (
	"bytes"
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
		running:  make(map[approvals.JobKind]int),
		finished: make(chan dueJob),
		flushed:  make(chan error),
	}
	defer d.flush(context.WithoutCancel(ctx)) // the handlers have ended: this is the last thing to do
	defer d.drain()
	defer cancel()
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
	busy     map[string]bool           // keys of jobs that are being handled
	running  map[approvals.JobKind]int // how many of busy
	finished chan dueJob
	flushing bool
	flushed  chan error
}

// dueJob is a job whose time has come, at the generation it was seen.
type dueJob struct {
	key string
	approvals.Job
	gen uint64
}

func (d *dispatcher) run(ctx context.Context) error {
	var flushAt time.Time
	for {
		next, err := d.start(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return fmt.Errorf("dispatch jobs: %w", err)
		}
		flushAt = d.planFlush(ctx, flushAt)
		if !flushAt.IsZero() && (next.IsZero() || flushAt.Before(next)) {
			next = flushAt
		}
		if err := d.wait(ctx, next); err != nil {
			flushAt = time.Now().Add(maxPause) // no space, for instance; the next commit may still do it
		}
		if ctx.Err() != nil {
			return nil
		}
	}
}

// wait returns when there may be something to do; next is when at the latest, zero for never.
func (d *dispatcher) wait(ctx context.Context, next time.Time) error {
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
		d.flushing = false
		return err
	}
	return nil
}

// planFlush starts to write the ledger when it is time, and returns when it will be.
func (d *dispatcher) planFlush(ctx context.Context, at time.Time) time.Time {
	n := d.ledger.len()
	switch {
	case n == 0 || d.flushing:
		return time.Time{}
	case at.IsZero():
		at = time.Now().Add(flushDelay)
	}
	if n < flushCount && time.Now().Before(at) {
		return at
	}
	d.flushing = true
	go func() { d.flushed <- d.flush(context.WithoutCancel(ctx)) }()
	return time.Time{}
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

func (d *dispatcher) end(j dueJob) {
	delete(d.busy, j.key)
	d.running[j.Kind]--
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
	var ready []dueJob
	answered := d.ledger.snapshot() // before the file's: what a commit takes off the ledger is off the file then, too
	err = d.store.view(ctx, func(t *tx) (err error) {
		q := queue{d: d, t: t, answered: answered, now: time.Now()}
		ready, next, err = q.read()
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

// queue reads the index of due jobs.
type queue struct {
	d        *dispatcher
	t        *tx
	answered map[string]uint64 // the ledger
	now      time.Time
	ready    []dueJob
	next     time.Time
}

// read returns the jobs to start now and when the next one will be due.
func (q *queue) read() (ready []dueJob, next time.Time, err error) {
	defer q.t.end(q.t.begin(), &err)
	for kind, ok := q.kind(nil); ok; kind, ok = q.kind(append(key(kind), 0xff)) {
		if err := q.collect(approvals.JobKind(kind)); err != nil {
			return nil, time.Time{}, err
		}
	}
	return q.ready, q.next, nil
}

// kind returns the first kind of job at or behind the key.
func (q *queue) kind(from []byte) (string, bool) {
	k, _ := q.t.btx.Bucket(bucketJobsDue).Cursor().Seek(from)
	kind, _, ok := cutPart(k)
	return kind, ok
}

// collect takes the due jobs of one kind, as many as there are handlers free.
func (q *queue) collect(kind approvals.JobKind) error {
	free := q.d.store.cfg.Workers - q.d.running[kind]
	prefix := key(string(kind))
	latest := appendNumber(nil, instant(q.now))
	return q.t.scan(bucketJobsDue, prefix, nil, func(k, _ []byte) (bool, error) {
		if free == 0 {
			return false, nil // a handler that ends looks again
		}
		at, rest := k[len(prefix):len(prefix)+8], k[len(prefix)+8:]
		if bytes.Compare(at, latest) > 0 {
			q.later(dueTime(at))
			return false, nil
		}
		ws, rest, _ := cutPart(rest)
		took, err := q.take(key(ws, string(kind), lastPart(rest)))
		if took {
			free--
		}
		return true, err
	})
}

// later notes that a job will be due then.
func (q *queue) later(due time.Time) {
	if q.next.IsZero() || due.Before(q.next) {
		q.next = due
	}
}

// take adds the job to those that are ready, unless it is being handled or what the index says of it is about to be
// overtaken by the ledger.
func (q *queue) take(k []byte) (bool, error) {
	if q.d.busy[string(k)] {
		return false, nil
	}
	rec := new(jobRecord)
	if err := q.t.indexed(bucketJobs, k, rec); err != nil {
		return false, err
	}
	if gen, ok := q.answered[string(k)]; ok {
		if !rec.answer(gen) {
			return false, nil
		}
		if rec.Due.After(q.now) {
			q.later(rec.Due)
			return false, nil
		}
	}
	q.ready = append(q.ready, dueJob{key: string(k), Job: rec.Job, gen: rec.Gen})
	return true, nil
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
