package agent

import (
	"context"
	"log/slog"

	"countersign/agent/guardrail"
	"countersign/agent/trace"
)

// traceTool executes a call within a span.
func (l *loop) traceTool(
	ctx context.Context, j *job, work func(context.Context) (ToolOutput, error),
) (output ToolOutput, err error) {
	if l.Tracer == nil {
		return work(ctx)
	}
	attrs := append(viewAttrs(&j.view), slog.String(trace.AttrInterruption, j.id),
		slog.String(trace.AttrVerdict, j.how.word()))
	if j.how.standing() {
		attrs = append(attrs, slog.Bool(trace.AttrAlways, true))
	}
	s := trace.Start{Kind: trace.Tool, Name: j.view.Tool, Attrs: attrs}
	l.traced(ctx, s, func(ctx context.Context, _ trace.Span) spanEnd {
		output, err = work(ctx)
		switch {
		case err == nil && output.Failed:
			return spanEnd{class: trace.ClassFailed}
		case err != nil && ctx.Err() == context.DeadlineExceeded:
			return spanEnd{class: trace.ClassTimeout}
		}
		return ended(err)
	})
	return output, err
}

// viewAttrs returns the attributes of a call as the application's code sees it.
func viewAttrs(view *ToolCall) []slog.Attr {
	attrs := make([]slog.Attr, 0, 8)
	return append(attrs, slog.String(trace.AttrAgent, view.Agent), slog.Int(trace.AttrTurn, view.Turn),
		slog.String(trace.AttrTool, view.Tool), slog.String(trace.AttrToolKind, string(view.Kind)),
		slog.String(trace.AttrCall, view.ID))
}

// word says in one word what people, a program or a standing answer said.
func (r ruling) word() string {
	switch {
	case r.verdict == rejected:
		return "rejected"
	case r.output != nil:
		return "output"
	case r.verdict == approved:
		return "approved"
	case r.review:
		return "review"
	}
	return "free"
}

// standing reports whether a standing answer said so.
func (r ruling) standing() bool { return (r.verdict == approved || r.verdict == rejected) && !r.exact }

// traceQuestion notes that people are asked about a call.
func (l *loop) traceQuestion(ctx context.Context, c *call, s step) {
	if l.Tracer == nil || s.act != actAsk {
		return
	}
	if l.asked == nil {
		l.asked = make(map[*call]bool)
	}
	l.asked[c] = true
	l.moment(ctx, trace.Start{Kind: trace.Question, Name: c.Tool, Attrs: l.aboutQuestion(c)})
}

// traceAnswer notes that the run goes on with what people answered about a call.
func (l *loop) traceAnswer(ctx context.Context, c *call) {
	byProgram := c.Decision != nil && c.Decision.Program
	if l.Tracer == nil || c.State != callWaiting || c.Output != nil || byProgram {
		return
	}
	how := l.frame.ruling(c)
	if how.verdict == undecided {
		return
	}
	attrs := append(l.aboutQuestion(c), slog.String(trace.AttrVerdict, how.word()))
	if how.standing() {
		attrs = append(attrs, slog.Bool(trace.AttrAlways, true))
	}
	s := trace.Start{Kind: trace.Answer, Name: c.Tool, Attrs: attrs}
	if !l.asked[c] {
		s.Links = l.links()
	}
	l.moment(ctx, s)
}

func (l *loop) aboutQuestion(c *call) []slog.Attr {
	view := l.frame.toolCall(c)
	attrs := append(viewAttrs(&view), slog.String(trace.AttrInterruption, l.frame.interruptionID(c.ID)),
		slog.String(trace.AttrQuestion, string(c.Question)))
	if c.Attempt > 0 {
		attrs = append(attrs, slog.Int(trace.AttrAttempt, c.Attempt))
	}
	return attrs
}

// traceHandoff carries out the handoffs of a turn within a span.
func (l *loop) traceHandoff(ctx context.Context, work func(context.Context) error) (err error) {
	if l.Tracer == nil {
		return work(ctx)
	}
	s := trace.Start{Kind: trace.Handoff, Attrs: l.about(l.frame.turn)}
	for _, c := range l.frame.calls {
		if c.State == callDone {
			continue
		}
		if t := l.frame.tool(c); t != nil && t.handoff != nil {
			s.Name = t.handoff.Agent.Name
			s.Attrs = append(s.Attrs, slog.String(trace.AttrTo, s.Name))
		}
		break // only the first happens
	}
	l.traced(ctx, s, func(ctx context.Context, _ trace.Span) spanEnd {
		err = work(ctx)
		verdict := "refused"
		if l.begins { // another agent
			verdict = "done"
		}
		return ended(err, slog.String(trace.AttrVerdict, verdict))
	})
	return err
}

// traceGuardrail runs a guardrail within a span; in says which it is.
func (l *loop) traceGuardrail(
	ctx context.Context, in guardrail.Result, check func(context.Context) (guardrail.Verdict, error),
) (v guardrail.Verdict, err error) {
	if l.Tracer == nil {
		return check(ctx)
	}
	s := trace.Start{Kind: trace.Guardrail, Name: in.Guardrail, Attrs: []slog.Attr{
		slog.String(trace.AttrAgent, l.agent.Name), slog.String(trace.AttrStage, string(in.Stage)),
	}}
	if in.Tool != "" {
		s.Attrs = append(s.Attrs, slog.String(trace.AttrTool, in.Tool), slog.String(trace.AttrCall, in.CallID))
	}
	l.traced(ctx, s, func(ctx context.Context, _ trace.Span) spanEnd {
		if v, err = check(ctx); err != nil {
			return ended(err)
		}
		return ended(nil, slog.String(trace.AttrVerdict, actionWord(v.Action)))
	})
	return v, err
}

// actionWord is the action in one word. What is not one of the actions may be any text.
func actionWord(a guardrail.Action) string {
	switch a {
	case guardrail.Allow:
		return "allow"
	case guardrail.Replace, guardrail.AskAgain, guardrail.Trip:
		return string(a)
	}
	return "unknown"
}

// runInside takes the conversation of an agent that is used as a tool as far as it gets, within a span.
func (l *loop) runInside(ctx context.Context, view *ToolCall) (err error) {
	if l.Tracer == nil {
		return l.run(ctx)
	}
	s := trace.Start{Kind: trace.Agent, Name: l.agent.Name, Attrs: []slog.Attr{
		slog.String(trace.AttrAgent, l.agent.Name), slog.String(trace.AttrTool, view.Tool),
		slog.String(trace.AttrCall, view.ID),
	}}
	s.Attrs = l.addModel(ctx, s.Attrs, l.agent, nil)
	l.traced(ctx, s, func(ctx context.Context, _ trace.Span) spanEnd {
		err = l.run(ctx)
		return ended(err, slog.Int(trace.AttrQuestions, len(l.frame.questions(nil, unanswered))))
	})
	return err
}
