package agent

import (
	"cmp"
	"context"
	"fmt"
)

// textsNoTurns are what the conversation says of a call whose turn could not be followed by another, by what would be
// said of it if the run had ended with an error.
var textsNoTurns = map[string]string{
	textEndedBefore:  "The call was not carried out: the run has used up its turns.",
	textEndedInDoubt: "The run has used up its turns, and it is not known whether this call was carried out.",
	textEndedAfter:   "This call was carried out, but the run has used up its turns, and its output cannot be used.",
	textEndedInside: "The agent had begun and did not finish: the run has used up its turns. Calls that it made may " +
		"have been carried out.",
}

// fallBack asks the application for an answer where the run's own conversation would end with cause, and ends it with
// that. It returns cause when there is no handler, when the handler declines, and when the run may not end: somebody
// has to find out first what became of a call, or a message waits that no model has read.
//
// Nothing of the state changes before the answer has passed the guardrails: whoever resumes a run whose guardrails
// failed has the handler asked again.
func (l *loop) fallBack(ctx context.Context, cause error) error {
	f := l.frame
	failure, is := cause.(*failed) // not one of an agent inside, which is wrapped
	if !is || l.OnError == nil || f.parent != nil || l.hasInput() || f.mayHaveBegun() || f.asksWhatBecame() {
		return cause
	}
	var given *Fallback
	err := l.consultOne(ctx, "error handler", l.agent.Name, func() (err error) {
		given, err = l.OnError(ctx, &Failure{
			Err: failure.err, Answer: failure.answer, Agent: l.agent, Items: l.state.Items(), Run: l.shared,
		})
		return err
	})
	switch {
	case err != nil:
		return fmt.Errorf("%w; its handler: %w", cause, err)
	case given == nil:
		return cause
	}
	text := validText(given.Text)
	if len(text) > maxNote {
		return fmt.Errorf(
			"%w: the answer of OnError has %d bytes, and at most %d are kept", ErrConfig, len(text), maxNote)
	}
	if err := l.guardAnswer(ctx, text); err != nil {
		if unfit, is := err.(*failed); is {
			return fmt.Errorf("%w: OnError: %v", ErrConfig, unfit)
		}
		return err
	}
	l.closeCalls()
	if !given.Unrecorded {
		it := AssistantMessage(text)
		it.Agent = f.agent
		f.append(it)
		l.emit(ItemAdded{Path: f.path(), Item: it})
	}
	l.state.handled = failure.kind
	l.log.InfoContext(ctx, "answered by the error handler", "instead_of", failure.kind)
	return l.end(ctx, text)
}

// closeCalls ends the turn: what has no output gets a sentence that says what is known of it.
func (l *loop) closeCalls() {
	var b batch
	for _, c := range l.frame.calls {
		if c.State == callDone {
			continue
		}
		if c.Output == nil {
			text := cmp.Or(c.Problem, textsNoTurns[c.fate()])
			l.apply(c, step{act: actAnswer, output: &ToolOutput{Text: text, Failed: true}})
		}
		b.calls = append(b.calls, c)
	}
	l.flush(&b)
	l.frame.calls = nil
}

// end ends the conversation with its answer.
func (l *loop) end(ctx context.Context, answer string) error {
	f := l.frame
	f.final, f.answer = &answer, nil
	l.unlocked(func() {
		l.hook(ctx, func(h *Hooks) {
			if h.AgentEnd != nil {
				h.AgentEnd(ctx, l.agent, answer)
			}
		})
	})
	return l.checkpoint(ctx)
}
