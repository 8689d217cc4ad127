package agent

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync/atomic"
)

// errConsumer is why a run ends whose events nobody wants any more.
var errConsumer = errors.New("the consumer of the stream has stopped reading")

// Stream is a run that tells what happens while it happens. The run begins with Events, or with Result where nobody
// wants events, and is over when that returns.
type Stream struct {
	play   func(yield func(Event) bool) (*Result, error)
	state  atomic.Int32 // streamNew, streamPlaying, streamOver
	result *Result
	err    error
}

const (
	streamNew = iota
	streamPlaying
	streamOver
)

// Stream returns a run of a with the input, which begins when its events are read.
func (r *Runner) Stream(ctx context.Context, a *Agent, input []Item, o RunOptions) *Stream {
	return newStream(ctx, func(ctx context.Context, events func(Event)) (*Result, error) {
		return r.prepare(o, events).start(ctx, a, input)
	})
}

// StreamResume returns the continuation of s, which begins when its events are read. A state from a streamed run can
// be resumed by Resume, and one from Run by StreamResume.
func (r *Runner) StreamResume(ctx context.Context, a *Agent, s *RunState, o RunOptions) *Stream {
	return newStream(ctx, func(ctx context.Context, events func(Event)) (*Result, error) {
		return r.prepare(o, events).resume(ctx, a, s)
	})
}

// Events runs the agent and yields what happens. The run stands still while the consumer looks at an event: it may
// read the run's state, add input, or close RunOptions.Stop, which then counts before the next model call. Calls that
// run side by side go on, up to their next event. A consumer that stops early cancels the run, and the iteration ends
// when the run has; calls that had begun are in the journal. The events can be read once: a second iteration yields
// nothing.
func (s *Stream) Events() iter.Seq[Event] { return s.begin }

// Result returns what Run or Resume would have returned, once the events have been read. If nobody has read them, it
// runs the agent without them. While they are being read it returns ErrConfig.
func (s *Stream) Result() (*Result, error) {
	s.begin(func(Event) bool { return true })
	if s.state.Load() != streamOver {
		return nil, fmt.Errorf("%w: the result of a stream is there when its events have been read", ErrConfig)
	}
	return s.result, s.err
}

func (s *Stream) begin(yield func(Event) bool) {
	if !s.state.CompareAndSwap(streamNew, streamPlaying) {
		return
	}
	s.err = fmt.Errorf("%w: the stream ended with a panic", ErrConfig) // replaced unless there is one
	defer s.state.Store(streamOver)
	s.result, s.err = s.play(yield)
}

func newStream(ctx context.Context, run func(context.Context, func(Event)) (*Result, error)) *Stream {
	return &Stream{play: func(yield func(Event) bool) (*Result, error) { return play(ctx, run, yield) }}
}

// play runs in a goroutine of its own and yields its events. No goroutine outlives the call, also when yield panics;
// a panic of the run goes on here.
func play(
	ctx context.Context, run func(context.Context, func(Event)) (*Result, error), yield func(Event) bool,
) (result *Result, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	events, seen, gone := make(chan Event), make(chan struct{}), make(chan struct{})
	var panicked any
	var outcome *Result
	var failure error
	go func() {
		defer close(events)
		defer func() { panicked = recover() }()
		outcome, failure = run(ctx, func(e Event) {
			select {
			case events <- e:
				select { // the run stands still until the consumer asks for the next event
				case <-seen:
				case <-gone:
				}
			case <-gone:
			}
		})
	}()
	defer func() {
		cancel(errConsumer)
		close(gone)
		for range events { // until the run has ended
		}
		if panicked != nil {
			panic(panicked)
		}
		result, err = outcome, failure
	}()
	for e := range events {
		if !yield(e) {
			break
		}
		seen <- struct{}{}
	}
	return nil, nil // set above
}
