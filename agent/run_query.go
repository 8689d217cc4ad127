package agent

import (
	"context"
	"errors"
)

// query returns what has to be asked of the application's code before more can be decided about a call, if anything.
func (l *loop) query(ctx context.Context, m *matter) (query, bool) {
	switch m.next.act {
	case actLookUp:
		return l.lookUp(ctx, m), true
	case actGate:
		return l.gate(ctx, m), true
	case actScreen:
		return l.screen(ctx, m), true
	case actProgram:
		return l.program(ctx, m), true
	case actReject:
		return l.reject(ctx, m)
	case actReport:
		return l.report(ctx, m), true
	}
	return query{}, false
}

// proposed returns the call as it would run: with the arguments that people made of it, if they did.
func (l *loop) proposed(c *call) ToolCall {
	view := l.view(c)
	if d := c.Decision; d != nil && d.Arguments != nil {
		view.Arguments = append([]byte(nil), d.Arguments...)
	}
	return view
}

// lookUp asks for the preconditions of a call. Without them it does not run.
func (l *loop) lookUp(ctx context.Context, m *matter) query {
	c, view := m.call, l.proposed(m.call)
	var found []string
	ask := func() (err error) {
		found, err = m.tool.lookUp(ctx, view)
		return err
	}
	return query{"preconditions", m.tool.Name, ask, func(err error) error {
		if err != nil {
			c.refuse(err)
			return nil
		}
		m.known.lookedUp, m.known.preconditions = true, found
		if c.State == callNew {
			l.takeOver(m)
		}
		return nil
	}}
}

var errManyPreconditions = errors.New("what the call depends on is too long to be kept")

// lookUp returns the preconditions of a call.
func (t *Tool) lookUp(ctx context.Context, view ToolCall) ([]string, error) {
	own := view.clone()
	found, err := t.Preconditions(ctx, &own)
	size := 0
	for i := range found {
		found[i] = validText(found[i])
		size += quotedLen(found[i])
	}
	if err == nil && size > maxOutputBytes {
		return nil, errManyPreconditions
	}
	return found, err
}

// gate asks whether people have to be asked about a call. A gate that fails asks.
func (l *loop) gate(ctx context.Context, m *matter) query {
	view := l.proposed(m.call)
	var yes bool
	ask := func() (err error) {
		yes, err = m.tool.NeedsApproval(ctx, &view)
		return err
	}
	return query{"gate", m.tool.Name, ask, func(err error) error {
		switch {
		case err != nil:
			l.log.WarnContext(ctx, "gate failed; asking", "tool", m.tool.Name)
			m.known.gate = gateBroken
		case yes:
			m.known.gate = gateAsks
		default:
			m.known.gate = gateFree
		}
		return nil
	}}
}

// program asks the tool's OnApproval to decide instead of people. One that fails leaves it to them.
func (l *loop) program(ctx context.Context, m *matter) query {
	c, shown := m.call, *m.call
	shown.Question = Confirm
	in := l.frame.interruption(&shown)
	in.Call.Run = l.shared
	var answer *ToolApproval
	ask := func() (err error) {
		answer, err = m.tool.OnApproval(ctx, &in)
		return err
	}
	return query{"programmatic approval", m.tool.Name, ask, func(err error) error {
		if err != nil {
			l.log.WarnContext(ctx, "programmatic approval failed; asking", "tool", m.tool.Name)
		}
		if err != nil || answer == nil || l.frame.ruling(c).verdict != undecided {
			m.known.undecided = true
			return nil
		}
		c.ask(Confirm)
		c.Decision = &decision{Approve: answer.Approve, Program: true}
		if !answer.Approve && answer.Reason != "" {
			reason := shortText(answer.Reason)
			c.Decision.Message = &reason
		}
		return nil
	}}
}

// reject words what the model reads about a rejected call: the message given with the decision, else the one given
// with a standing decision, else the application's wording. A hosted server is only told what people said.
func (l *loop) reject(ctx context.Context, m *matter) (query, bool) {
	c, how := m.call, m.known.ruling
	text := DefaultRejection
	switch {
	case how.message != nil:
		text = *how.message
	case c.Question == OutcomeUnknown:
		text = textGaveUp
	case l.frame.callItem(c).Type == ItemMCPApprovalRequest:
		text = ""
	}
	if l.RejectionMessage == nil || text != DefaultRejection || how.message != nil {
		l.apply(c, step{act: actAnswer, output: &ToolOutput{Text: text, Failed: true}})
		return query{}, false
	}
	view := l.view(c)
	ask := func() error {
		own, err := l.RejectionMessage(ctx, &view)
		if err == nil && own != "" {
			text = shortText(own)
		}
		return err
	}
	return query{"rejection message", c.Tool, ask, func(err error) error {
		if err != nil {
			l.log.WarnContext(ctx, "rejection message failed; using the default", "tool", c.Tool)
		}
		l.apply(c, step{act: actAnswer, output: &ToolOutput{Text: text, Failed: true}})
		return nil
	}}, true
}

// report has the output that people gave pass the guardrails of the call's tool, if there still is one.
func (l *loop) report(ctx context.Context, m *matter) query {
	c, tool := m.call, m.tool
	output := c.withNote(tool, *m.known.ruling.output)
	s := step{act: actAnswer, output: &output, ran: true}
	j := &job{call: c, tool: tool, view: l.view(c)}
	ask := func() error {
		if tool != nil {
			s = l.guardOutput(ctx, j, output)
		}
		return s.err
	}
	return query{"guardrail", c.Tool, ask, func(err error) error {
		if err == nil {
			l.apply(c, s)
		}
		return err
	}}
}
