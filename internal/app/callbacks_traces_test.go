package app

import (
	"context"
	"log/slog"
	"testing"

	"github.com/google/go-cmp/cmp"

	"countersign/agent/trace"
	"countersign/approvals"
)

// callbackSpans is a tracer that remembers what was begun, and how it ended.
type callbackSpans struct {
	begun, ended []string
	open         int
}

type callbackSpan struct{ of *callbackSpans }

func (c *callbackSpans) StartSpan(ctx context.Context, s trace.Start) (context.Context, trace.Span) {
	c.begun = append(c.begun, string(s.Kind)+" "+s.Name)
	c.open++
	return ctx, callbackSpan{c}
}

func (s callbackSpan) Link() string { return "" }

func (s callbackSpan) End(class string, attrs ...slog.Attr) {
	s.of.open--
	for _, a := range attrs {
		s.of.ended = append(s.of.ended, a.Key+" "+a.Value.String())
	}
}

// insideSpan is a provider that notes whether the result was recorded while a span was open.
type insideSpan struct {
	*oneCallback
	spans *callbackSpans
	open  []int
}

func (i *insideSpan) ProvideResult(ctx context.Context, in approvals.CallbackResult) (*approvals.Request, error) {
	i.open = append(i.open, i.spans.open)
	return i.oneCallback.ProvideResult(ctx, in)
}

// TestCallbacksAreTraced: a result that came with a good token has a span, in which it is recorded. What has no good
// token has none: somebody else could fill the collector.
func TestCallbacksAreTraced(t *testing.T) {
	t.Parallel()
	spans := &callbackSpans{}
	i := &insideSpan{oneCallback: newOneCallback(), spans: spans}
	h := &callbacks{i, func() []approvals.WorkspaceID { return []approvals.WorkspaceID{"T1"} }, spans}
	for _, send := range []struct{ token, body string }{
		{"wrong", `{"result":"x"}`}, {"", `{"result":"x"}`}, {"right", `?`},
		{"right", `{"result":"busy"}`}, {"right", `{"result":"done"}`},
	} {
		sendCallback(h, callbackRequest("/callbacks/req_1", send.token, send.body))
	}
	receive := string(trace.Receive) + " callback"
	if d := cmp.Diff([]string{receive, receive}, spans.begun); d != "" {
		t.Errorf("spans (-want +got):\n%s", d)
	}
	want := []string{trace.AttrOutcome + " refused", trace.AttrOutcome + " acknowledged"}
	if d := cmp.Diff(want, spans.ended); d != "" || spans.open != 0 {
		t.Errorf("%d are open; ends (-want +got):\n%s", spans.open, d)
	}
	if d := cmp.Diff([]int{1, 1}, i.open); d != "" {
		t.Errorf("spans open when a result is recorded (-want +got):\n%s", d)
	}
}
