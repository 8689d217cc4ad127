package agent

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

	"countersign/agent/guardrail"
)

// execution is one Run or Resume on its way.
//
// Agents that are used as tools work side by side, each in a loop of its own, and all of them change one state.
// Whoever works on the state holds its lock, and lets go of it (unlocked) for everything that is not the state's own
// business: models, tools, gates, guardrails, hooks, journals. Checkpoints are taken under the lock, so they are
// consistent, and one at a time.
type execution struct {
	*Runner
	RunOptions
	state   *RunState
	journal Journal
	base    *slog.Logger
	shared  *RunContext
	limit   int // of the run's own model calls, for this Run or Resume
	first   int // items of the run's own conversation that were there before
	delta   int // items that checkpoints have covered
	events  func(Event)
	touched touching
	earlier string         // what refers to the span of the run before this Resume
	asked   map[*call]bool // calls whose question is in this span of the run, where there is a tracer

	guardrails       []guardrail.Result // what guardrails said in this execution; under the state's lock
	checkpointFailed bool
	untaken          []string // Result.NotTaken; under the state's lock
}

// loop runs one conversation of an execution.
type loop struct {
	*execution
	frame  *frame
	agent  *Agent     // whose turn it is
	begins bool       // it has just taken over
	idle   bool       // the model's last answer held nothing but calls that it had made before
	told   []informed // what the provider is being told to carry out, and has not answered
	log    *slog.Logger
}

func (x *execution) loop(f *frame) *loop {
	for _, c := range f.calls { // what an earlier execution found out is found out anew
		c.next = nil
	}
	log := x.base.With("run", x.state.id, "agent", f.agent)
	return &loop{execution: x, frame: f, agent: x.state.graph[f.agent], log: log}
}

// unlocked calls fn while others may work on the state.
func (x *execution) unlocked(fn func()) {
	x.state.mu.Unlock()
	defer x.state.mu.Lock()
	fn()
}

// emit hands an event to whoever streams the run, and returns when it has been looked at. The caller holds the lock,
// so that nobody changes the state meanwhile: the consumer may read it.
func (x *execution) emit(e Event) {
	if x.events != nil {
		x.events(e)
	}
}

// tell is emit for a caller that does not hold the lock.
func (x *execution) tell(e Event) {
	if x.events == nil {
		return
	}
	x.state.mu.Lock()
	defer x.state.mu.Unlock()
	x.events(e)
}

// hook calls one of the application's hooks. Their panics change nothing.
func (l *loop) hook(ctx context.Context, fn func(*Hooks)) {
	if l.Hooks == nil {
		return
	}
	_ = l.safely(ctx, "hook", l.agent.Name, func() error {
		fn(l.Hooks)
		return nil
	})
}

// run goes on until the conversation has its answer or waits for people.
func (l *loop) run(ctx context.Context) error {
	for l.frame.final == nil {
		if err := stopped(ctx); err != nil {
			return err
		}
		waits, err := l.advance(ctx)
		if err != nil {
			err = l.fallBack(ctx, err)
		}
		if err != nil || waits {
			return err
		}
	}
	return nil
}

// advance does what comes next in the conversation, and reports whether it waits for people then.
func (l *loop) advance(ctx context.Context) (waits bool, err error) {
	f := l.frame
	between := len(f.calls) == 0 || f.onlyProviderLeft()
	switch {
	case f.answer != nil && !l.hasInput():
		return false, l.conclude(ctx)
	case !between && f.done(): // a crash came between the last output and what follows from it
		return false, l.endTurn(ctx)
	case !l.turnsLeft() && (between || !l.agent.ToolUse.mayEnd(f.calls)):
		return false, &failed{kind: failedTurns, err: fmt.Errorf("%w: %d", ErrMaxTurns, l.maxTurns())}
	case !between:
		return l.traceTurn(ctx, f.turn, l.goOn)
	}
	return l.traceTurn(ctx, f.turn+1, l.takeTurn)
}

// goOn settles what is left of the calls of a turn.
func (l *loop) goOn(ctx context.Context) (waits bool, err error) { return l.work(ctx, false) }

// takeTurn calls the model and settles what it calls.
func (l *loop) takeTurn(ctx context.Context) (waits bool, err error) {
	f := l.frame
	if waits, err := l.turn(ctx); waits || err != nil {
		return waits, err
	}
	switch {
	case f.answer != nil && len(l.agent.OutputGuardrails) == 0: // the checkpoint comes with the end
		return false, nil
	case len(f.calls) == 0: // the answer is there
		return false, l.checkpoint(ctx)
	case !l.turnsLeft() && !l.agent.ToolUse.mayEnd(f.calls): // nothing more may happen
		return false, l.checkpoint(ctx)
	}
	return l.work(ctx, true)
}

// hasInput reports whether input was added to the conversation that no model has read.
func (l *loop) hasInput() bool { return l.frame.parent == nil && len(l.state.pending) > 0 }

// maxTurns returns how many model calls the conversation may make.
func (l *loop) maxTurns() int {
	if l.frame.parent == nil {
		return l.limit
	}
	return l.frame.maxTurns
}

// turnsLeft reports whether the model may be called again.
func (l *loop) turnsLeft() bool { return lower(l.frame.turn, l.maxTurns()) }

// work settles the calls of a turn and what follows from them, as far as people have decided. It reports whether the
// conversation waits.
func (l *loop) work(ctx context.Context, fresh bool) (waits bool, err error) {
	f := l.frame
	if err := l.settle(ctx, fresh); err != nil {
		return false, err
	}
	switch {
	case f.waits():
		return len(f.questions(nil, unanswered)) > 0, nil // an answer may have been recorded meanwhile
	case f.handsOff(): // nothing else is left
		l.holdBack()
		waits, err := l.inform(ctx) // the next agent's request tells the provider
		if waits || err != nil {
			return waits, err
		}
		before := len(f.items)
		l.keepApprovals()
		if l.events != nil {
			l.emitItems(f.path(), before)
		}
		return false, l.traceHandoff(ctx, l.handOver)
	}
	return false, l.endTurn(ctx)
}

// stopped returns why the context has ended, if it has: both that it has and the cause.
func stopped(ctx context.Context) error {
	err := ctx.Err()
	if cause := context.Cause(ctx); err != nil && cause != err {
		return fmt.Errorf("%w: %w", err, cause)
	}
	return err
}

// checkpoint hands out what changed since the last one.
func (x *execution) checkpoint(ctx context.Context) error {
	if x.Checkpoint == nil {
		return nil
	}
	d, err := x.state.Delta(x.delta)
	if err != nil {
		return err
	}
	if err := x.Checkpoint(ctx, d); err != nil {
		x.checkpointFailed = true
		return fmt.Errorf("checkpoint of turn %d: %w", x.state.frame.turn, err)
	}
	x.delta = len(x.state.log)
	return nil
}

// finish turns the state into what Run and Resume return.
func (x *execution) finish(err error) (*Result, error) {
	s := x.state
	result := &Result{State: s, Interruptions: s.Undecided(), NewItems: slices.Clone(s.frame.own(x.first))}
	result.GuardrailResults, result.NotTaken = x.guardrails, x.untaken
	if err != nil {
		return result, fmt.Errorf("run %s: %w", s.id, err)
	}
	result.FinalOutput, result.Handled = s.FinalOutput(), handledErrors[s.handled]
	return result, nil
}
