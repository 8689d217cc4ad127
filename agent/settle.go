package agent

import (
	"context"
	"fmt"
	"slices"
)

// Texts that the model reads as the output of a call.
const (
	textGaveUp    = "It is not known whether this call was carried out, and it will not be tried again."
	textWithdrawn = "The call was not carried out: what it depends on has changed."
	textNotAgain  = "It is not known whether this call was carried out. It was not tried again, because what it depends on has changed."
	textPanic     = "The tool failed with an internal error."
)

// job is a call that may run now.
type job struct {
	call    *call
	tool    *Tool
	input   ToolCall
	how     ruling
	id      string // of its interruption
	resumed bool   // it was cleared by an earlier execution, and may have begun
}

// round holds the calls that get an output together, in the model's order, and the jobs among them.
type round struct {
	calls []*call
	jobs  []*job
}

// settle brings the calls of the turn as far as they get without another decision. Afterwards all of them have their
// output but handoffs and those that wait. What was found out about fresh calls is in a checkpoint before any of them
// runs: after a crash no gate is asked again about a call that may have begun.
func (l *loop) settle(ctx context.Context, fresh bool) error {
	r, err := l.plan(ctx)
	if err != nil {
		return err
	}
	if moved := l.frame.flush(l, r); moved || fresh {
		if err := l.checkpoint(ctx); err != nil {
			return err
		}
	}
	return l.execute(ctx, r)
}

// plan decides about every call that has no output yet.
func (l *loop) plan(ctx context.Context) (*round, error) {
	var r round
	for _, c := range l.frame.calls {
		if c.State == callDone {
			continue
		}
		j, err := l.prepare(ctx, c)
		if err != nil {
			return nil, err
		}
		if j != nil {
			r.jobs = append(r.jobs, j)
		}
		if j != nil || c.Output != nil {
			r.calls = append(r.calls, c)
		}
	}
	return &r, nil
}

// prepare decides what happens to a call that has no output yet: a job says that it may run; with neither a job nor
// an output it waits, or is a handoff.
func (l *loop) prepare(ctx context.Context, c *call) (*job, error) {
	how := l.frame.ruling(c)
	switch {
	case c.Output != nil:
		return nil, nil
	case c.Problem != "":
		c.Output = l.failed(c, c.Problem)
		return nil, nil
	case c.Nested == nil && how.verdict == rejected:
		c.Output = l.rejection(ctx, c, how)
		return nil, nil
	case how.output != nil:
		return nil, l.reported(ctx, c, *how.output)
	}
	tool, err := l.usable(c)
	switch {
	case err != nil:
		return nil, err
	case tool == nil:
		c.Output = l.failed(c, c.Problem)
		return nil, nil
	case tool.handoff != nil:
		if c.State == callWaiting && how.verdict == approved { // it was asked about while it was another tool
			c.clear(how)
		}
		return nil, nil
	}
	return l.clearance(ctx, c, tool, how)
}

// reported takes the output that people gave, once the guardrails of the call's tool have seen it, if there still is one.
func (l *loop) reported(ctx context.Context, c *call, output ToolOutput) error {
	tool := l.frame.tool(c)
	output = c.noted(tool, output)
	if tool != nil {
		j := &job{call: c, tool: tool, input: l.call(c)}
		var o outcome
		l.outside(func() { o = l.guardOutput(ctx, j, output) })
		if o.err != nil {
			return o.err
		}
		output = *o.output
	}
	c.Output = &output
	l.ran(c)
	return nil
}

// clearance finds out whether the call may run now.
func (l *loop) clearance(ctx context.Context, c *call, tool *Tool, how ruling) (*job, error) {
	resumed := c.State == callCleared
	how, err := l.revised(ctx, c, tool, how)
	if err == nil && c.State == callNew {
		how, err = l.fresh(ctx, c, tool)
	}
	switch {
	case err != nil || c.Output != nil:
		return nil, err
	case c.Problem != "":
		c.Output = l.failed(c, c.Problem)
		return nil, nil
	case how.verdict == rejected:
		c.Output = l.rejection(ctx, c, how)
		return nil, nil
	case how.verdict == undecided:
		if c.wait() {
			l.asked(c)
		}
		return nil, nil
	case tool.External && c.Question != ExternalResult:
		c.ask(ExternalResult)
		c.Renew = true
		l.asked(c)
		return nil, nil
	}
	c.clear(how)
	input := l.frame.toolCall(c)
	input.Run = l.shared
	return &job{call: c, tool: tool, input: input, how: how, id: l.frame.interruptionID(c.ID), resumed: resumed}, nil
}

// revised takes over arguments that a person changed or completed.
func (l *loop) revised(ctx context.Context, c *call, tool *Tool, how ruling) (ruling, error) {
	if c.State != callWaiting || c.Decision == nil || c.Decision.Arguments == nil && !c.Unbound {
		return how, nil
	}
	filled := c.Question == FieldsRequired
	if c.Decision.Arguments != nil { // else the run was stopped below
		c.Arguments, c.Decision.Arguments = c.Decision.Arguments, nil
		c.Preconditions, c.Unbound = nil, tool.Preconditions != nil
		c.bind(l.frame.definition(c, tool))
	}
	if filled {
		c.State, c.Question, c.Decision, c.Renew, c.Given, c.Unbound = callNew, "", nil, false, true, false
		return ruling{}, nil
	}
	if err := l.determine(ctx, c, tool); err != nil || c.Problem != "" {
		return how, err
	}
	if tool.NeedsApproval != nil {
		if _, err := l.gate(ctx, tool, l.call(c)); err != nil {
			c.ask(Confirm)
			c.Renew = true
			l.asked(c)
			return ruling{}, nil
		}
	}
	return l.frame.ruling(c), nil
}

// fresh finds out about a call that nobody has decided about: what is missing in it, what it depends on, and whether
// its gate lets it through.
func (l *loop) fresh(ctx context.Context, c *call, tool *Tool) (ruling, error) {
	how := l.frame.ruling(c)
	if how.verdict == rejected {
		return how, nil
	}
	if len(tool.Fields) > 0 && !c.Given {
		c.ask(FieldsRequired)
		c.Renew = true
		l.asked(c)
		return ruling{}, nil
	}
	if tool.Preconditions != nil {
		c.Unbound = true
		if err := l.determine(ctx, c, tool); err != nil || c.Problem != "" {
			return how, err
		}
	}
	if how.verdict != undecided {
		return how, nil
	}
	asks := l.asks(ctx, tool, l.call(c))
	how = l.frame.ruling(c) // an answer may have been recorded while the gate was asked
	switch {
	case how.verdict != undecided:
		return how, nil
	case !asks:
		return ruling{verdict: free}, nil
	case tool.Audit:
		return ruling{verdict: free, review: true}, nil
	}
	if err := l.guardBeforeApproval(ctx, c, tool); err != nil || c.Output != nil {
		return ruling{}, err
	}
	if how = l.frame.ruling(c); how.verdict == undecided {
		how = l.program(ctx, c, tool)
	}
	return how, nil
}

// determine asks the tool what the call depends on, where that is not known yet.
func (l *loop) determine(ctx context.Context, c *call, tool *Tool) error {
	if !c.Unbound {
		return nil
	}
	var facts []string
	var err error
	input := l.call(c)
	l.outside(func() { facts, err = l.bindFacts(ctx, tool, input) })
	if stop := stopped(ctx); stop != nil {
		return stop
	}
	if err != nil {
		c.fail(unusableArguments(err))
		return nil
	}
	c.Preconditions, c.Unbound = facts, false
	c.bind(l.frame.definition(c, tool))
	return nil
}

// program asks the tool's OnApproval, if any, to decide instead of people.
func (l *loop) program(ctx context.Context, c *call, tool *Tool) ruling {
	if tool.OnApproval == nil {
		return ruling{}
	}
	c.ask(Confirm)
	in := l.frame.interruption(c)
	in.Call.Run = l.shared
	c.State, c.Question = callNew, ""
	var answer *ToolApproval
	var err error
	l.outside(func() {
		err = l.safely(ctx, "programmatic approval", tool.Name, func() (err error) {
			answer, err = tool.OnApproval(ctx, &in)
			return err
		})
	})
	switch {
	case err != nil:
		l.log.WarnContext(ctx, "programmatic approval failed; asking", "tool", tool.Name)
		return ruling{}
	case answer == nil:
		return ruling{}
	}
	c.ask(Confirm)
	c.Decision = &decision{Approve: answer.Approve, Program: true}
	if !answer.Approve && answer.Reason != "" {
		reason := shortText(answer.Reason)
		c.Decision.Message = &reason
	}
	return l.frame.ruling(c)
}

// usable returns the tool of a call, or gives the call a problem when the tool no longer takes its arguments. A call
// that may have begun keeps going: the journal knows what became of it.
func (l *loop) usable(c *call) (*Tool, error) {
	tool := l.frame.tool(c)
	if tool == nil {
		return nil, fmt.Errorf("%w: %q of agent %q", ErrUnknownTool, c.Tool, l.agent.Name)
	}
	if c.State == callCleared {
		return tool, nil
	}
	if err := tool.validateCall(c); err != nil {
		c.refuse(err)
		return nil, nil
	}
	return tool, nil
}

// call returns the call as the application's code sees it.
func (l *loop) call(c *call) ToolCall {
	input := l.frame.toolCall(c)
	input.Run = l.shared
	return input
}

// asks evaluates the tool's gate. A gate that fails asks. What the provider asks about is asked, unless a gate knows
// better.
func (l *loop) asks(ctx context.Context, tool *Tool, input ToolCall) bool {
	if tool.NeedsApproval == nil {
		return tool.Wire == WireHosted
	}
	yes, err := l.gate(ctx, tool, input)
	return yes || err != nil
}

func (l *loop) gate(ctx context.Context, tool *Tool, input ToolCall) (yes bool, err error) {
	l.outside(func() {
		err = l.safely(ctx, "gate", tool.Name, func() (err error) {
			yes, err = tool.NeedsApproval(ctx, &input)
			return err
		})
	})
	if err != nil {
		l.log.WarnContext(ctx, "gate failed; asking", "tool", tool.Name)
	}
	return yes, err
}

// rejection returns what the model reads about a rejected call: the message given with the decision, else the one
// given with a standing decision, else the application's wording. A hosted server is only told what people said.
func (l *loop) rejection(ctx context.Context, c *call, how ruling) *ToolOutput {
	hosted := l.frame.callItem(c).Type == ItemMCPApprovalRequest
	switch {
	case how.message != nil:
		return l.failed(c, *how.message)
	case hosted:
		return l.failed(c, "")
	case c.Question == OutcomeUnknown:
		return l.failed(c, textGaveUp)
	case l.RejectionMessage == nil:
		return l.failed(c, DefaultRejection)
	}
	var text string
	var err error
	input := l.call(c)
	l.outside(func() {
		err = l.safely(ctx, "rejection message", c.Tool, func() (err error) {
			text, err = l.RejectionMessage(ctx, &input)
			return err
		})
	})
	if err != nil {
		l.log.WarnContext(ctx, "rejection message failed; using the default", "tool", c.Tool)
	}
	if err != nil || text == "" {
		text = DefaultRejection
	}
	return l.failed(c, shortText(text))
}

// failed returns the output of a call that was not carried out. Functions have no word for that beyond the text.
func (l *loop) failed(c *call, text string) *ToolOutput {
	return &ToolOutput{Text: text, Failed: l.frame.callItem(c).Type != ItemFunctionCall}
}

// ran notes that the call was carried out, where somebody wants to know.
func (l *loop) ran(c *call) { c.Ran = !l.agent.ToolUse.none() }

// asked tells a stream that people have to be asked about the call.
func (l *loop) asked(c *call) {
	if l.events != nil {
		l.emit(ApprovalRequested{Interruption: l.frame.interruption(c)})
	}
}

// flush moves outputs of the round to the items: those at its front, so that outputs stand in the model's order
// however the calls finish. It reports whether it moved any.
func (f *frame) flush(l *loop, r *round) bool {
	n := 0
	for n < len(r.calls) && r.calls[n].Output != nil {
		c := r.calls[n]
		it := f.outputOf(c, f.state.fitting(*c.Output))
		f.keepAnswer(c)
		f.append(it)
		*c = call{ID: c.ID, Tool: c.Tool, State: callDone, Ran: c.Ran}
		l.emit(ItemAdded{Path: f.path(), Item: it})
		n++
	}
	r.calls = r.calls[n:]
	if f.done() && (l.agent.ToolUse.none() || !f.anyRan()) {
		f.calls = nil
	}
	return n > 0
}

// anyRan reports whether a call of the turn was carried out and is kept for a ToolUseBehavior.
func (f *frame) anyRan() bool {
	return slices.ContainsFunc(f.calls, func(c *call) bool { return c.Ran })
}
