package bot

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	otel "go.opentelemetry.io/otel/trace"

	"countersign/agent/oteltrace"
	"countersign/agent/scripted"
	"countersign/agent/trace"
	"countersign/approvals"
	"countersign/internal/slackdev"
)

// traced is a process that traces: nothing but the store leads from its spans to those of another one.
type traced struct{ *tracetest.InMemoryExporter }

func newTraced() traced { return traced{tracetest.NewInMemoryExporter()} }

func (p traced) tracer() trace.Tracer {
	return oteltrace.New(sdktrace.NewTracerProvider(sdktrace.WithSyncer(p.InMemoryExporter)))
}

// tree holds the spans of several processes as a collector has them.
type tree map[otel.SpanID]tracetest.SpanStub

func treeOf(all ...traced) tree {
	spans := tree{}
	for _, p := range all {
		for _, s := range p.GetSpans() {
			spans[s.SpanContext.SpanID()] = s
		}
	}
	return spans
}

// path names a span and all that it lies in, the outermost first; a parent that nobody has exported is "?".
func (all tree) path(s tracetest.SpanStub) string {
	if !s.Parent.IsValid() {
		return s.Name
	}
	outer, known := all[s.Parent.SpanID()]
	if !known || outer.SpanContext.TraceID() != s.SpanContext.TraceID() {
		return "? > " + s.Name
	}
	return all.path(outer) + " > " + s.Name
}

// at returns the spans with the path in the order in which they began.
func (all tree) at(path string) []tracetest.SpanStub {
	var found []tracetest.SpanStub
	for _, s := range all {
		if all.path(s) == path {
			found = append(found, s)
		}
	}
	slices.SortFunc(found, func(a, b tracetest.SpanStub) int { return a.StartTime.Compare(b.StartTime) })
	return found
}

func (all tree) paths() string {
	var b strings.Builder
	for _, s := range all {
		fmt.Fprintf(&b, "%s %v\n", all.path(s), s.Attributes)
	}
	return b.String()
}

func attribute(s tracetest.SpanStub, key string) string {
	for _, a := range s.Attributes {
		if string(a.Key) == key {
			return a.Value.String()
		}
	}
	return ""
}

// What is to be found of a call that a person approves: in the trace of the mention, and in that of the click.
var (
	ofMention = []string{
		"receive event app_mention",
		"receive event app_mention > submit",
		"receive event app_mention > acknowledge",
		"receive event app_mention > submit > work ops",
		"receive event app_mention > submit > work ops > invoke_agent ops > turn > chat",
		"receive event app_mention > submit > work ops > invoke_agent ops > turn > question transfer_funds",
		"receive event app_mention > submit > work ops > deliver card",
	}
	ofClick = []string{
		"receive click approve",
		"receive click approve > decide",
		"receive click approve > acknowledge",
		"receive click approve > decide > deliver card",
		"receive click approve > decide > work ops",
		"receive click approve > decide > work ops > invoke_agent ops > turn > answer transfer_funds",
		"receive click approve > decide > work ops > invoke_agent ops > turn > execute_tool transfer_funds",
		"receive click approve > decide > work ops > deliver answer",
	}
)

// TestTracesFromMentionToAnswer: the trace of a mention goes up to the card, that of the click up to the answer and
// links to the first one: in one process, across a restart, and with two bots that each do what comes to them.
func TestTracesFromMentionToAnswer(t *testing.T) {
	t.Parallel()
	steps := script{pay("call_1"), scripted.Say("Acme has its money.")}
	for name, play := range map[string]func(t *testing.T, w *world) []traced{
		"one process": func(t *testing.T, w *world) []traced {
			p := newTraced()
			w.tracer = p.tracer()
			startWorld(t, w).paysTraced(nil)
			return []traced{p}
		},
		"restart": func(t *testing.T, w *world) []traced {
			before, after := newTraced(), newTraced()
			w.tracer = before.tracer()
			startWorld(t, w).paysTraced(func() {
				w.tracer = after.tracer()
				w.restart()
			})
			return []traced{before, after}
		},
		"two bots": func(t *testing.T, w *world) []traced {
			one, two := newTraced(), newTraced()
			w.tracer = one.tracer()
			p := newPairTraced(t, w, two.tracer())
			p.paysTraced(nil)
			p.eventually("each has ended its spans", func() bool { return treeOf(one, two).whole() })
			if err := p.second.stop(); err != nil {
				t.Fatal(err)
			}
			return []traced{one, two}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &world{policy: everybody{}, script: steps}
			all := play(t, w)
			if err := w.stop(); err != nil {
				t.Fatal(err)
			}
			checkTraces(t, treeOf(all...))
		})
	}
}

// paysTraced has a payment approved and waits for all that is shown of it. between happens while the card waits.
func (w *world) paysTraced(between func()) {
	w.t.Helper()
	w.slack.Fail(slackdev.Fault{Method: methodPost, RetryAfter: time.Second})
	thread := w.mention("U0ANN", "pay acme", "")
	card := w.card(thread, 1)
	w.eventually("the card is recorded", func() bool {
		r, err := w.engine.Recorded(w.ctx(), testWorkspace, approvals.RequestID(requestOf(w.t, card)))
		return err == nil && len(r.Cards) > 0
	})
	if between != nil {
		between()
	}
	if err := w.click("U0BEN", card, "approve"); err != nil {
		w.t.Fatal(err)
	}
	w.said(thread, "Acme has its money.")
	w.eventually("the card says what came of it", func() bool {
		m, _ := w.slack.Message(card.Channel, card.TS)
		return !decidable(m) && strings.Contains(texts(w.t, m.Blocks), "Approved")
	})
}

// whole reports whether everything is there that is to be found.
func (all tree) whole() bool {
	for _, path := range slices.Concat(ofMention, ofClick) {
		if len(all.at(path)) == 0 {
			return false
		}
	}
	return true
}

func checkTraces(t *testing.T, all tree) {
	t.Helper()
	for _, path := range slices.Concat(ofMention, ofClick) {
		if len(all.at(path)) == 0 {
			t.Errorf("no span %s", path)
		}
	}
	traces := map[otel.TraceID]bool{}
	for _, s := range all {
		traces[s.SpanContext.TraceID()] = true
		if path := all.path(s); strings.HasPrefix(path, "?") {
			t.Errorf("%s lies in nothing that was exported", path)
		}
		said := []any{s.Name, s.Status, s.Attributes} // and no times, which may hold any digits
		for _, e := range s.Events {
			said = append(said, e.Name, e.Attributes)
		}
		for _, secret := range []string{"acme", "1200", "money"} {
			word := regexp.MustCompile(`\b` + secret + `\b`) // in an id such digits stand among others
			if text := strings.ToLower(fmt.Sprintf("%+v", said)); word.MatchString(text) {
				t.Errorf("%s holds %q", s.Name, secret)
			}
		}
	}
	if t.Failed() || len(traces) != 2 {
		t.Fatalf("%d traces, want those of the mention and the click:\n%s", len(traces), all.paths())
	}
	first := all.at("receive event app_mention > submit > work ops > invoke_agent ops")[0]
	resumed := all.at("receive click approve > decide > work ops > invoke_agent ops")[0]
	if len(resumed.Links) != 1 || resumed.Links[0].SpanContext.SpanID() != first.SpanContext.SpanID() {
		t.Errorf("what was resumed links to %v, not to %v", resumed.Links, first.SpanContext)
	}
	tries := all.at("receive event app_mention > submit > work ops > deliver card")
	outcomes := []string{attribute(tries[0], "countersign.outcome"),
		attribute(tries[len(tries)-1], "countersign.outcome")}
	if want := []string{"put_off", "delivered"}; !slices.Equal(outcomes, want) {
		t.Errorf("the attempts to post the card came to %q, want %q", outcomes, want)
	}
	decided := all.at("receive click approve > decide")[0]
	run := attribute(first, "countersign.run.id")
	for key, want := range map[string]string{"countersign.run.id": run, "countersign.verdict": "approve",
		"countersign.outcome": "approved", "countersign.via": "button",
		"countersign.person.id": string(user("U0BEN"))} {
		if got := attribute(decided, key); got != want || run == "" {
			t.Errorf("the decision's %s is %q, want %q", key, got, want)
		}
	}
}

// TestTracerThatPanics: a tracing system that is broken in every way changes nothing.
func TestTracerThatPanics(t *testing.T) {
	t.Parallel()
	for name, tracer := range map[string]trace.Tracer{
		"at the start": panics{}, "later": panics{later: true}, "starts nothing": starts{},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := startWorld(t, &world{policy: everybody{}, tracer: tracer,
				script: script{pay("call_1"), scripted.Say("Acme has its money.")}})
			w.paysTraced(nil)
			if got := w.bank.payments(); len(got) != 1 {
				t.Errorf("payments: %v", got)
			}
		})
	}
}

// panics is a tracer that panics, or whose spans do.
type panics struct{ later bool }

func (p panics) StartSpan(ctx context.Context, _ trace.Start) (context.Context, trace.Span) {
	if !p.later {
		panic("tracer")
	}
	return ctx, broken{}
}

type broken struct{ trace.Span }

// starts is a tracer that wants to know nothing.
type starts struct{}

func (starts) StartSpan(context.Context, trace.Start) (context.Context, trace.Span) { return nil, nil }
