package oteltrace

import (
	"context"
	"log/slog"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	otel "go.opentelemetry.io/otel/trace"

	"countersign/agent/trace"
)

// scope is the name of the instrumentation.
const scope = "countersign/agent"

// Tracer makes OpenTelemetry spans of what runs do. It is safe for concurrent use.
type Tracer struct{ tracer otel.Tracer }

var _ trace.Tracer = (*Tracer)(nil)

// New returns a Tracer whose spans go to the provider, which must not be nil. Spans end while runs work: a provider
// that exports them one by one instead of in batches slows the runs down.
func New(p otel.TracerProvider) *Tracer {
	return &Tracer{p.Tracer(scope, otel.WithSchemaURL(semconv.SchemaURL))}
}

// StartSpan implements [trace.Tracer].
func (t *Tracer) StartSpan(ctx context.Context, s trace.Start) (context.Context, trace.Span) {
	if parent, ok := parse(s.Parent); ok {
		ctx = otel.ContextWithRemoteSpanContext(ctx, parent)
	}
	options := []otel.SpanStartOption{otel.WithSpanKind(spanKind(s.Kind)),
		otel.WithAttributes(startAttributes(s)...), otel.WithLinks(links(s.Links)...)}
	if !s.Began.IsZero() {
		options = append(options, otel.WithTimestamp(s.Began))
	}
	ctx, inner := t.tracer.Start(ctx, spanName(s), options...)
	return ctx, &span{inner}
}

// spanKind says on which side of the program's edge the work is.
func spanKind(kind trace.Kind) otel.SpanKind {
	switch kind {
	case trace.Model, trace.Deliver, trace.Send:
		return otel.SpanKindClient
	case trace.Receive:
		return otel.SpanKindServer
	case trace.Work:
		return otel.SpanKindConsumer
	}
	return otel.SpanKindInternal
}

// span is a span of OpenTelemetry.
type span struct{ otel.Span }

// Link returns a W3C traceparent.
func (s *span) Link() string { return traceparent(s.SpanContext()) }

// End implements [trace.Span].
func (s *span) End(class string, attrs ...slog.Attr) {
	for _, a := range attrs {
		s.SetAttributes(attributeOf(a))
	}
	if class != "" {
		s.SetAttributes(errorType(class))
		s.SetStatus(codes.Error, "")
	}
	s.Span.End()
}

func errorType(class string) attribute.KeyValue {
	if class == trace.ClassOther {
		return semconv.ErrorTypeOther
	}
	return semconv.ErrorTypeKey.String(class)
}
