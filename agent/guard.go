package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
func (l *loop) judge(ctx context.Context, in GuardrailResult, check func() (Verdict, error)) (v Verdict, err error) {
	err = l.safely(ctx, "guardrail", in.Guardrail, func() (err error) {
		v, err = check()
		return err
	})
	v.Message = shortText(v.Message)
	if err != nil {
		return v, fmt.Errorf("guardrail %q: %w", in.Guardrail, err)
	}
	if !v.Action.known() {
		return v, nil // the caller ends the run for it
	}
	in.Guardrail, in.Agent = excerptLong(in.Guardrail), l.agent.Name
	in.Verdict = Verdict{Action: v.Action, Message: excerptLong(v.Message)}
	l.state.mu.Lock()
	defer l.state.mu.Unlock()
	l.guardrails = append(l.guardrails, in)
	l.state.keepVerdict(in)
	return v, nil
}

// stage names a guardrail that looks at the call.
func (c *ToolCall) stage(stage GuardrailStage, guardrail string) GuardrailResult {
	return GuardrailResult{Stage: stage, Guardrail: guardrail, Tool: c.Tool, CallID: c.ID}
}

// tripped returns the error for a verdict that is not one of those that are handled elsewhere.
func (l *loop) tripped(name, tool string, v Verdict) error {
	if v.Action != Trip {
		return fmt.Errorf("guardrail %q: %w: %q", name, errVerdict, string(v.Action))
	}
	return &TripwireError{Guardrail: name, Agent: l.agent.Name, Tool: tool, Message: v.Message}
}

// guardBeforeApproval runs the guardrails that may spare people a question.
func (l *loop) guardBeforeApproval(ctx context.Context, c *call, tool *Tool) error {
	for _, g := range tool.InputGuardrails {
		if !g.BeforeApproval {
			continue
		}
		input := l.call(c)
		var v Verdict
		var err error
		l.outside(func() {
			in := input.stage(StageToolInput, g.Name)
			v, err = l.judge(ctx, in, func() (Verdict, error) { return g.Check(ctx, &input) })
		})
		switch {
		case err != nil:
			return err
		case l.frame.ruling(c).verdict != undecided, v.Action == Allow, v.Action == AskAgain:
		case v.Action == Replace:
			c.Output = l.failed(c, v.Message)
			return nil
		default:
			return l.tripped(g.Name, tool.Name, v)
		}
	}
	return nil
}

// guardInput runs the guardrails of a call right before it runs, without the lock. ends says that it must not run.
func (l *loop) guardInput(ctx context.Context, j *job) (o outcome, ends bool) {
	for _, g := range j.tool.InputGuardrails {
		input := j.input.clone()
		in := input.stage(StageToolInput, g.Name)
		v, err := l.judge(ctx, in, func() (Verdict, error) { return g.Check(ctx, &input) })
		switch {
		case err != nil:
			return outcome{err: err}, true
		case v.Action == Allow:
		case v.Action == Replace:
			return outcome{output: &ToolOutput{Text: v.Message, Failed: j.tool.Wire != WireFunction}, untouched: true}, true
		case v.Action == AskAgain:
			return outcome{question: Confirm, again: true}, true
		default:
			return outcome{err: l.tripped(g.Name, j.tool.Name, v)}, true
		}
	}
	return outcome{}, false
}

// guardOutput runs the guardrails of an output, without the lock. They see it each time it is read from the journal,
// so that a crash does not get it past them.
func (l *loop) guardOutput(ctx context.Context, j *job, output ToolOutput) outcome {
	output = limited(ToolOutput{Text: validText(output.Text), Failed: output.Failed, Native: output.Native})
	for _, g := range j.tool.OutputGuardrails {
		input := j.input.clone()
		in := input.stage(StageToolOutput, g.Name)
		v, err := l.judge(ctx, in, func() (Verdict, error) { return g.Check(ctx, &input, output) })
		switch {
		case err != nil:
			return outcome{err: err, onRecord: true, carriedOut: true}
		case v.Action == Allow:
		case v.Action == Replace:
			if v.Message == "" {
				v.Message = textWithheld
			}
			output = ToolOutput{Text: v.Message, Failed: output.Failed}
		default:
			return outcome{err: l.tripped(g.Name, j.tool.Name, v), onRecord: true, carriedOut: true}
		}
	}
	output.Failed = output.Failed && j.tool.Wire != WireFunction // the item of a function's output has no word for it
	return outcome{output: &output}
}

// admit takes in what the next turn is to read beyond what is there, once the guardrails have seen it.
func (l *loop) admit(ctx context.Context) error {
	f, s := l.frame, l.state
	var input []Item
	if f.turn == 0 {
		input = f.items[l.history():f.input]
	}
	own := f.parent == nil && len(s.pending) > 0
	if own {
		input = append(input[:len(input):len(input)], s.pending...)
	}
	if len(input) == 0 {
		return nil
	}
	for _, g := range l.agent.InputGuardrails {
		var v Verdict
		var err error
		in := GuardrailResult{Stage: StageInput, Guardrail: g.Name}
		l.outside(func() { v, err = l.judge(ctx, in, func() (Verdict, error) { return g.Check(ctx, l.agent, input) }) })
		switch {
		case err != nil:
			return err
		case v.Action != Allow:
			return l.tripped(g.Name, "", v)
		}
	}
	if own {
		for _, it := range s.pending {
			f.append(it)
		}
		s.pending = nil
		if f.turn == 0 {
			f.input = len(f.items)
		}
		return l.checkpoint(ctx)
	}
	return nil
}

// history is how many items the session had before the input, as long as no turn was made.
func (l *loop) history() int {
	if l.frame.parent != nil {
		return 0
	}
	return l.state.session.Saved
}

// guardAnswer checks an answer.
func (l *loop) guardAnswer(ctx context.Context, answer string) error {
	if o := l.agent.Output; o != nil {
		if err := l.safely(ctx, "output schema", l.agent.Name, func() error { return o.check(answer) }); err != nil {
			return fmt.Errorf("%w: the answer of agent %q: %w", ErrModelBehavior, l.agent.Name, err)
		}
	}
	for _, g := range l.agent.OutputGuardrails {
		var v Verdict
		var err error
		in := GuardrailResult{Stage: StageOutput, Guardrail: g.Name}
		l.outside(func() {
			v, err = l.judge(ctx, in, func() (Verdict, error) { return g.Check(ctx, l.agent, answer) })
		})
		switch {
		case err != nil:
			return err
		case v.Action != Allow:
			return l.tripped(g.Name, "", v)
		}
	}
	return nil
}

var errNotJSONObject = errors.New("it is not a JSON object")

// check reports whether the answer is what the schema asks for, as far as that is known here.
func (o *OutputSchema) check(answer string) error {
	if !json.Valid([]byte(answer)) || firstByte([]byte(answer)) != '{' {
		return errNotJSONObject
	}
	if o.Validate == nil {
		return nil
	}
	return o.Validate(json.RawMessage(answer))
}
