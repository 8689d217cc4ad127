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

// Failed jobs are repeated after minPause, twice that, and so on up to maxPause, each shortened by up to a fifth.
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

// Dispatch hands due jobs to handle. See approvals.Store and approvals.Job.
func (s *Store) Dispatch(ctx context.Context, handle func(context.Context, approvals.Job) error) error {
	d := &dispatcher{
		store:    s,
		handle:   handle,
		busy:     make(map[string]bool),
		running:  make(map[approvals.JobKind]int),
		finished: make(chan finished),
	}
	return d.run(ctx)
}

// dispatcher is the state of one Dispatch. Only the goroutine of run touches it.
type dispatcher struct {
	store    *Store
	handle   func(context.Context, approvals.Job) error
	busy     map[string]bool // keys being handled
	running  map[approvals.JobKind]int
	finished chan finished
}

type finished struct {
	key  string
	kind approvals.JobKind
}

type dueJob struct {
	key string
	rec *jobRecord
}

func (d *dispatcher) run(ctx context.Context) error {
	defer d.drain()
	for {
		next, err := d.start(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("dispatch jobs: %w", err)
		}
		var timer <-chan time.Time
		if !next.IsZero() {
			timer = time.After(time.Until(next))
		}
		select {
		case <-ctx.Done():
			return nil
		case <-d.store.wake:
		case f := <-d.finished:
			d.end(f)
		case <-timer:
		}
	}
}

func (d *dispatcher) end(f finished) {
	delete(d.busy, f.key)
	d.running[f.kind]--
}

func (d *dispatcher) drain() {
	for len(d.busy) > 0 {
		d.end(<-d.finished)
	}
}

// start starts handlers for what is due, as far as there is room, and returns when the next job will be due.
func (d *dispatcher) start(ctx context.Context) (next time.Time, err error) {
	var ready []dueJob
	err = d.store.View(ctx, func(t approvals.Tx) (err error) {
		ready, next, err = d.due(t.(*tx), time.Now())
		return err
	})
	if err != nil {
		return next, err
	}
	for _, j := range ready {
		d.busy[j.key] = true
		d.running[j.rec.Kind]++
		go d.work(ctx, j)
	}
	return next, nil
}

func (d *dispatcher) due(t *tx, now time.Time) (ready []dueJob, next time.Time, err error) {
	defer t.end(t.begin(), &err)
	limit := appendNumber(nil, instant(now))
	var from []byte
	for {
		var kind string
		err := t.scan(bucketJobsDue, nil, from, func(k, _ []byte) (bool, error) {
			kind, _, _ = cutPart(k)
			return false, nil
		})
		if err != nil || kind == "" {
			return ready, next, err
		}
		prefix := key(kind)
		free := d.store.cfg.Workers - d.running[approvals.JobKind(kind)]
		err = t.scan(bucketJobsDue, prefix, nil, func(k, _ []byte) (bool, error) {
			if free == 0 {
				return false, nil
			}
			at, rest := k[len(prefix):len(prefix)+8], k[len(prefix)+8:]
			if bytes.Compare(at, limit) > 0 {
				if due := dueTime(at); next.IsZero() || due.Before(next) {
					next = due
				}
				return false, nil
			}
			ws, rest, _ := cutPart(rest)
			id, _, _ := cutPart(rest)
			jk := key(ws, kind, id)
			if d.busy[string(jk)] {
				return true, nil
			}
			rec := new(jobRecord)
			if err := t.indexed(bucketJobs, jk, rec); err != nil {
				return false, err
			}
			ready = append(ready, dueJob{string(jk), rec})
			free--
			return true, nil
		})
		if err != nil {
			return nil, next, err
		}
		from = append(prefix, 0xff)
	}
}

func (d *dispatcher) work(ctx context.Context, j dueJob) {
	defer func() { d.finished <- finished{j.key, j.rec.Kind} }()
	err := d.call(ctx, j.rec.Job)
	if ctx.Err() != nil && err != nil {
		return
	}
	uerr := d.store.Update(context.WithoutCancel(ctx), func(t approvals.Tx) error {
		return t.(*tx).settleJob([]byte(j.key), j.rec.Gen, err, time.Now())
	})
	if uerr != nil {
		d.store.cfg.Logger.Error("job not settled", "kind", j.rec.Kind, "id", j.rec.ID, "error", uerr)
	}
}

func (d *dispatcher) call(ctx context.Context, j approvals.Job) (err error) {
	defer func() {
		if r := recover(); r != nil {
			d.store.cfg.Logger.Error("job handler panicked", "kind", j.Kind, "id", j.ID,
				"type", fmt.Sprintf("%T", r), slog.String("stack", string(debug.Stack())))
			err = errors.New("handler panicked")
		}
	}()
	return d.handle(ctx, j)
}

// settleJob records how handling generation gen of a job ended.
func (t *tx) settleJob(k []byte, gen uint64, outcome error, now time.Time) (err error) {
	defer t.end(t.begin(), &err)
	rec, oldDue, err := t.job(k)
	if errors.Is(err, approvals.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	t.jobs = true
	var again *approvals.RetryError
	switch {
	case outcome == nil:
		if !rec.answer(gen) {
			rec = nil
		}
	case errors.As(outcome, &again):
		rec.retry(gen, now.Add(again.After), true)
	default:
		rec.retry(gen, now.Add(pause(rec.Attempts)), false)
	}
	return t.putJob(k, oldDue, rec)
}
