package agent

import (
	"context"
	"runtime/debug"
	"sync"
)

// maxQueries bounds how many gates and the like are asked at the same time.
const maxQueries = 32

// query is a question to the application's code.
type query struct {
	code, owner string                // what is asked, and whose it is, for the log
	ask         func() error          // called while others may work on the state
	take        func(err error) error // takes the answer into the state; its error ends the run
}

// consult asks the application's code, side by side, and takes the answers in the order of the queries.
//
// A context that has ended is an interruption of the work and never an answer: then no answer is taken, whatever the
// code has made of it.
func (l *loop) consult(ctx context.Context, queries []query) error {
	failures := make([]error, len(queries))
	l.unlocked(func() { l.sideBySide(ctx, queries, failures) })
	if err := stopped(ctx); err != nil {
		return err
	}
	for i, q := range queries {
		if err := q.take(failures[i]); err != nil {
			return err
		}
	}
	return nil
}

// sideBySide asks every query in a goroutine of its own, which has ended when it returns. One alone needs none.
func (l *loop) sideBySide(ctx context.Context, queries []query, failures []error) {
	if len(queries) == 1 {
		failures[0] = l.safely(ctx, queries[0].code, queries[0].owner, queries[0].ask)
		return
	}
	limit := make(chan struct{}, maxQueries)
	var asked sync.WaitGroup
	for i, q := range queries {
		failures[i] = errGoexit // unless it returns
		limit <- struct{}{}
		asked.Go(func() {
			defer func() { <-limit }()
			failures[i] = l.safely(ctx, q.code, q.owner, q.ask)
		})
	}
	asked.Wait()
}

// consultOne is consult with one query whose failure ends the run.
func (l *loop) consultOne(ctx context.Context, code, owner string, fn func() error) error {
	return l.consult(ctx, []query{{code, owner, fn, func(err error) error { return err }}})
}

// safely calls the application's code and turns a panic into errPanic. The log tells where it happened, in what code
// of whose; nobody is told the panic's value: it may hold arguments.
func (l *loop) safely(ctx context.Context, code, owner string, fn func() error) (err error) {
	defer func() {
		if recover() != nil {
			l.log.ErrorContext(ctx, code+" panicked", "of", owner, "stack", string(debug.Stack()))
			err = errPanic
		}
	}()
	return fn()
}
