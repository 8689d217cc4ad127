package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"countersign/agent/guardrail"
	"countersign/agent/trace"
)

// TestNoTracerNoCost measures what a run without a tracer pays for the places where spans would begin.
func TestNoTracerNoCost(t *testing.T) {
	s := newState("run_1", &Agent{Name: "ops"}, graph{"ops": {Name: "ops"}}, 1)
	l := (&execution{Runner: &Runner{}, state: s, base: slog.New(slog.DiscardHandler)}).loop(s.frame)
	j, c, work := &job{}, &call{State: callWaiting}, func(context.Context) (bool, error) { return false, nil }
	invoke := func(context.Context) (ToolOutput, error) { return ToolOutput{Text: j.id}, nil }
	check := func(context.Context) (guardrail.Verdict, error) { return guardrail.Verdict{Message: j.id}, nil }
	allocs := testing.AllocsPerRun(100, func() {
		_, _ = l.traceTurn(t.Context(), 1, work)
		_, _ = l.traceTool(t.Context(), j, invoke)
		_, _ = l.traceGuardrail(t.Context(), guardrail.Result{Tool: "t"}, check)
		_ = l.traceHandoff(t.Context(), func(context.Context) error { return nil })
		l.traceQuestion(t.Context(), c, step{act: actAsk})
		l.traceAnswer(t.Context(), c)
	})
	if allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
	l.Tracer = idle{}
	if allocs := testing.AllocsPerRun(100, func() { _, _ = l.traceTurn(t.Context(), 1, work) }); allocs == 0 {
		t.Error("control: a tracer costs nothing")
	}
}

type idle struct{}

func (idle) StartSpan(ctx context.Context, _ trace.Start) (context.Context, trace.Span) {
	return ctx, nil
}

type classed string

func (c classed) Error() string      { return "secret text" }
func (c classed) ErrorClass() string { return string(c) }

func TestClassOf(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err  error
		want string
	}{
		{nil, ""},
		{errors.New("secret"), trace.ClassOther},
		{fmt.Errorf("run: %w: %w", context.Canceled, errConsumer), trace.ClassCancelled},
		{context.DeadlineExceeded, trace.ClassTimeout},
		{fmt.Errorf("call: %w", errPanic), trace.ClassPanic},
		{errGoexit, trace.ClassPanic},
		{&TripwireError{Message: "secret"}, trace.ClassTripwire},
		{fmt.Errorf("%w: 10", ErrMaxTurns), trace.ClassMaxTurns},
		{fmt.Errorf("model call: %w", classed("429")), "429"},
		{classed("rate_limit.exceeded-x"), "rate_limit.exceeded-x"},
		{classed("it says secret"), trace.ClassOther},
		{classed(strings.Repeat("x", 65)), trace.ClassOther},
		{classed(""), trace.ClassOther},
		{classed("é"), trace.ClassOther},
	} {
		if got := classOf(tt.err); got != tt.want {
			t.Errorf("class of %v: %q, want %q", tt.err, got, tt.want)
		}
	}
}
