package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"countersign/approvals"
)

// hooked replaces methods of a store.
type hooked struct {
	approvals.Store
	update   transact
	view     transact
	dispatch func(context.Context, handle) error
}

type (
	wrapper  = func(approvals.Store) approvals.Store
	transact func(context.Context, func(approvals.Tx) error) error
	handle   func(context.Context, approvals.Job) error
)

func (s *hooked) Update(ctx context.Context, fn func(approvals.Tx) error) error {
	if s.update != nil {
		return s.update(ctx, fn)
	}
	return s.Store.Update(ctx, fn)
}

func (s *hooked) View(ctx context.Context, fn func(approvals.Tx) error) error {
	if s.view != nil {
		return s.view(ctx, fn)
	}
	return s.Store.View(ctx, fn)
}

func (s *hooked) Dispatch(ctx context.Context, h func(context.Context, approvals.Job) error) error {
	if s.dispatch != nil {
		return s.dispatch(ctx, h)
	}
	return s.Store.Dispatch(ctx, h)
}

// losesUpdates lets transactions read what was there when they began, and writes blindly.
func losesUpdates(s approvals.Store) approvals.Store {
	data := s.(*memoryStore).data
	return &hooked{Store: s, update: func(ctx context.Context, fn func(approvals.Tx) error) error {
		var before, after *tree
		err := s.View(ctx, func(approvals.Tx) error {
			t := data.begin(ctx, true)
			before = t.root
			err := attempt(t, fn)
			after = t.root
			return err
		})
		if err == nil {
			data.apply(func(t *memoryTx) { t.replay(before, after) })
		}
		return err
	}}
}

// replay writes what differs between two trees.
func (t *memoryTx) replay(before, after *tree) {
	for k, v := range after.from("") {
		if before.get(k) != v {
			t.root = t.root.put(k, v)
		}
	}
	for k := range before.from("") {
		if after.get(k) == nil {
			t.remove(k)
		}
	}
}

// locksReaders lets nobody write while somebody reads.
func locksReaders(s approvals.Store) approvals.Store {
	turn := make(chan struct{}, 1)
	alone := func(do transact) transact {
		return func(ctx context.Context, fn func(approvals.Tx) error) error {
			select {
			case turn <- struct{}{}:
			case <-ctx.Done():
				return ctx.Err()
			}
			defer func() { <-turn }()
			return do(ctx, fn)
		}
	}
	return &hooked{Store: s, view: alone(s.View), update: alone(s.Update)}
}

// keepsPanicked commits what a function wrote before it panicked.
func keepsPanicked(s approvals.Store) approvals.Store {
	return &hooked{Store: s, update: func(ctx context.Context, fn func(approvals.Tx) error) error {
		var panicked any
		err := s.Update(ctx, func(tx approvals.Tx) (err error) {
			defer func() { panicked = recover() }()
			return fn(tx)
		})
		if panicked != nil {
			panic(panicked)
		}
		return err
	}}
}

// keepsExited commits what a function wrote before its goroutine ended.
func keepsExited(s approvals.Store) approvals.Store {
	return &hooked{Store: s, update: func(ctx context.Context, fn func(approvals.Tx) error) error {
		var panicked any
		err := s.Update(ctx, func(tx approvals.Tx) (err error) {
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				defer func() { panicked = recover() }()
				err = fn(tx)
			}()
			<-ended
			if panicked != nil {
				err = errors.New("rolled back")
			}
			return err
		})
		if panicked != nil {
			panic(panicked)
		}
		return err
	}}
}

func wrapsErrors(s approvals.Store) approvals.Store {
	return &hooked{Store: s, update: func(ctx context.Context, fn func(approvals.Tx) error) error {
		if err := s.Update(ctx, fn); err != nil {
			return fmt.Errorf("update: %w", err)
		}
		return nil
	}}
}

// ignoresContext looks at the context of a transaction only within it.
func ignoresContext(s approvals.Store) approvals.Store {
	without := func(do transact) transact {
		return func(ctx context.Context, fn func(approvals.Tx) error) error {
			err := do(context.WithoutCancel(ctx), func(tx approvals.Tx) error {
				tx.(*memoryTx).cancelled = ctx.Err
				return fn(tx)
			})
			return err
		}
	}
	return &hooked{Store: s, update: without(s.Update), view: without(s.View)}
}

// scansOn goes on when its context has ended.
func scansOn(s approvals.Store) approvals.Store {
	without := func(do transact) transact {
		return func(ctx context.Context, fn func(approvals.Tx) error) error {
			return do(ctx, func(tx approvals.Tx) error {
				tx.(*memoryTx).cancelled = func() error { return nil }
				return fn(tx)
			})
		}
	}
	return &hooked{Store: s, update: without(s.Update), view: without(s.View)}
}

// deniesCommits commits, and says that it was cancelled.
func deniesCommits(s approvals.Store) approvals.Store {
	return &hooked{Store: s, update: func(ctx context.Context, fn func(approvals.Tx) error) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := s.Update(context.WithoutCancel(ctx), func(tx approvals.Tx) error {
			tx.(*memoryTx).cancelled = ctx.Err
			return fn(tx)
		})
		if err == nil {
			err = ctx.Err()
		}
		return err
	}}
}

// closesAtOnce does not wait for transactions under way.
type closesAtOnce struct{ approvals.Store }

func (s closesAtOnce) Close() error {
	go s.Store.Close()
	return nil
}

// wrapping wraps every transaction.
func wrapping(wrap func(tx approvals.Tx, ended *bool) approvals.Tx) wrapper {
	return func(s approvals.Store) approvals.Store {
		within := func(do transact) transact {
			return func(ctx context.Context, fn func(approvals.Tx) error) error {
				return do(ctx, func(tx approvals.Tx) error {
					ended := new(bool)
					defer func() { *ended = true }()
					return fn(wrap(tx, ended))
				})
			}
		}
		return &hooked{Store: s, update: within(s.Update), view: within(s.View)}
	}
}

// each wraps every transaction in what wrap makes of it.
func each[T approvals.Tx](wrap func(tx approvals.Tx) T) wrapper {
	return wrapping(func(tx approvals.Tx, _ *bool) approvals.Tx { return wrap(tx) })
}

// readsOnceOnly gives a View that says it reads once a moment for each read.
func readsOnceOnly(s approvals.Store) approvals.Store {
	return &hooked{Store: s, view: func(ctx context.Context, fn func(approvals.Tx) error) error {
		return s.View(ctx, func(tx approvals.Tx) error {
			if approvals.OneRead(ctx) {
				tx = momentary{tx, s, ctx}
			}
			return fn(tx)
		})
	}}
}

type momentary struct {
	approvals.Tx
	store approvals.Store
	ctx   context.Context
}

func (t momentary) Run(ws approvals.WorkspaceID, id approvals.RunID) (r *approvals.Run, err error) {
	err = t.store.View(t.ctx, func(tx approvals.Tx) error {
		r, err = tx.Run(ws, id)
		return err
	})
	return r, err
}

// readsOutside serves some lists from before the transaction, as a weaker isolation level would.
func readsOutside(s approvals.Store) approvals.Store {
	return &hooked{Store: s, update: func(ctx context.Context, fn func(approvals.Tx) error) error {
		var before staleLists
		err := s.View(ctx, func(tx approvals.Tx) (err error) {
			if before.requests, err = tx.RequestsOfRun(ws, "run_1"); err != nil {
				return err
			}
			before.unsealed, err = tx.UnsealedAudit(ws, 2)
			return err
		})
		if err != nil {
			return err
		}
		return s.Update(ctx, func(tx approvals.Tx) error {
			own := before
			own.Tx = tx
			return fn(&own)
		})
	}}
}

type staleLists struct {
	approvals.Tx
	requests []*approvals.RequestHead
	unsealed []*approvals.AuditEntry
}

func (t *staleLists) RequestsOfRun(ws approvals.WorkspaceID, run approvals.RunID) ([]*approvals.RequestHead, error) {
	if len(t.requests) > 0 {
		return t.requests, nil
	}
	return t.Tx.RequestsOfRun(ws, run)
}

func (t *staleLists) UnsealedAudit(ws approvals.WorkspaceID, limit int) ([]*approvals.AuditEntry, error) {
	if len(t.unsealed) > 0 {
		return t.unsealed, nil
	}
	return t.Tx.UnsealedAudit(ws, limit)
}

// clocked changes what time it is. n counts transactions, and calls counts the calls within one.
type clocked struct {
	approvals.Tx
	n, calls int
	change   func(at time.Time, n, calls int) time.Time
}

func (t *clocked) Now() time.Time {
	t.calls++
	return t.change(t.Tx.Now(), t.n, t.calls)
}

func clockOf(change func(at time.Time, n, calls int) time.Time) wrapper {
	return func(s approvals.Store) approvals.Store {
		var mu sync.Mutex
		count := 0
		return each(func(tx approvals.Tx) *clocked {
			mu.Lock()
			defer mu.Unlock()
			count++
			return &clocked{Tx: tx, n: count, change: change}
		})(s)
	}
}
