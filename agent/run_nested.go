package agent

import (
	"context"
	"errors"
	"fmt"
)

// delegate takes the conversation of an agent that is used as a tool as far as it gets.
//
// To begin it has no effect outside, so it may be begun again after a crash; but the journal has its say about the
// decision that allowed it.
func (l *loop) delegate(ctx context.Context, j *job) step {
	if j.call.Nested == nil {
		if s, ends := l.begin(ctx, j); ends {
			return s
		}
	}
	l.state.mu.Lock()
	defer l.state.mu.Unlock()
	f := j.call.Nested
	err := l.loop(f).runInside(ctx, &j.view)
	switch {
	case err != nil && endsUse(err) && ctx.Err() == nil && !f.mayHaveBegun():
		if f.asksWhatBecame() {
			return step{act: actWait} // it ends once people have said so
		}
		return l.answered(ctx, j, fmt.Sprintf("The agent %s could not finish: %s.", f.entry, excerptLong(err.Error())))
	case err != nil:
		return stop(fmt.Errorf("agent %q: %w", f.entry, err))
	case f.final == nil:
		return step{act: actWait}
	}
	return l.answered(ctx, j, *f.final)
}

// endsUse reports whether the error of an agent used as a tool is an answer for the agent that used it: it has done
// nothing wrong itself, and can go on.
func endsUse(err error) bool {
	return errors.Is(err, ErrMaxTurns) || errors.Is(err, ErrModelBehavior) || errors.Is(err, ErrTripwire)
}

// answered ends the use of an agent with an output, once the guardrails of its tool have seen it.
func (l *loop) answered(ctx context.Context, j *job, text string) (s step) {
	output := j.call.withNote(j.tool, ToolOutput{Text: text})
	l.emit(ToolEnded{Call: j.view.clone(), Output: output})
	l.unlocked(func() {
		l.ended(ctx, j, output)
		s = l.guardOutput(ctx, j, output)
	})
	return s
}

// begin records that the agent begins, and begins its conversation. ends says that it does not.
func (l *loop) begin(ctx context.Context, j *job) (s step, ends bool) {
	effect, err := l.effect(j)
	if err == nil {
		err = stopped(ctx)
	}
	if err != nil {
		return stop(err), true
	}
	if o, objects := l.check(ctx, j); objects {
		return o.step, true
	}
	prior, err := l.journal.Intent(ctx, effect)
	switch {
	case errors.Is(err, ErrStale):
		return step{act: actAsk, question: Confirm, renew: true, attempt: effect.Attempt}, true
	case err != nil && !errors.Is(err, ErrOutcomeUnknown):
		return stop(fmt.Errorf("journal intent of %s: %w", effect.Interruption, err)), true
	case err == nil && prior.Output == nil: // else it had begun before a crash, and what came of that is lost
		if err := l.done(ctx, effect, ToolOutput{Text: "The agent has begun."}); err != nil {
			return stop(err), true
		}
	}
	var input []Item
	own := j.view.clone()
	err = l.safely(ctx, "input of an agent", own.Tool, func() (err error) {
		input, err = j.tool.Use.inputOf(&own)
		return err
	})
	if over := stopped(ctx); over != nil {
		return stop(over), true
	}
	if err != nil {
		return step{act: actAnswer, output: &ToolOutput{Text: unusableArguments(err)}}, true
	}
	l.started(ctx, j)
	return l.nest(j, input)
}

// nest begins the conversation of an agent that is used as a tool.
func (l *loop) nest(j *job, input []Item) (s step, ends bool) {
	l.state.mu.Lock()
	defer l.state.mu.Unlock()
	if l.frame.depth() >= maxDepth {
		text := fmt.Sprintf("The agent was not asked: agents already use each other %d deep.", maxDepth)
		return step{act: actAnswer, output: &ToolOutput{Text: text}}, true
	}
	if _, err := l.frame.nest(j.call, j.tool, input); err != nil {
		return stop(err), true
	}
	return step{}, false
}
