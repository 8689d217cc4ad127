package slackdev

import (
	"context"
	"sync"
	"time"
)

// life is the context of a workspace: it ends with Close. It lets deliveries
// that outlive the request which caused them stop in time.
type life struct {
	once sync.Once
	done chan struct{}
}

var _ context.Context = (*life)(nil)

func newLife() *life { return &life{done: make(chan struct{})} }

func (l *life) end() { l.once.Do(func() { close(l.done) }) }

func (l *life) Deadline() (time.Time, bool) { return time.Time{}, false }
func (l *life) Done() <-chan struct{}       { return l.done }
func (l *life) Value(any) any               { return nil }

func (l *life) Err() error {
	select {
	case <-l.done:
		return context.Canceled
	default:
		return nil
	}
}

// pause waits for d and reports whether the workspace is still alive.
func (l *life) pause(d time.Duration) bool {
	if d <= 0 {
		return l.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-l.done:
		return false
	}
}
