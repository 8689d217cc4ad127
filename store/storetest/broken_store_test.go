package storetest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"countersign/agent"
	"countersign/approvals"
)

// losesUpdates lets transactions read what was there when they began, and writes blindly.
type losesUpdates struct{ approvals.Store }

func newLosesUpdates(s approvals.Store) approvals.Store { return &losesUpdates{Store: s} }

func (s *losesUpdates) Update(ctx context.Context, fn func(approvals.Tx) error) error {
	var log []func(approvals.Tx) error
	err := s.Store.View(ctx, func(tx approvals.Tx) error {
		return s.replayable(ctx, fn, tx, &log)
	})
	if err != nil {
		return err
	}
	return s.Store.Update(context.WithoutCancel(ctx), func(tx approvals.Tx) error {
		for _, put := range log {
			if err := put(tx); err != nil {
				return err
			}
		}
		return nil
	})
}

// replayable runs fn on a copy of the store and logs what it writes.
func (s *losesUpdates) replayable(ctx context.Context, fn func(approvals.Tx) error, snapshot approvals.Tx, log *[]func(approvals.Tx) error) error {
	scratch := newMemory(snapshot.(*memoryTx).tables)
	return scratch.Open().Update(ctx, func(tx approvals.Tx) error { return fn(&loggingTx{Tx: tx, log: log}) })
}

// loggingTx passes writes on and logs them.
type loggingTx struct {
	approvals.Tx
	log *[]func(approvals.Tx) error
}

func (t *loggingTx) do(put func(approvals.Tx) error) error {
	*t.log = append(*t.log, put)
	return put(t.Tx)
}

func (t *loggingTx) PutRun(r *approvals.Run) error {
	c := *r
	return t.do(func(tx approvals.Tx) error { return tx.PutRun(&c) })
}

func (t *loggingTx) PutRequest(r *approvals.Request) error {
	data, _ := marshal(r)
	return t.do(func(tx approvals.Tx) error {
		var c approvals.Request
		return errors.Join(json.Unmarshal(data, &c), tx.PutRequest(&c))
	})
}

func (t *loggingTx) PutState(ws approvals.WorkspaceID, run approvals.RunID, d agent.Delta) error {
	d.Head, d.Items = slices.Clone(d.Head), slices.Clone(d.Items)
	return t.do(func(tx approvals.Tx) error { return tx.PutState(ws, run, d) })
}

func (t *loggingTx) DeleteState(ws approvals.WorkspaceID, run approvals.RunID) error {
	return t.do(func(tx approvals.Tx) error { return tx.DeleteState(ws, run) })
}

func (t *loggingTx) PutEffect(e *approvals.EffectRecord) error {
	c := *e
	return t.do(func(tx approvals.Tx) error { return tx.PutEffect(&c) })
}

func (t *loggingTx) PutAudit(e *approvals.AuditEntry) error {
	c := *e
	return t.do(func(tx approvals.Tx) error { return tx.PutAudit(&c) })
}

func (t *loggingTx) PutNotification(n *approvals.Notification) error {
	c := *n
	return t.do(func(tx approvals.Tx) error { return tx.PutNotification(&c) })
}

func (t *loggingTx) DeleteNotification(n *approvals.Notification) error {
	c := *n
	return t.do(func(tx approvals.Tx) error { return tx.DeleteNotification(&c) })
}

func (t *loggingTx) AppendSession(ws approvals.WorkspaceID, p approvals.Place, key string, items json.RawMessage) error {
	return t.do(func(tx approvals.Tx) error { return tx.AppendSession(ws, p, key, items) })
}

func (t *loggingTx) Enqueue(j approvals.Job) error {
	return t.do(func(tx approvals.Tx) error { return tx.Enqueue(j) })
}

func (t *loggingTx) Once(ws approvals.WorkspaceID, key string, at time.Time) (fresh bool, err error) {
	err = t.do(func(tx approvals.Tx) (err error) {
		fresh, err = tx.Once(ws, key, at)
		return err
	})
	return fresh, err
}

// readsOutside serves lists of a run's requests from before the transaction, as a weaker isolation level would.
type readsOutside struct{ approvals.Store }

func newReadsOutside(s approvals.Store) approvals.Store { return &readsOutside{Store: s} }

func (s *readsOutside) Update(ctx context.Context, fn func(approvals.Tx) error) error {
	var before map[approvals.RunID][]*approvals.Request
	err := s.Store.View(ctx, func(tx approvals.Tx) error {
		list, err := tx.RequestsOfRun(ws, "run_1")
		before = map[approvals.RunID][]*approvals.Request{"run_1": list}
		return err
	})
	if err != nil {
		return err
	}
	return s.Store.Update(ctx, func(tx approvals.Tx) error { return fn(&staleLists{tx, before}) })
}

type staleLists struct {
	approvals.Tx
	before map[approvals.RunID][]*approvals.Request
}

func (t *staleLists) RequestsOfRun(ws approvals.WorkspaceID, run approvals.RunID) ([]*approvals.Request, error) {
	if list := t.before[run]; len(list) > 0 {
		return list, nil
	}
	return t.Tx.RequestsOfRun(ws, run)
}

// keepsPanicked commits what a function wrote before it panicked.
type keepsPanicked struct{ approvals.Store }

func newKeepsPanicked(s approvals.Store) approvals.Store { return &keepsPanicked{Store: s} }

func (s *keepsPanicked) Update(ctx context.Context, fn func(approvals.Tx) error) error {
	var panicked any
	err := s.Store.Update(ctx, func(tx approvals.Tx) (err error) {
		defer func() { panicked = recover() }()
		return fn(tx)
	})
	if panicked != nil {
		panic(panicked)
	}
	return err
}

type hooked struct {
	approvals.Store
	update   func(context.Context, func(approvals.Tx) error) error
	view     func(context.Context, func(approvals.Tx) error) error
	dispatch func(context.Context, func(context.Context, approvals.Job) error) error
}

func (s *hooked) Update(ctx context.Context, fn func(approvals.Tx) error) error {
	return cmpOr(s.update, s.Store.Update)(ctx, fn)
}

func (s *hooked) View(ctx context.Context, fn func(approvals.Tx) error) error {
	return cmpOr(s.view, s.Store.View)(ctx, fn)
}

func (s *hooked) Dispatch(ctx context.Context, handle func(context.Context, approvals.Job) error) error {
	if s.dispatch != nil {
		return s.dispatch(ctx, handle)
	}
	return s.Store.Dispatch(ctx, handle)
}

func cmpOr[F any](a, b func(context.Context, F) error) func(context.Context, F) error {
	if a != nil {
		return a
	}
	return b
}

func wrapsErrors(s approvals.Store) approvals.Store {
	return &hooked{Store: s, update: func(ctx context.Context, fn func(approvals.Tx) error) error {
		if err := s.Update(ctx, fn); err != nil {
			return fmt.Errorf("update: %w", err)
		}
		return nil
	}}
}

func ignoresContext(s approvals.Store) approvals.Store {
	return &hooked{Store: s,
		update: func(ctx context.Context, fn func(approvals.Tx) error) error {
			return s.Update(context.WithoutCancel(ctx), fn)
		},
		view: func(ctx context.Context, fn func(approvals.Tx) error) error {
			return s.View(context.WithoutCancel(ctx), fn)
		},
	}
}

// handling changes what handlers return.
func handling(change func(error) error) func(approvals.Store) approvals.Store {
	return func(s approvals.Store) approvals.Store {
		return &hooked{Store: s, dispatch: func(ctx context.Context, handle func(context.Context, approvals.Job) error) error {
			return s.Dispatch(ctx, func(ctx context.Context, j approvals.Job) error {
				err := handle(ctx, j)
				if ctx.Err() != nil {
					return err
				}
				return change(err)
			})
		}}
	}
}

// countsAnew tells handlers that nothing has failed before.
func countsAnew(s approvals.Store) approvals.Store {
	return &hooked{Store: s, dispatch: func(ctx context.Context, handle func(context.Context, approvals.Job) error) error {
		return s.Dispatch(ctx, func(ctx context.Context, j approvals.Job) error {
			j.Attempts = 0
			return handle(ctx, j)
		})
	}}
}

// endsQuietly says nothing when its store is closed.
func endsQuietly(s approvals.Store) approvals.Store {
	return &hooked{Store: s, dispatch: func(ctx context.Context, handle func(context.Context, approvals.Job) error) error {
		if err := s.Dispatch(ctx, handle); !errors.Is(err, approvals.ErrClosed) {
			return err
		}
		return nil
	}}
}

// stopsAtErrors ends with the first handler that fails.
func stopsAtErrors(s approvals.Store) approvals.Store {
	return &hooked{Store: s, dispatch: func(ctx context.Context, handle func(context.Context, approvals.Job) error) error {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		return s.Dispatch(ctx, func(ctx context.Context, j approvals.Job) error {
			err := handle(ctx, j)
			if err != nil {
				cancel(err)
			}
			return err
		})
	}}
}

func withoutPause(err error) error {
	if asked, ok := errors.AsType[*approvals.RetryError](err); ok {
		return asked.Err
	}
	return err
}

// forgetsJobs hands out only jobs that were enqueued since it was opened.
type forgetsJobs struct {
	approvals.Store
	fresh sync.Map
}

func newForgetsJobs(s approvals.Store) approvals.Store { return &forgetsJobs{Store: s} }

func (s *forgetsJobs) Update(ctx context.Context, fn func(approvals.Tx) error) error {
	return s.Store.Update(ctx, func(tx approvals.Tx) error { return fn(&notesJobs{tx, &s.fresh}) })
}

func (s *forgetsJobs) Dispatch(ctx context.Context, handle func(context.Context, approvals.Job) error) error {
	return s.Store.Dispatch(ctx, func(ctx context.Context, j approvals.Job) error {
		if _, ok := s.fresh.Load(j.ID); !ok && j.ID == "before" {
			return nil
		}
		return handle(ctx, j)
	})
}

type notesJobs struct {
	approvals.Tx
	fresh *sync.Map
}

func (t *notesJobs) Enqueue(j approvals.Job) error {
	t.fresh.Store(j.ID, true)
	return t.Tx.Enqueue(j)
}

// handlesTwice forgets that a job is being handled.
type handlesTwice struct{ approvals.Store }

func newHandlesTwice(s approvals.Store) approvals.Store { return &handlesTwice{Store: s} }

func (s *handlesTwice) Update(ctx context.Context, fn func(approvals.Tx) error) error {
	return s.Store.Update(ctx, func(tx approvals.Tx) error {
		m := tx.(*memoryTx)
		return fn(&forgetsRunning{m})
	})
}

type forgetsRunning struct{ *memoryTx }

func (t *forgetsRunning) Enqueue(j approvals.Job) error {
	delete(t.store.running, row{ws: j.Workspace, a: string(j.Kind), b: j.ID})
	return t.memoryTx.Enqueue(j)
}

// oneAtATime handles one job after the other.
type oneAtATime struct{ approvals.Store }

func newOneAtATime(s approvals.Store) approvals.Store { return &oneAtATime{Store: s} }

func (s *oneAtATime) Dispatch(ctx context.Context, handle func(context.Context, approvals.Job) error) error {
	turn := make(chan struct{}, 1)
	return s.Store.Dispatch(ctx, func(ctx context.Context, j approvals.Job) error {
		select {
		case turn <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
		defer func() { <-turn }()
		return handle(ctx, j)
	})
}

// enqueuesAtOnce plans jobs outside of the transaction.
type enqueuesAtOnce struct{ approvals.Store }

func newEnqueuesAtOnce(s approvals.Store) approvals.Store { return &enqueuesAtOnce{Store: s} }

func (s *enqueuesAtOnce) Update(ctx context.Context, fn func(approvals.Tx) error) error {
	var jobs []approvals.Job
	err := s.Store.Update(ctx, func(tx approvals.Tx) error {
		jobs = nil
		return fn(&divertsJobs{tx, &jobs})
	})
	for _, j := range jobs {
		err = cmp.Or(err, s.Store.Update(context.WithoutCancel(ctx), func(tx approvals.Tx) error { return tx.Enqueue(j) }))
	}
	return err
}

type divertsJobs struct {
	approvals.Tx
	jobs *[]approvals.Job
}

func (t *divertsJobs) Enqueue(j approvals.Job) error {
	if j.ID != "no" && j.ID != "yes" {
		return t.Tx.Enqueue(j)
	}
	*t.jobs = append(*t.jobs, j)
	return nil
}

// locksReaders lets nobody write while somebody reads.
type locksReaders struct {
	approvals.Store
	turn chan struct{}
}

func newLocksReaders(s approvals.Store) approvals.Store {
	return &locksReaders{Store: s, turn: make(chan struct{}, 1)}
}

func (s *locksReaders) View(ctx context.Context, fn func(approvals.Tx) error) error {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	return s.Store.View(ctx, fn)
}

func (s *locksReaders) Update(ctx context.Context, fn func(approvals.Tx) error) error {
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-s.turn }()
	return s.Store.Update(ctx, fn)
}
