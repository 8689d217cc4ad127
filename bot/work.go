package bot

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"countersign/internal/gopool"
)

const (
	maxQueued  = 1024 // deliveries under way or waiting for their turn
	maxFollow  = 64   // follow-ups at once: messages to people, modals
	mostSpare  = 192  // goroutines that wait for the next handler: two for each click of many people
	followTime = 30 * time.Second
)

var (
	errBusy    = errors.New("too many deliveries under way")
	errStopped = errors.New("the bot is not running")
)

// work runs handlers. Those with the same key run one after the other in order of arrival, so that two clicks on one
// request never race in here; different keys never wait for each other. It never blocks who adds to it.
type work struct {
	log *slog.Logger

	mu      sync.Mutex
	ctx     context.Context // handlers' context while running, nil otherwise
	queues  map[string][]func(context.Context)
	queued  int
	running sync.WaitGroup // what is under way
	pool    *gopool.Pool   // while running
	follow  chan struct{}
}

func newWork(log *slog.Logger) *work {
	return &work{log: log, queues: map[string][]func(context.Context){}, follow: make(chan struct{}, maxFollow)}
}

// start opens for business. finish refuses what is new and waits for the rest, whose contexts end after grace; ctx's
// own end does not interrupt them.
func (w *work) start(ctx context.Context, grace time.Duration) (finish func()) {
	lasting, end := context.WithCancel(context.WithoutCancel(ctx))
	w.mu.Lock()
	pool := gopool.New(mostSpare)
	w.ctx, w.pool = lasting, pool
	w.mu.Unlock()
	return func() {
		w.mu.Lock()
		w.ctx = nil
		w.mu.Unlock()
		timer := time.AfterFunc(grace, end)
		w.running.Wait()
		pool.Close()
		timer.Stop()
		end()
	}
}

// add queues a handler behind those of the same key. errBusy and errStopped mean that it will not run.
func (w *work) add(key string, handle func(context.Context)) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.ctx == nil:
		return errStopped
	case w.queued >= maxQueued:
		return errBusy
	}
	w.queued++
	waiting, busy := w.queues[key]
	w.queues[key] = append(waiting, handle)
	if !busy {
		ctx := w.ctx
		w.run(func() { w.drain(ctx, key) })
	}
	return nil
}

// run has a goroutine run f, which finish waits for. It is for what is open for business, and for handlers.
func (w *work) run(f func()) {
	w.running.Add(1)
	w.pool.Go(func() {
		defer w.running.Done()
		f()
	})
}

// drain runs what is queued under the key until nothing is.
func (w *work) drain(ctx context.Context, key string) {
	for {
		w.mu.Lock()
		if len(w.queues[key]) == 0 {
			delete(w.queues, key)
			w.mu.Unlock()
			return
		}
		handle := w.queues[key][0]
		w.queues[key] = w.queues[key][1:]
		w.mu.Unlock()
		w.guard(func() { handle(ctx) })
		w.mu.Lock()
		w.queued--
		w.mu.Unlock()
	}
}

// after runs f beside the queues, for what follows an acknowledgement. The caller must be a handler.
func (w *work) after(ctx context.Context, f func(context.Context)) {
	w.running.Go(func() {
		select {
		case w.follow <- struct{}{}:
			defer func() { <-w.follow }()
		case <-ctx.Done():
			return
		}
		ctx, cancel := context.WithTimeout(ctx, followTime)
		defer cancel()
		w.guard(func() { f(ctx) })
	})
}

// aside runs f beside the handler that calls it and, should f panic, failed.
func (w *work) aside(ctx context.Context, f func(context.Context), failed func()) {
	w.run(func() {
		ok := false
		w.guard(func() { f(ctx); ok = true })
		if !ok {
			failed()
		}
	})
}

// guard keeps a panic from ending the program. What panicked is not acknowledged, and its value, which may hold what
// people wrote, is not logged.
func (w *work) guard(f func()) {
	defer func() {
		if v := recover(); v != nil {
			w.log.Error("a handler panicked", "type", fmt.Sprintf("%T", v), "stack", string(debug.Stack()))
		}
	}()
	f()
}
