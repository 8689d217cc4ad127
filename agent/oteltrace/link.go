package oteltrace

import (
	"strconv"
	"strings"

	otel "go.opentelemetry.io/otel/trace"
)

// traceparent writes a span's context as the header of W3C Trace Context, version 00. It is empty for a span that
// cannot be referred to: that of a provider that does nothing.
func traceparent(c otel.SpanContext) string {
	if !c.IsValid() {
		return ""
	}
	return "00-" + c.TraceID().String() + "-" + c.SpanID().String() + "-" + c.TraceFlags().String()
}

// links returns links to those spans that can be referred to; what another tracer has saved is left out.
func links(saved []string) []otel.Link {
	var all []otel.Link
	for _, s := range saved {
		if c, ok := parse(s); ok {
			all = append(all, otel.Link{SpanContext: c})
		}
	}
	return all
}

// parse reads a traceparent.
func parse(s string) (otel.SpanContext, bool) {
	parts := strings.Split(s, "-")
	if len(parts) != 4 || parts[0] != "00" || len(parts[3]) != 2 {
		return otel.SpanContext{}, false
	}
	id, err := otel.TraceIDFromHex(parts[1])
	if err != nil {
		return otel.SpanContext{}, false
	}
	span, err := otel.SpanIDFromHex(parts[2])
	if err != nil {
		return otel.SpanContext{}, false
	}
	flags, err := strconv.ParseUint(parts[3], 16, 8)
	if err != nil {
		return otel.SpanContext{}, false
	}
	return otel.NewSpanContext(otel.SpanContextConfig{
		TraceID: id, SpanID: span, TraceFlags: otel.TraceFlags(flags), Remote: true,
	}), true
}
