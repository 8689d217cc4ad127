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
	kind := otel.SpanKindInternal
	if s.Kind == trace.Model {
		kind = otel.SpanKindClient
	}
	ctx, inner := t.tracer.Start(ctx, spanName(s), otel.WithSpanKind(kind),
		otel.WithAttributes(startAttributes(s)...), otel.WithLinks(links(s.Links)...))
	return ctx, &span{inner}
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
