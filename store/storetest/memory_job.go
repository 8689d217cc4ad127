package storetest

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"countersign/approvals"
)

// memoryJob is a job with what was asked for while it was handled.
type memoryJob struct {
	approvals.Job
	Again     *time.Time // enqueued while being handled, for then
	NotBefore time.Time  // asked for by a handler
}

func (t *memoryTx) Enqueue(j approvals.Job) error {
	at := row{ws: j.Workspace, a: string(j.Kind), b: j.ID}
	m := new(memoryJob)
	err := t.get("job", at, m)
	switch {
	case errors.Is(err, approvals.ErrNotFound):
		m = &memoryJob{Job: j}
		m.Attempts = 0
	case err != nil:
		return err
	case t.store.running[at]:
		if m.Again == nil || j.Due.Before(*m.Again) {
			m.Again = &j.Due
		}
	case j.Due.Before(m.Due):
		m.Due = j.Due
	}
	if j.Place != nil {
		m.Place = j.Place
	}
	return t.put("job", at, m, string(j.Kind), j.ID)
}

// Dispatch starts a goroutine for every job that is due.
func (s *memoryStore) Dispatch(ctx context.Context, handle func(context.Context, approvals.Job) error) error {
	var handlers sync.WaitGroup
	defer handlers.Wait()
	for ctx.Err() == nil {
		jobs, next, err := s.due(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		for _, j := range jobs {
			handlers.Go(func() { s.work(ctx, j, handle) })
		}
		alarm := time.NewTimer(time.Until(next))
		select {
		case <-ctx.Done():
		case <-s.wake:
		case <-alarm.C:
		}
		alarm.Stop()
	}
	return nil
}

// due marks the due jobs as running and returns them, and when the next will be due.
func (s *memoryStore) due(ctx context.Context) (jobs []memoryJob, next time.Time, err error) {
	next = time.Now().Add(time.Hour)
	if err := s.enter(ctx); err != nil {
		return nil, next, err
	}
	defer s.active.Done()
	s.data.writer.Lock() // the marks belong to the writer
	defer s.data.writer.Unlock()
	t := &memoryTx{store: s, tables: *s.data.current.Load()}
	for _, at := range t.rows("job", func(at row) bool { return !s.running[at] }) {
		var m memoryJob
		if err := t.get("job", at, &m); err != nil {
			return nil, next, err
		}
		if due := latest(m.Due, m.NotBefore); due.After(time.Now()) {
			next = earliest(next, due)
			continue
		}
		s.running[at] = true
		jobs = append(jobs, m)
	}
	return jobs, next, nil
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earliest(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func (s *memoryStore) work(ctx context.Context, j memoryJob, handle func(context.Context, approvals.Job) error) {
	err := call(ctx, j.Job, handle)
	s.Update(context.WithoutCancel(ctx), func(tx approvals.Tx) error {
		t := tx.(*memoryTx)
		at := row{ws: j.Workspace, a: string(j.Kind), b: j.ID}
		delete(s.running, at)
		var m memoryJob
		if err := t.get("job", at, &m); err != nil {
			return err
		}
		if !m.ended(err, ctx.Err() != nil) {
			delete(t.tables["job"], at)
			return nil
		}
		return t.put("job", at, m)
	})
}

// ended notes how a handler ended and reports whether the job stays.
func (m *memoryJob) ended(err error, interrupted bool) bool {
	again := m.Again
	m.Again = nil
	switch {
	case err == nil && again == nil:
		return false
	case err == nil:
		m.Due, m.Attempts, m.NotBefore = *again, 0, time.Time{}
		return true
	case interrupted:
		return true
	}
	m.Attempts++
	m.Due = time.Now().Add(50*time.Millisecond<<min(m.Attempts, 10) + rand.N(10*time.Millisecond))
	if asked, ok := errors.AsType[*approvals.RetryError](err); ok {
		m.Due = time.Now().Add(asked.After)
		m.NotBefore = m.Due
	}
	if again != nil {
		m.Due = earliest(m.Due, *again)
	}
	return true
}

func call(ctx context.Context, j approvals.Job, handle func(context.Context, approvals.Job) error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = errors.New("handler panicked")
		}
	}()
	return handle(ctx, j)
}
