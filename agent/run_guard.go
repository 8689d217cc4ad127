package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"countersign/agent/guardrail"
)

var (
	errGuardrailCheck = errors.New("a guardrail has no Check function")
	errVerdict        = errors.New("the guardrail's verdict has no meaning here")
)

// textWithheld is what the model reads when a guardrail replaces an output without saying by what.
const textWithheld = "The output was withheld."

func (t *Tool) checkGuardrails() error {
	for _, g := range t.InputGuardrails {
		if g.Check == nil {
			return errGuardrailCheck
		}
	}
	for _, g := range t.OutputGuardrails {
		if g.Check == nil {
			return errGuardrailCheck
		}
	}
	return nil
}

func (a *Agent) checkGuardrails() error {
	for _, g := range a.InputGuardrails {
		if g.Check == nil {
			return errGuardrailCheck
		}
	}
	for _, g := range a.OutputGuardrails {
		if g.Check == nil {
			return errGuardrailCheck
		}
	}
	return nil
}

// judge calls a guardrail, without the lock, and keeps what it says; in says which it is. Its error, and a panic, end
// the run.
func (l *loop) judge(
	ctx context.Context, in guardrail.Result, check func(context.Context) (guardrail.Verdict, error),
) (v guardrail.Verdict, err error) {
	err = l.safely(ctx, "guardrail", in.Guardrail, func() (err error) {
		v, err = l.traceGuardrail(ctx, in, check)
		return err
	})
	v.Message = shortText(v.Message)
	if err != nil {
		return v, fmt.Errorf("guardrail %q: %w", in.Guardrail, err)
	}
	if !knownAction(v.Action) {
		return v, nil // the caller ends the run for it
	}
	in.Guardrail, in.Agent = excerptLong(in.Guardrail), l.agent.Name
	in.Verdict = guardrail.Verdict{Action: v.Action, Message: excerptLong(v.Message)}
	l.state.mu.Lock()
	defer l.state.mu.Unlock()
	l.guardrails = append(l.guardrails, in)
	l.state.keepVerdict(in)
	return v, nil
}

// stage names a guardrail that looks at the call.
func (c *ToolCall) stage(stage guardrail.Stage, name string) guardrail.Result {
	return guardrail.Result{Stage: stage, Guardrail: name, Tool: c.Tool, CallID: c.ID}
}

// tripped returns the error for a verdict that is not one of those that are handled elsewhere.
func (l *loop) tripped(name, tool string, v guardrail.Verdict) error {
	if v.Action != guardrail.Trip {
		return fmt.Errorf("guardrail %q: %w: %q", name, errVerdict, string(v.Action))
	}
	return &TripwireError{Guardrail: name, Agent: l.agent.Name, Tool: tool, Message: v.Message}
}

// screen runs the guardrails that may spare people a question.
func (l *loop) screen(ctx context.Context, m *matter) query {
	c, view := m.call, l.view(m.call)
	var name string
	var v guardrail.Verdict
	ask := func() (err error) {
		for _, g := range m.tool.InputGuardrails {
			if !g.BeforeApproval {
				continue
			}
			own := view.clone()
			check := func(ctx context.Context) (guardrail.Verdict, error) { return g.Check(ctx, &own) }
			v, err = l.judge(ctx, own.stage(guardrail.ToolInput, g.Name), check)
			switch name = g.Name; {
			case err != nil:
				return err
			case v.Action == guardrail.Allow, v.Action == guardrail.AskAgain:
				v = guardrail.Verdict{}
				continue
			}
			return nil
		}
		return nil
	}
	return query{"guardrail", m.tool.Name, ask, func(err error) error {
		switch {
		case err != nil:
			return err
		case l.frame.ruling(c).verdict != undecided, v.Action == guardrail.Allow:
			m.known.screened = true
		case v.Action == guardrail.Replace:
			l.apply(c, step{act: actAnswer, output: &ToolOutput{Text: v.Message, Failed: true}})
		default:
			return l.tripped(name, m.tool.Name, v)
		}
		return nil
	}}
}

// guardInput runs the guardrails of a call right before it runs, without the lock.
func (l *loop) guardInput(ctx context.Context, j *job) (o objection, objects bool) {
	for _, g := range j.tool.InputGuardrails {
		own := j.view.clone()
		check := func(ctx context.Context) (guardrail.Verdict, error) { return g.Check(ctx, &own) }
		v, err := l.judge(ctx, own.stage(guardrail.ToolInput, g.Name), check)
		switch {
		case err != nil:
			return objection{step: stop(err)}, true
		case v.Action == guardrail.Allow:
		case v.Action == guardrail.Replace:
			output := &ToolOutput{Text: v.Message, Failed: j.tool.Wire != WireFunction}
			return objection{step: step{act: actAnswer, output: output}, inWords: true}, true
		case v.Action == guardrail.AskAgain:
			s := step{act: actAsk, question: Confirm, renew: true, again: true}
			if j.call.Question == OutcomeUnknown { // whether it has happened is as unknown as it was
				s.question, s.attempt = OutcomeUnknown, j.call.Attempt
			}
			return objection{step: s}, true
		default:
			return objection{step: stop(l.tripped(g.Name, j.tool.Name, v))}, true
		}
	}
	return objection{}, false
}

// guardOutput runs the guardrails of an output, without the lock. They see it each time it is read from the journal,
// so that a crash does not get it past them.
func (l *loop) guardOutput(ctx context.Context, j *job, output ToolOutput) step {
	output = limited(ToolOutput{Text: validText(output.Text), Failed: output.Failed, Native: output.Native})
	for _, g := range j.tool.OutputGuardrails {
		own := j.view.clone()
		check := func(ctx context.Context) (guardrail.Verdict, error) { return g.Check(ctx, &own, output) }
		v, err := l.judge(ctx, own.stage(guardrail.ToolOutput, g.Name), check)
		if err == nil && v.Action != guardrail.Allow && v.Action != guardrail.Replace {
			err = l.tripped(g.Name, j.tool.Name, v)
		}
		switch {
		case err != nil:
			s := stop(err)
			s.recorded, s.carriedOut = true, true
			return s
		case v.Action == guardrail.Replace:
			output = ToolOutput{Text: cmp.Or(v.Message, textWithheld), Failed: output.Failed}
		}
	}
	return step{act: actAnswer, output: &output, ran: true}
}

// admit takes in what the next turn is to read beyond what is there, once the guardrails have seen it.
func (l *loop) admit(ctx context.Context) error {
	f, s := l.frame, l.state
	var input []Item
	if f.turn == 0 {
		input = f.items[l.history():f.input]
	}
	own := l.hasInput()
	if own {
		input = append(input[:len(input):len(input)], s.pending...)
	}
	if len(input) == 0 {
		return nil
	}
	for _, g := range l.agent.InputGuardrails {
		in := guardrail.Result{Stage: guardrail.Input, Guardrail: g.Name}
		check := func(ctx context.Context) (guardrail.Verdict, error) { return g.Check(ctx, l.agent, input) }
		if err := l.guardAgent(ctx, in, check); err != nil {
			return err
		}
	}
	if own {
		for _, it := range s.pending {
			f.append(it)
		}
		s.pending, f.answer = nil, nil // an answer that was refused, or not checked, is followed by another
		if f.turn == 0 {
			f.input = len(f.items)
		}
		return l.checkpoint(ctx)
	}
	return nil
}

// guardAgent runs a guardrail of the agent, which can only allow what it sees or end the run.
func (l *loop) guardAgent(
	ctx context.Context, in guardrail.Result, check func(context.Context) (guardrail.Verdict, error),
) error {
	var v guardrail.Verdict
	err := l.consultOne(ctx, "guardrail", in.Guardrail, func() (err error) {
		v, err = l.judge(ctx, in, check)
		return err
	})
	if err == nil && v.Action != guardrail.Allow {
		return l.tripped(in.Guardrail, "", v)
	}
	return err
}

// history is how many items the session had before the input, as long as no turn was made.
func (l *loop) history() int {
	if l.frame.parent != nil {
		return 0
	}
	return l.state.session.Saved
}
