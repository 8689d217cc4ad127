package agent

import (
	"context"
	"runtime/debug"
)

// safely calls the application's code and turns a panic into errPanic. The log tells where it happened, in what code of
// whose; nobody is told the panic's value: it may hold arguments.
func (l *loop) safely(ctx context.Context, code, owner string, fn func() error) (err error) {
	defer func() {
		if recover() != nil {
			l.log.ErrorContext(ctx, code+" panicked", "of", owner, "stack", string(debug.Stack()))
			err = errPanic
		}
	}()
	return fn()
}
