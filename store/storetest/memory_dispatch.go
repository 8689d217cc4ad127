package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"countersign/approvals"
)

// Dispatch starts a goroutine for every job that is due. Several may run, of one store and of several.
func (s *memoryStore) Dispatch(ctx context.Context, handle func(context.Context, approvals.Job) error) error {
	ctx, cancel := context.WithCancel(ctx)
	var handlers sync.WaitGroup
	defer handlers.Wait()
	defer cancel()
	for {
		changed := s.data.change()
		jobs, next, err := s.claim(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		for _, d := range jobs {
			handlers.Go(func() { s.work(ctx, d, handle) })
		}
		alarm := time.NewTimer(max(next, time.Millisecond)) // the clock may stand still
		select {
		case <-ctx.Done():
		case <-s.closing:
		case <-changed:
		case <-alarm.C:
		}
		alarm.Stop()
	}
}

// claim marks jobs that are due as being handled and returns them, and how long it is until the next one is due.
func (s *memoryStore) claim(ctx context.Context) (jobs []delivery, next time.Duration, err error) {
	if err := s.enter(ctx); err != nil {
		return nil, 0, err
	}
	defer s.active.Done()
	if due, next := s.data.begin(ctx, false).due(); len(due) == 0 {
		return nil, next, nil
	}
	if err := s.data.lock(ctx); err != nil {
		return nil, 0, err
	}
	defer s.data.unlock()
	t := s.data.begin(ctx, true)
	due, _ := t.due()
	for _, d := range due[:s.data.share(len(due))] {
		if s.take(t, d) {
			jobs = append(jobs, d)
		}
	}
	_, next = t.due()
	s.data.commit(t)
	return jobs, next, nil
}

// share is how many of n jobs one store takes at once, so that others get some too.
func (m *Memory) share(n int) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	stores := max(m.open, 1)
	return (n + stores - 1) / stores
}

// delivery is what a dispatcher hands out: a job, or a second copy of one.
type delivery struct {
	key  string
	copy bool
	job  queuedJob
}

// due lists what may be handed out now, and tells how long it is until there is more.
func (t *memoryTx) due() (list []delivery, next time.Duration) {
	next = time.Hour
	for _, kind := range []string{"job", "copy"} {
		for k, v := range t.rows(everywhere(kind), "") {
			m := look[queuedJob](v)
			if wait := latest(m.Due, m.NotBefore, m.Hold).Sub(t.now); wait > 0 {
				next = min(next, wait)
				continue
			}
			if kind == "job" && (m.Lost || t.root.get(nameOf(&m.Job).mark()) != nil) {
				continue
			}
			list = append(list, delivery{k, kind == "copy", *m})
		}
	}
	return list, next
}

// take marks a job as being handled, unless chaos has other plans with it.
func (s *memoryStore) take(t *memoryTx, d delivery) bool {
	m := d.job
	if d.copy {
		t.remove(d.key)
		return true
	}
	if !m.Decided {
		s.data.decide(t, &m)
	}
	given := !m.Lost && !m.Hold.After(t.now)
	if given {
		m.Given = m.Generation
		data, _ := marshal(handlerMark{s.id, m.Generation, nameOf(&m.Job)})
		t.set(nameOf(&m.Job).mark(), data)
	}
	t.setJob(&m)
	return given
}

// decide asks Chaos what to do with a job that is due.
func (m *Memory) decide(t *memoryTx, j *queuedJob) {
	c := m.chaos.Load()
	j.Decided = true
	switch {
	case slices.Contains(c.LoseKinds, j.Kind) && m.dice.roll("lose", c.Lose):
		j.Lost = true
		return
	case m.dice.roll("late", c.Late):
		j.Hold = t.now.Add(m.dice.pause("late by", c.Delay))
	}
	if m.dice.roll("twice", c.Twice) {
		again := queuedJob{Job: j.Job, Hold: latest(j.Hold, t.now).Add(m.dice.pause("twice by", c.Delay))}
		data, _ := marshal(again)
		t.set(key("copy", j.Workspace, string(j.Kind), j.ID, number(j.Generation), number(uint64(j.Attempts))), data)
	}
}

// work handles a job and notes how that ended.
func (s *memoryStore) work(ctx context.Context, d delivery, handle func(context.Context, approvals.Job) error) {
	err := errGoexit // unless it returns
	defer func() {
		interrupted := err != nil && ctx.Err() != nil
		if s.enter(context.WithoutCancel(ctx)) != nil {
			return // the store is closed: the process is dead
		}
		defer s.active.Done()
		s.data.apply(func(t *memoryTx) { t.handled(d, err, interrupted) })
	}()
	err = call(ctx, own(d.job.Job), handle)
}

// handled notes that a handler has ended.
func (t *memoryTx) handled(d delivery, err error, interrupted bool) {
	name := nameOf(&d.job.Job)
	if !d.copy {
		t.remove(name.mark())
	}
	v := t.root.get(name.job())
	if v == nil {
		return // deleted, or somebody else was done with it
	}
	m := *look[queuedJob](v)
	switch {
	case err == nil && m.Generation == d.job.Generation:
		t.remove(name.job())
	case m.Given == d.job.Generation && !d.copy:
		m.repeat(t.now, err, interrupted)
		t.setJob(&m)
	}
}

// own returns a job that shares nothing with what is stored.
func own(j approvals.Job) approvals.Job {
	if j.Place != nil {
		place := *j.Place
		j.Place = &place
	}
	return j
}

// repeat plans the job anew: it was enqueued meanwhile, or its handler failed.
func (m *queuedJob) repeat(now time.Time, err error, interrupted bool) {
	again := m.Again
	m.Given, m.Again = 0, nil
	m.Decided, m.Hold = interrupted && m.Decided, time.Time{}
	switch {
	case err == nil:
		m.Due, m.Attempts, m.NotBefore, m.Paused = *again, 0, time.Time{}, time.Time{}
		return
	case interrupted:
		return
	}
	m.Attempts++
	m.Due = now.Add(50 * time.Millisecond << min(m.Attempts, 10))
	if asked, ok := errors.AsType[*approvals.RetryError](err); ok {
		m.Due = now.Add(min(asked.After, approvals.MaxPause))
		m.NotBefore, m.Paused = m.Due, now
		if asked.Uncounted {
			m.Attempts--
		}
	}
	if again != nil {
		m.Due = earliest(m.Due, *again)
	}
}

var errGoexit = errors.New("handler ended its goroutine")

// call calls a handler; one that panics has failed.
func call(ctx context.Context, j approvals.Job, handle func(context.Context, approvals.Job) error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("handler panicked: %v", r)
		}
	}()
	return handle(ctx, j)
}

// left makes what the store's handlers had under way due again: nobody is at work on it any more.
func (m *Memory) left(s *memoryStore) {
	m.apply(func(t *memoryTx) {
		for k, v := range t.rows(everywhere("handler"), "") {
			mark := look[handlerMark](v)
			if mark.Store != s.id {
				continue
			}
			t.remove(k)
			if v := t.root.get(mark.Job.job()); v != nil {
				job := *look[queuedJob](v)
				if job.Given == mark.Generation {
					job.repeat(t.now, context.Canceled, true)
					t.setJob(&job)
				}
			}
		}
	})
	m.mu.Lock()
	defer m.mu.Unlock()
	m.open--
}
