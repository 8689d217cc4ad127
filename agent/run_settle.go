package agent

import (
	"context"
	"slices"
)

// batch holds the calls that get an output together, in the model's order, and the jobs among them.
type batch struct {
	calls []*call
	jobs  []*job
}

// job is a call that may run now.
type job struct {
	call    *call
	tool    *Tool
	view    ToolCall // what the application's code sees of it
	how     ruling   // what lets it run
	id      string   // of its interruption
	resumed bool     // it was cleared by an earlier execution, and may have begun
}

// settle brings the calls of the turn as far as they get without another decision. Afterwards all of them have their
// output but handoffs and those that wait. What was found out about fresh calls is in a checkpoint before any of them
// runs: after a crash no gate is asked again about a call that may have begun.
func (l *loop) settle(ctx context.Context, fresh bool) error {
	b, err := l.consider(ctx, fresh)
	if err != nil {
		return err
	}
	if moved := l.flush(b); moved || fresh {
		if err := l.checkpoint(ctx); err != nil {
			return err
		}
	}
	return l.execute(ctx, b)
}

// matter is a call about which a step is wanted.
type matter struct {
	call  *call
	tool  *Tool
	known knowledge
	valid bool // known.invalid is up to date
	next  step
}

// consider decides about every call that has no output yet. What the application's code has to say is asked for all of
// them side by side, as often as something has to be known; the steps are then taken in the order of the calls.
func (l *loop) consider(ctx context.Context, fresh bool) (*batch, error) {
	var open []*matter
	for _, c := range l.frame.calls {
		if c.State != callDone {
			l.traceAnswer(ctx, c)
			open = append(open, &matter{call: c, tool: l.frame.tool(c), valid: fresh && c.phase() == callNew})
		}
	}
	for {
		var queries []query
		for _, m := range open {
			l.decide(m)
			if q, ok := l.query(ctx, m); ok {
				queries = append(queries, q)
			}
		}
		if len(queries) == 0 {
			break
		}
		if err := l.consult(ctx, queries); err != nil {
			return nil, err
		}
	}
	var b batch
	for _, m := range open {
		if err := l.take(&b, m); err != nil {
			return nil, err
		}
		l.traceQuestion(ctx, m.call, m.next)
	}
	return &b, nil
}

// decide finds the next step that is not a mere change of the call.
func (l *loop) decide(m *matter) {
	c := m.call
	for {
		m.known.ruling = l.frame.ruling(c)
		if m.tool != nil && !m.valid && c.Problem == "" && c.Output == nil {
			m.known.invalid, m.valid = m.tool.validateCall(c), true
		}
		m.next = decide(c, m.tool, m.known)
		switch m.next.act {
		case actComplete:
			c.complete()
			c.bind(l.frame.definition(c, m.tool))
			m.known, m.valid = knowledge{}, false
		case actRefuse:
			c.refuse(m.next.err)
		default:
			return
		}
	}
}

// take carries out the step that was decided for a call.
func (l *loop) take(b *batch, m *matter) error {
	c, s := m.call, m.next
	switch s.act {
	case actStop:
		return s.err
	case actAsk, actRun:
		l.takeOver(m)
	case actHandOff:
		if c.State == callWaiting { // it was asked about while it was another tool
			c.clear(m.known.ruling)
		}
	}
	if s.act == actRun {
		resumed := c.State == callCleared
		c.clear(s.how)
		b.jobs = append(b.jobs, &job{
			call: c, tool: m.tool, view: l.view(c), how: s.how, id: l.frame.interruptionID(c.ID), resumed: resumed,
		})
		b.calls = append(b.calls, c)
		return nil
	}
	l.apply(c, s)
	if c.Output != nil {
		b.calls = append(b.calls, c)
	}
	return nil
}

// takeOver binds the call to the arguments that people made of it, and to the preconditions that were looked up.
func (l *loop) takeOver(m *matter) {
	c := m.call
	changed := c.Decision != nil && c.Decision.Arguments != nil
	if changed {
		c.Arguments, c.Decision.Arguments = c.Decision.Arguments, nil
		c.Preconditions = nil
	}
	if m.known.lookedUp {
		c.Preconditions = m.known.preconditions
	}
	c.Unbound = false
	if changed || m.known.lookedUp {
		c.bind(l.frame.definition(c, m.tool))
	}
}

// apply takes what became of a call into the state: an output, a question, or nothing.
func (l *loop) apply(c *call, s step) {
	switch s.act {
	case actAnswer:
		output := *s.output
		output.Failed = output.Failed && l.frame.callItem(c).Type != ItemFunctionCall // its output has no word for it
		c.Output, c.Nested = &output, nil
		c.Ran = s.ran && !l.agent.ToolUse.none()
	case actAsk:
		if s.rebinds {
			c.Preconditions = s.facts
			c.bind(*c.Definition)
		}
		c.ask(s.question)
		c.Renew, c.Attempt = s.renew, s.attempt
		if s.again {
			c.AskedAgain++
		}
		if l.events != nil {
			l.emit(ApprovalRequested{Interruption: l.frame.interruption(c)})
		}
	}
}

// flush moves outputs of the batch to the items: those at its front, so that outputs stand in the model's order however
// the calls finish. It reports whether it moved any.
func (l *loop) flush(b *batch) bool {
	f, n := l.frame, 0
	for n < len(b.calls) && b.calls[n].Output != nil {
		c := b.calls[n]
		it := f.outputOf(c, *c.Output)
		f.append(it)
		c.end()
		l.emit(ItemAdded{Path: f.path(), Item: it})
		n++
	}
	b.calls = b.calls[n:]
	if l.agent.ToolUse.none() && f.done() {
		f.calls = nil
	}
	return n > 0
}

// drop takes a call out of the batch that gets no output with it.
func (b *batch) drop(c *call) {
	b.calls = slices.DeleteFunc(b.calls, func(other *call) bool { return other == c })
}

// view returns the call as the application's code sees it.
func (l *loop) view(c *call) ToolCall {
	view := l.frame.toolCall(c)
	view.Run = l.shared
	return view
}
