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
	resumed bool     // it may have begun in an earlier execution
	ended   bool     // the journal has its output: nothing runs
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

// consider decides about every call that has no output yet. What the application's code has to say is asked for all
// of them side by side, as often as something has to be known; the steps are then taken in the order of the calls.
func (l *loop) consider(ctx context.Context, fresh bool) (*batch, error) {
	open := make([]matter, 0, len(l.frame.calls))
	for _, c := range l.frame.calls {
		if c.State != callDone {
			l.traceAnswer(ctx, c)
			open = append(open, matter{call: c, tool: l.frame.tool(c), valid: fresh && c.phase() == callNew})
		}
	}
	for {
		var queries []query
		for i := range open {
			l.decide(&open[i])
			if q, ok := l.query(ctx, &open[i]); ok {
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
	for i := range open {
		if err := l.take(&b, &open[i]); err != nil {
			return nil, err
		}
		l.traceQuestion(ctx, open[i].call, open[i].next)
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
	if s.act == actRun && l.frame.callItem(c).Type == ItemMCPApprovalRequest {
		l.postpone(c, m.tool, s.how)
		return nil
	}
	if s.act == actRun {
		resumed := c.mayHaveBegun()
		c.clear(s.how)
		b.jobs = append(b.jobs, &job{
			call: c, tool: m.tool, view: l.view(c), how: s.how, id: l.frame.interruptionID(c.ID),
			resumed: resumed, ended: c.ended,
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
		switch l.frame.callItem(c).Type {
		case ItemFunctionCall:
			output.Failed = false // its output has no word for it
		case ItemMCPApprovalRequest:
			if !output.Failed {
				output = alreadyCarriedOut(output)
			}
		}
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

// flush moves outputs of the batch to the items: those at its front, so that outputs stand in the model's order
// however the calls finish. It reports whether it moved any.
func (l *loop) flush(b *batch) bool {
	f, before := l.frame, len(l.frame.items)
	for len(b.calls) > 0 && b.calls[0].Output != nil {
		c := b.calls[0]
		it := f.outputOf(c, f.state.fitting(*c.Output))
		f.keepAnswer(c)
		f.append(it)
		c.end()
		b.calls = b.calls[1:]
	}
	if f.done() && (l.agent.ToolUse.none() || !f.anyRan()) {
		f.calls = nil
	}
	added := len(f.items) > before
	if added && l.events != nil {
		l.emitItems(f.path(), before)
	}
	return added
}

// anyRan reports whether a call of the turn was carried out and is kept for a ToolUseBehavior.
func (f *frame) anyRan() bool {
	return slices.ContainsFunc(f.calls, func(c *call) bool { return c.Ran })
}

// emitItems tells of the items from the index on, once the state holds together: the consumer of an event may read
// it.
func (l *loop) emitItems(path []string, from int) {
	for _, it := range l.frame.items[from:] {
		l.emit(ItemAdded{Path: path, Item: it})
	}
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
