package trace

import (
	"context"
	"log/slog"
)

// End says that a span is over: see Span.End.
type End func(class string, attrs ...slog.Attr)

// Begin begins a span for whoever surrounds runs: what receives, decides and delivers. The context that it returns
// carries the span, and the reference to it that Link returns. Without a Tracer nothing is done, and End may be called
// all the same. What a Tracer panics with changes nothing.
func Begin(ctx context.Context, t Tracer, s Start) (context.Context, End) {
	if t == nil {
		return ctx, func(string, ...slog.Attr) {}
	}
	inner, span := start(ctx, t, s)
	if span == nil {
		return inner, func(string, ...slog.Attr) {}
	}
	return inner, func(class string, attrs ...slog.Attr) {
		harmless(func() { span.End(class, attrs...) })
	}
}

func start(ctx context.Context, t Tracer, s Start) (inner context.Context, span Span) {
	inner = ctx
	harmless(func() {
		own, begun := t.StartSpan(ctx, s)
		if own != nil {
			inner, span = own, begun
		}
		if begun != nil {
			inner = context.WithValue(inner, linkKey{}, begun.Link())
		}
	})
	return inner, span
}

// harmless calls a tracer.
func harmless(fn func()) {
	defer func() { _ = recover() }()
	fn()
}

type linkKey struct{}

// Link returns the reference to the span of the innermost Begin, to be kept with what comes of it: Start.Parent and
// Start.Links of a later span take it, in another process as well. Empty: there is none.
func Link(ctx context.Context) string {
	link, _ := ctx.Value(linkKey{}).(string)
	return link
}
