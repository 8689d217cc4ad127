// Package trace is the vocabulary in which a run of an agent tells a tracing system what it does: the interface that
// such a system implements, the kinds of spans, and the names of what spans hold. A program that only traces runs needs
// package agent/oteltrace or another Tracer, and nothing of this.
package trace

import (
	"context"
	"log/slog"
	"time"
)

// Tracer tells a tracing system what a run does and how long it takes: one span for each thing that takes time, each
// inside the one that it is part of. Package agent/oteltrace has one for OpenTelemetry.
//
// What spans hold is safe to send elsewhere: names, ids, kinds, counts, verdicts and classes of errors. They never hold
// arguments, outputs, instructions, messages or the texts of errors.
//
// A Tracer and its spans are used from several goroutines at once, in part while the run's state is locked: they must
// not block and must not use that state. They observe: what they panic with has no effect on the run.
type Tracer interface {
	// StartSpan begins a span inside the one that ctx carries, if it carries one. The context that it returns is
	// derived from ctx and carries the new span; models, tools and guardrails get it, so that their own spans lie
	// inside. A nil span means that nobody wants to know when it ends.
	StartSpan(ctx context.Context, s Start) (context.Context, Span)
}

// Span is something that takes time and has begun.
type Span interface {
	// Link returns what Start.Links of a later span is to hold to refer to this one, possibly in another process:
	// text of at most 512 bytes, for instance a W3C traceparent. Empty: it cannot be referred to. It is saved with the
	// state of a run, and with what Begin's callers leave to others.
	Link() string
	// End says that it is over, once and in every case: also after a panic, a cancelled context, or when the run waits
	// for people. class is empty, or the class of the error that it ended with.
	End(class string, attrs ...slog.Attr)
}

// Start says what a span is about.
type Start struct {
	Kind Kind
	// Name is that of the agent, model, tool or guardrail; empty for a model that does not tell its name.
	Name string
	// Attrs have the keys of this package's constants, each at most once.
	Attrs []slog.Attr
	// Links refer to spans of the past that led to this one; see Span.Link.
	Links []string
	// Parent refers to the span that this one is part of, when that is not in ctx but was begun elsewhere, perhaps by
	// another process; see Span.Link. Empty, or nothing that the Tracer can read: what ctx carries.
	Parent string
	// Began is when it began; zero: now.
	Began time.Time
}
