package boltstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"countersign/approvals"
	"countersign/internal/gopool"
)

// Dispatch hands due jobs to handle; every group of every kind of jobs has Config.Workers slots of its own. It learns
// of jobs from the commits that enqueue them and reads the file only when something is due. A handler that panics
// or ends its goroutine counts as failed. When ctx has ended, what a handler returns with an error is repeated later
// as if it had not been started. Dispatch returns an error when the store is closed or has failed, and when it runs
// already.
func (s *Store) Dispatch(ctx context.Context, handle func(context.Context, approvals.Job) error) error {
	if err := s.startDispatch(); err != nil {
		return fmt.Errorf("dispatch jobs: %w", err)
	}
	defer s.endDispatch()
	ctx, cancel := context.WithCancel(ctx)
	d := newScheduler(s, handle)
	defer d.flush.flush(context.WithoutCancel(ctx)) // the handlers have ended: this is the last thing to do
	defer d.drain()
	defer cancel()
	s.announced.listen(true)
	defer s.announced.listen(false)
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

// maxWait is how long the scheduler waits at most for a job that is planned: the store's clock may be put forward
// meanwhile.
const maxWait = time.Minute

// scheduler is the state of one Dispatch. Only the goroutine of Dispatch touches it.
type scheduler struct {
	store  *Store
	handle func(context.Context, approvals.Job) error
	queues map[approvals.JobKind]*readyQueue
	queued map[string]string // keys in the queues, and in which group; what another group still has of them is void
	soon   soonQueue
	busy   map[string]bool   // keys of jobs that are being handled; true: it may be due again by now
	acked  map[string]uint64 // of the claim under way: what the file still has and was handled
	// missed is how often in a row a job has failed of which the file does not know, as when its disk is full: whoever
	// handles it again must know, or does twice what it could have found.
	missed map[string]int
	// horizon is a time in nanoseconds: all jobs that the file has planned for no later have been put into the queues.
	horizon  uint64
	lookAt   time.Time // when a job will be due that is planned; zero: none is
	woken    bool      // a commit has planned something since the last look at the file
	handlers *gopool.Pool
	ended    chan claimedJob
	flush    flusher
}

func newScheduler(s *Store, handle func(context.Context, approvals.Job) error) *scheduler {
	return &scheduler{
		store:    s,
		handle:   handle,
		queues:   make(map[approvals.JobKind]*readyQueue),
		queued:   make(map[string]string),
		busy:     make(map[string]bool),
		acked:    make(map[string]uint64),
		missed:   make(map[string]int),
		handlers: gopool.New(mostIdle),
		ended:    make(chan claimedJob),
		woken:    true,
		flush:    flusher{store: s, done: make(chan error)},
	}
}

func (d *scheduler) run(ctx context.Context) error {
	for {
		wait, err := d.start(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return fmt.Errorf("dispatch jobs: %w", err)
		}
		if flush := d.flush.plan(ctx); flush > 0 && (wait == 0 || flush < wait) {
			wait = flush
		}
		if d.wait(ctx, wait); ctx.Err() != nil {
			return nil
		}
	}
}

// wait returns when there may be something to do, after most at the latest, if that is not zero.
func (d *scheduler) wait(ctx context.Context, most time.Duration) {
	var alarm <-chan time.Time
	if most > 0 {
		timer := time.NewTimer(most)
		defer timer.Stop()
		alarm = timer.C
	}
	select {
	case <-ctx.Done():
	case <-alarm:
	case <-d.store.wake:
		d.woken = true
	case j := <-d.ended:
		d.end(j)
	case err := <-d.flush.done:
		d.flush.ended(err)
	}
	d.takeEnded()
}

// takeEnded notes all handlers that have ended by now, so that one look at the file serves them all.
func (d *scheduler) takeEnded() {
	for {
		select {
		case j := <-d.ended:
			d.end(j)
		case <-d.store.wake:
			d.woken = true
		default:
			return
		}
	}
}

// add puts a job that may be due into the queue of its group, unless it is there.
func (d *scheduler) add(kind approvals.JobKind, group, key string) {
	if in, ok := d.queued[key]; ok && in == group {
		return
	}
	q := d.queues[kind]
	if q == nil {
		q = newReadyQueue(d.store.cfg.Workers, cmp.Or(kind.AtOnce(), maxHandlers))
		d.queues[kind] = q
	}
	d.queued[key] = group
	q.add(group, key)
}

// end notes that a handler has ended. Its job may be due again: what was enqueued meanwhile, and what failed.
func (d *scheduler) end(j claimedJob) {
	again := d.busy[j.key] || !j.done
	delete(d.busy, j.key)
	if delete(d.missed, j.key); j.missed > 0 {
		d.missed[j.key] = j.missed
	}
	d.queues[j.Kind].ended(j.Group)
	if again {
		d.add(j.Kind, j.Group, j.key)
	}
}

// findReady puts into the queues what the file has that was due, or soon to be due, when it was written.
func (d *scheduler) findReady(ctx context.Context) error {
	return d.store.view(ctx, func(t *tx) error {
		return t.findJobs(func(k []byte, rec *jobRecord) error {
			if (&storedJob{jobRecord: *rec}).dueAt(instant(t.now)) {
				d.add(rec.Kind, rec.Group, string(k))
			} else {
				d.soon.add(readyJob{kind: rec.Kind, group: rec.Group, key: string(k), due: rec.Due})
			}
			return nil
		})
	})
}

// drain waits for everything that was started. Nothing is started afterwards.
func (d *scheduler) drain() {
	for len(d.busy) > 0 || d.flush.running {
		select {
		case j := <-d.ended:
			d.end(j)
		case err := <-d.flush.done:
			d.flush.ended(err)
		}
	}
	d.handlers.Close()
}

// start starts handlers for what is due, as far as there are free slots, and returns in which time to look again;
// zero for when something happens.
func (d *scheduler) start(ctx context.Context) (wait time.Duration, err error) {
	announced := d.store.announced.take()
	for _, j := range announced {
		switch {
		case instant(j.due) <= d.horizon:
			d.add(j.kind, j.group, j.key)
		case j.soon:
			d.soon.add(j)
		default: // it will be found in the file
		}
	}
	if len(announced) == 0 && !d.woken {
		if wait, idle := d.nothingDue(); idle {
			return wait, nil
		}
	}
	// Acknowledgements are read before the file: those that a commit has written since are in neither place twice.
	c := claim{d: d, acked: d.store.acks.snapshot(d.acked)}
	err = d.store.view(ctx, func(t *tx) error {
		c.t = t
		return c.run()
	})
	if err != nil {
		return 0, err
	}
	for _, j := range c.jobs {
		d.handlers.Go(func() { d.work(ctx, j) })
	}
	d.woken, d.lookAt = false, time.Time{}
	if c.next.IsZero() {
		return 0, nil
	}
	wait = min(max(c.next.Sub(c.t.now), time.Microsecond), maxWait)
	d.lookAt = time.Now().Add(wait)
	return wait, nil
}

// nothingDue reports whether the file has nothing to do for the free slots, unless a commit has planned something since
// the last look at it, and for how long; zero for until something happens.
func (d *scheduler) nothingDue() (wait time.Duration, idle bool) {
	for _, q := range d.queues {
		if q.ready() {
			return 0, false
		}
	}
	if d.lookAt.IsZero() {
		return 0, true
	}
	wait = time.Until(d.lookAt)
	return wait, wait > 0
}
