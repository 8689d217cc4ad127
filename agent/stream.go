package agent

import (
	"context"
	"errors"
	"iter"
)

// errConsumer is why a run ends whose events nobody wants any more.
var errConsumer = errors.New("the consumer of the stream has stopped reading")

// Stream is Run that tells what happens while it happens. The last event is Done with the result; the error beside it
// is that of Run, and all others come with a nil error. A consumer that stops early cancels the run, and Stream returns
// when it has ended; calls that had begun are in the journal. Events wait for the consumer: a slow one slows the run.
//
// A state from a streamed run can be resumed by Resume, and one from Run by StreamResume.
func (r *Runner) Stream(ctx context.Context, a *Agent, input ...Item) iter.Seq2[Event, error] {
	return stream(ctx, func(ctx context.Context, events func(Event)) (*Result, error) {
		return r.start(ctx, a, input, events)
	})
}

// StreamResume is Resume that tells what happens while it happens; see Stream.
func (r *Runner) StreamResume(ctx context.Context, a *Agent, s *RunState) iter.Seq2[Event, error] {
	return stream(ctx, func(ctx context.Context, events func(Event)) (*Result, error) {
		return r.resume(ctx, a, s, events)
	})
}

func stream(ctx context.Context, run func(context.Context, func(Event)) (*Result, error)) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		events, gone := make(chan Event), make(chan struct{})
		var result *Result
		var err error
		var panicked any
		go func() {
			defer close(events)
			defer func() { panicked = recover() }()
			result, err = run(ctx, func(e Event) {
				select {
				case events <- e:
				case <-gone:
				}
			})
		}()
		wanted := false
		defer func() { // also when the consumer panics: no goroutine outlives the call
			if wanted {
				return
			}
			cancel(errConsumer)
			close(gone)
			for range events {
			}
		}()
		for e := range events {
			if !yield(e, nil) {
				return
			}
		}
		wanted = true
		if panicked != nil {
			panic(panicked)
		}
		yield(Done{Result: result}, err)
	}
}
