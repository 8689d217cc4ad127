package agent

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"strings"

	"countersign/agent/trace"
)

// maxLink bounds what a tracer may have saved with a state.
const maxLink = 512

// spanEnd is how the work within a span ended.
type spanEnd struct {
	class string
	attrs []slog.Attr
}

func ended(err error, attrs ...slog.Attr) spanEnd { return spanEnd{classOf(err), attrs} }

// traced does work within a span that ends with it, also when the work panics or ends its goroutine. The caller has
// checked that there is a Tracer: without one nothing is to be allocated.
func (x *execution) traced(
	ctx context.Context, s trace.Start, work func(ctx context.Context, span trace.Span) spanEnd,
) {
	inner, span := x.startSpan(ctx, s)
	end := spanEnd{class: trace.ClassPanic} // unless it returns
	defer func() {
		if span != nil {
			x.guardTracer(ctx, func() { span.End(end.class, end.attrs...) })
		}
	}()
	end = work(inner, span)
}

// moment is a span of no length.
func (x *execution) moment(ctx context.Context, s trace.Start) {
	x.traced(ctx, s, func(context.Context, trace.Span) spanEnd { return spanEnd{} })
}

func (x *execution) startSpan(ctx context.Context, s trace.Start) (inner context.Context, span trace.Span) {
	inner = ctx
	x.guardTracer(ctx, func() {
		if own, begun := x.Tracer.StartSpan(ctx, s); own != nil {
			inner, span = own, begun
		}
	})
	return inner, span
}

// guardTracer calls the tracer. Its panics change nothing.
func (x *execution) guardTracer(ctx context.Context, fn func()) {
	defer func() {
		if recover() != nil {
			x.base.ErrorContext(ctx, "tracer panicked", "run", x.state.id, "stack", string(debug.Stack()))
		}
	}()
	fn()
}

// traceRun does the work of a Run or Resume of the state within a span, and notes in the state how to refer to it. From
// here on x works on the state.
func (x *execution) traceRun(
	ctx context.Context, s *RunState, work func(context.Context) (*Result, error),
) (result *Result, err error) {
	x.state, x.earlier = s, s.trace
	if x.Tracer == nil {
		return work(ctx)
	}
	start := trace.Start{Kind: trace.Run, Name: s.frame.agent, Attrs: []slog.Attr{
		slog.String(trace.AttrRun, s.id), slog.String(trace.AttrAgent, s.frame.agent),
	}, Links: x.links()}
	start.Attrs = x.addModel(ctx, start.Attrs, s.graph[s.frame.agent], nil)
	if s.server != nil && s.server.ID != "" {
		start.Attrs = append(start.Attrs, slog.String(trace.AttrConversation, s.server.ID))
	}
	before := s.usage
	x.traced(ctx, start, func(ctx context.Context, span trace.Span) spanEnd {
		s.keepTrace(x.link(ctx, span))
		result, err = work(ctx)
		cost := s.usage
		attrs := append(tokens(Usage{
			InputTokens: cost.InputTokens - before.InputTokens, CachedTokens: cost.CachedTokens - before.CachedTokens,
			OutputTokens:    cost.OutputTokens - before.OutputTokens,
			ReasoningTokens: cost.ReasoningTokens - before.ReasoningTokens,
		}), slog.Int(trace.AttrQuestions, len(s.Undecided())))
		return ended(err, attrs...)
	})
	return result, err
}

// links returns the reference to the run's span before.
func (x *execution) links() []string {
	if x.earlier == "" {
		return nil
	}
	return []string{x.earlier}
}

func (x *execution) link(ctx context.Context, span trace.Span) (link string) {
	if span != nil {
		x.guardTracer(ctx, func() { link = span.Link() })
	}
	return link
}

// keepTrace saves how to refer to the run's span, if that can be saved.
func (s *RunState) keepTrace(link string) {
	if link != "" && len(link) <= maxLink && validText(link) == link {
		s.trace = link
	}
}

// traceTurn does a part of a turn within a span.
func (l *loop) traceTurn(
	ctx context.Context, turn int, work func(context.Context) (bool, error),
) (waits bool, err error) {
	if l.Tracer == nil {
		return work(ctx)
	}
	s := trace.Start{Kind: trace.Turn, Name: l.agent.Name, Attrs: l.about(turn)}
	l.traced(ctx, s, func(ctx context.Context, _ trace.Span) spanEnd {
		waits, err = work(ctx)
		return ended(err)
	})
	return waits, err
}

// about returns the attributes of the agent at work.
func (l *loop) about(turn int) []slog.Attr {
	attrs := make([]slog.Attr, 0, 8)
	return append(attrs, slog.String(trace.AttrAgent, l.agent.Name), slog.Int(trace.AttrTurn, turn))
}

// traceModel calls the model within a span.
func (l *loop) traceModel(ctx context.Context, model Model, req *ModelRequest) (resp *ModelResponse, err error) {
	if l.Tracer == nil {
		return l.callModel(ctx, model, req)
	}
	_, streams := model.(StreamModel)
	s := trace.Start{Kind: trace.Model, Attrs: l.about(l.frame.turn + 1)}
	_, s.Name = l.modelName(ctx, l.agent, model)
	s.Attrs = l.addModel(ctx, s.Attrs, l.agent, model)
	if req.Conversation != "" {
		s.Attrs = append(s.Attrs, slog.String(trace.AttrConversation, req.Conversation))
	}
	if l.events != nil && streams {
		s.Attrs = append(s.Attrs, slog.Bool(trace.AttrStream, true))
	}
	l.traced(ctx, s, func(ctx context.Context, _ trace.Span) spanEnd {
		resp, err = l.callModel(ctx, model, req)
		if err != nil || resp == nil {
			return ended(err)
		}
		attrs := tokens(resp.Usage)
		if resp.ID != "" {
			attrs = append(attrs, slog.String(trace.AttrResponse, resp.ID))
		}
		return ended(nil, attrs...)
	})
	return resp, err
}

// modelNamer is a Model that tells which one it is.
type modelNamer interface {
	ModelName() (provider, model string)
}

// modelName asks the model for its name, and the agent's own model where Runner.ModelOf has put another around it that
// does not tell.
func (x *execution) modelName(ctx context.Context, a *Agent, model Model) (provider, name string) {
	named, ok := model.(modelNamer)
	if !ok {
		named, ok = a.Model.(modelNamer)
	}
	if ok {
		x.guardTracer(ctx, func() { provider, name = named.ModelName() })
	}
	return provider, name
}

// addModel adds the names of an agent's model, as far as it tells them.
func (x *execution) addModel(ctx context.Context, attrs []slog.Attr, a *Agent, model Model) []slog.Attr {
	provider, name := x.modelName(ctx, a, model)
	if provider != "" {
		attrs = append(attrs, slog.String(trace.AttrProvider, provider))
	}
	if name != "" {
		attrs = append(attrs, slog.String(trace.AttrModel, name))
	}
	return attrs
}

func tokens(u Usage) []slog.Attr {
	attrs := make([]slog.Attr, 0, 6)
	attrs = append(attrs, slog.Int64(trace.AttrInputTokens, u.InputTokens),
		slog.Int64(trace.AttrOutputTokens, u.OutputTokens))
	if u.CachedTokens != 0 {
		attrs = append(attrs, slog.Int64(trace.AttrCachedTokens, u.CachedTokens))
	}
	if u.ReasoningTokens != 0 {
		attrs = append(attrs, slog.Int64(trace.AttrReasoningTokens, u.ReasoningTokens))
	}
	return attrs
}

// classOf returns the class of an error, or nothing when there is none.
func classOf(err error) string {
	if err == nil {
		return ""
	}
	for _, c := range classes {
		if errors.Is(err, c.err) {
			return c.class
		}
	}
	if own, ok := errors.AsType[interface {
		error
		ErrorClass() string
	}](err); ok {
		if class := own.ErrorClass(); isClass(class) {
			return class
		}
	}
	return trace.ClassOther
}

// classes are looked through in this order.
var classes = []struct {
	err   error
	class string
}{
	{ErrTripwire, trace.ClassTripwire}, {ErrMaxTurns, trace.ClassMaxTurns}, {ErrStopped, trace.ClassStopped},
	{ErrStale, trace.ClassStale}, {ErrOutcomeUnknown, trace.ClassOutcomeUnknown},
	{ErrModelBehavior, trace.ClassModelBehavior}, {ErrToolset, trace.ClassToolset},
	{ErrUnknownTool, trace.ClassUnknownTool}, {ErrUnknownAgent, trace.ClassUnknownAgent}, {ErrFatal, trace.ClassFatal},
	{ErrConfig, trace.ClassConfig}, {errPanic, trace.ClassPanic}, {errGoexit, trace.ClassPanic},
	{context.DeadlineExceeded, trace.ClassTimeout}, {context.Canceled, trace.ClassCancelled},
}

// isClass reports whether a text can be the class of an error: one that holds no data.
func isClass(s string) bool {
	return s != "" && len(s) <= 64 && !strings.ContainsFunc(s, func(c rune) bool {
		return c >= 128 || !validToolName(string(c)) && c != '.'
	})
}
