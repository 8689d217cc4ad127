package oteltrace_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	otel "go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"countersign/agent"
	"countersign/agent/guardrail"
	"countersign/agent/oteltrace"
	"countersign/agent/scripted"
	"countersign/agent/trace"
)

var update = flag.Bool("update", false, "rewrite golden files")

// process is a process that traces: what it exports is what has ended.
type process struct {
	recorder *tracetest.SpanRecorder
	exporter *tracetest.InMemoryExporter
	runner   agent.Runner
}

func newProcess() *process {
	p := &process{recorder: tracetest.NewSpanRecorder(), exporter: tracetest.NewInMemoryExporter()}
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(p.recorder), sdktrace.WithSyncer(p.exporter))
	p.runner = agent.Runner{Tracer: oteltrace.New(provider), MaxParallelCalls: 1}
	return p
}

// check reports spans that were started and have not ended.
func (p *process) check(t *testing.T) {
	t.Helper()
	if started, ended := len(p.recorder.Started()), len(p.recorder.Ended()); started != ended || started == 0 {
		t.Errorf("%d spans were started, %d have ended", started, ended)
	}
}

// drawing draws the spans of processes as trees.
type drawing struct {
	spans []sdktrace.ReadOnlySpan
	names map[otel.SpanID]string
}

func draw(processes ...*process) string {
	d := drawing{names: make(map[otel.SpanID]string)}
	var b strings.Builder
	for _, p := range processes {
		spans := p.recorder.Started() // in the order in which they began
		for _, s := range spans {
			d.names[s.SpanContext().SpanID()] = s.Name()
			d.spans = append(d.spans, s)
		}
		for _, s := range spans {
			if !s.Parent().IsValid() {
				d.draw(&b, s, "")
			}
		}
	}
	return b.String()
}

func (d *drawing) draw(b *strings.Builder, s sdktrace.ReadOnlySpan, indent string) {
	fmt.Fprintf(b, "%s%s", indent, s.Name())
	if s.SpanKind() != otel.SpanKindInternal {
		fmt.Fprintf(b, " (%s)", s.SpanKind())
	}
	fmt.Fprintln(b)
	for _, a := range s.Attributes() {
		fmt.Fprintf(b, "%s    %s = %s\n", indent, a.Key, a.Value.String())
	}
	if status := s.Status(); status.Code != 0 {
		fmt.Fprintf(b, "%s    status %s %s\n", indent, status.Code, status.Description)
	}
	for _, l := range s.Links() {
		fmt.Fprintf(b, "%s    link %s\n", indent, d.names[l.SpanContext.SpanID()])
	}
	for _, e := range s.Events() {
		fmt.Fprintf(b, "%s    event %s %v\n", indent, e.Name, e.Attributes)
	}
	for _, inner := range d.spans {
		if inner.Parent().SpanID() == s.SpanContext().SpanID() {
			d.draw(b, inner, indent+"  ")
		}
	}
}

type arguments struct {
	Secret string `json:"secret"`
}

const secret = `{"secret":"CANARY argument"}`

// model is a model with a name.
type model struct{ agent.Model }

func (model) ModelName() (provider, name string) { return "openai", "gpt-x" }

// desk has one of everything; "CANARY" is in all texts that no span may hold.
func desk() *agent.Agent {
	paid := func(context.Context, arguments) (string, error) { return "CANARY paid", nil }
	failed := func(context.Context, arguments) (string, error) { return "", errors.New("CANARY") }
	pay, fail := agent.NewTool("pay", "CANARY", paid), agent.NewTool("fail", "CANARY", failed)
	pay.NeedsApproval = agent.AlwaysAsk
	limit := func(context.Context, *agent.ToolCall) (guardrail.Verdict, error) {
		return guardrail.Verdict{Message: "CANARY"}, nil
	}
	pay.InputGuardrails = []agent.ToolInputGuardrail{{Name: "limit", Check: limit}}
	clerk := &agent.Agent{Name: "clerk", Instructions: "CANARY", Tools: []agent.Tool{pay}, Model: model{scripted.New(
		scripted.Calls(scripted.Call("n1", "pay", secret)), scripted.Say("CANARY inside"))}}
	closer := &agent.Agent{Name: "closer", Model: scripted.New(
		scripted.Step{}, scripted.Step{}, scripted.Say("CANARY answer"))}
	first := scripted.Calls(agent.Item{Type: agent.ItemReasoning, Text: "CANARY"}, scripted.Call("c1", "pay", secret),
		scripted.Call("c2", "fail", secret), scripted.Call("c3", "clerk", `{"input":"CANARY"}`))
	first.Usage = agent.Usage{InputTokens: 100, CachedTokens: 60, OutputTokens: 20, ReasoningTokens: 5}
	return &agent.Agent{
		Name: "ops", Instructions: "CANARY", Tools: []agent.Tool{pay, fail, clerk.AsTool("clerk", "CANARY")},
		Handoffs: []agent.Handoff{{Agent: closer}},
		Model:    model{scripted.New(first, scripted.Calls(scripted.Call("c6", "transfer_to_closer", `{}`)))},
	}
}

// playDesk runs the desk in one process, has people answer, and resumes in another.
func playDesk(t *testing.T) (before, after *process) {
	t.Helper()
	before, after = newProcess(), newProcess()
	res, err := before.runner.Run(t.Context(), desk(), []agent.Item{agent.UserMessage("CANARY")},
		agent.RunOptions{Context: &agent.RunContext{ID: "run_1"}})
	if err != nil {
		t.Fatal(err)
	}
	data, err := res.State.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	s, err := agent.DecodeRunState(data, desk())
	if err != nil {
		t.Fatal(err)
	}
	message := "CANARY reason"
	if err := s.Reject(s.Interruptions()[0], agent.RejectOptions{Message: &message}); err != nil {
		t.Fatal(err)
	}
	if err := s.Approve(s.Interruptions()[1], agent.ApproveOptions{Always: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := after.runner.Resume(t.Context(), desk(), s, agent.RunOptions{}); err != nil {
		t.Fatal(err)
	}
	before.check(t)
	after.check(t)
	return before, after
}

// TestTree compares the spans of a run that pauses, is resumed in another process, and hands over, with testdata.
func TestTree(t *testing.T) {
	t.Parallel()
	got := draw(playDesk(t))
	file := filepath.Join("testdata", "tree.txt")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(string(want), got); diff != "" {
		t.Error(diff)
	}
}

// TestLinks looks at the links' targets: a resumed run has a trace of its own, whose run and answers refer to the run's
// span in the process before.
func TestLinks(t *testing.T) {
	t.Parallel()
	before, after := playDesk(t)
	root := before.recorder.Started()[0].SpanContext()
	linked := 0
	for _, s := range after.recorder.Started() {
		if s.SpanContext().TraceID() == root.TraceID() {
			t.Errorf("%s belongs to the trace of the process before", s.Name())
		}
		for _, l := range s.Links() {
			linked++
			if c := l.SpanContext; c.TraceID() != root.TraceID() || c.SpanID() != root.SpanID() || !c.IsSampled() {
				t.Errorf("%s links to %v, not to the run %v", s.Name(), l.SpanContext, root)
			}
		}
	}
	if linked != 3 {
		t.Errorf("%d links, want those of the run and two answers", linked)
	}
}

// holding returns the exported spans that hold the text anywhere.
func holding(t *testing.T, spans tracetest.SpanStubs, text string) []string {
	t.Helper()
	var found []string
	for _, s := range spans {
		if all := fmt.Sprintf("%+v", s); strings.Contains(all, text) {
			found = append(found, s.Name)
		}
	}
	return found
}

func TestNoTexts(t *testing.T) {
	t.Parallel()
	before, after := playDesk(t)
	spans := slices.Concat(before.exporter.GetSpans(), after.exporter.GetSpans())
	if found := holding(t, spans, "CANARY"); found != nil {
		t.Errorf("texts in the spans %q", found)
	}
	for i := range spans { // control: wherever a text is put, it is found
		own := slices.Clone(spans)
		switch i % 4 {
		case 0:
			own[i].Attributes = append(own[i].Attributes, attribute.String("gen_ai.tool.call.arguments", secret))
		case 1:
			own[i].Status.Description = secret
		case 2:
			own[i].Events = append(own[i].Events, sdktrace.Event{Name: "exception",
				Attributes: []attribute.KeyValue{attribute.String("exception.message", secret)}})
		case 3:
			link := sdktrace.Link{Attributes: []attribute.KeyValue{attribute.String("x", secret)}}
			own[i].Links = append(own[i].Links, link)
		}
		if len(holding(t, own, "CANARY")) != 1 {
			t.Errorf("control: a text in %s was not found", own[i].Name)
		}
	}
}

// TestEnds ends runs by a panic and by cancelling; all spans end, and the panic's value is in none.
func TestEnds(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		model func(cancel func()) agent.Model
		class string
	}{
		"panic": {func(func()) agent.Model {
			return scripted.New(scripted.Step{Check: func(*agent.ModelRequest) error { panic("CANARY") }})
		}, "panic"},
		"cancel": {func(cancel func()) agent.Model {
			return scripted.New(scripted.Step{Check: func(*agent.ModelRequest) error {
				cancel()
				return context.Canceled
			}})
		}, "cancelled"},
		"failure": {func(func()) agent.Model { return scripted.New(scripted.Fail(errors.New("CANARY"))) }, "_OTHER"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			p := newProcess()
			func() {
				defer func() { _ = recover() }()
				_, _ = p.runner.Run(ctx, &agent.Agent{Name: "ops", Model: tt.model(cancel)}, nil, agent.RunOptions{})
			}()
			p.check(t)
			spans := p.exporter.GetSpans()
			if found := holding(t, spans, "CANARY"); found != nil {
				t.Errorf("texts in the spans %q", found)
			}
			if len(spans) != 3 {
				t.Errorf("%d spans, want run, turn and model", len(spans))
			}
			for _, s := range spans {
				class := attribute.String("error.type", tt.class)
				if !slices.Contains(s.Attributes, class) || s.Status.Code.String() != "Error" {
					t.Errorf("%s: attributes %v, status %v, want %v", s.Name, s.Attributes, s.Status, class)
				}
			}
		})
	}
}

// TestParent makes a run part of the trace that its context carries, and what a tool traces part of the run.
func TestParent(t *testing.T) {
	t.Parallel()
	recorder := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder))
	own := provider.Tracer("own")
	work := agent.NewTool("work", "", func(ctx context.Context, _ arguments) (string, error) {
		_, s := own.Start(ctx, "inside")
		s.End()
		return "", nil
	})
	a := &agent.Agent{Name: "ops", Tools: []agent.Tool{work}, Model: scripted.New(
		scripted.Calls(scripted.Call("c1", "work", secret)), scripted.Say("Done."))}
	ctx, outer := own.Start(t.Context(), "outer")
	r := &agent.Runner{Tracer: oteltrace.New(provider)}
	if _, err := r.Run(ctx, a, nil, agent.RunOptions{}); err != nil {
		t.Fatal(err)
	}
	outer.End()
	names := make(map[otel.SpanID]string)
	parents := make(map[string]string)
	for _, s := range recorder.Started() {
		names[s.SpanContext().SpanID()] = s.Name()
		parents[s.Name()] = names[s.Parent().SpanID()]
	}
	for inner, outer := range map[string]string{"invoke_agent ops": "outer", "inside": "execute_tool work"} {
		if parents[inner] != outer {
			t.Errorf("%s lies in %q, want %q", inner, parents[inner], outer)
		}
	}
}

// TestForeignLinks resumes states whose link another tracer has made, or none that can be referred to.
func TestForeignLinks(t *testing.T) {
	t.Parallel()
	const good = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	for link, want := range map[string]int{
		good: 1, "": 0, "another tracer's": 0, good + "-x": 0, "01" + good[2:]: 0, good[:len(good)-1]: 0,
		strings.Replace(good, "0af7", "zzzz", 1):                         0,
		strings.Replace(good, "b7ad6b7169203331", "0000000000000000", 1): 0,
	} {
		recorder := tracetest.NewSpanRecorder()
		tracer := oteltrace.New(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder)))
		_, s := tracer.StartSpan(t.Context(), trace.Start{Kind: trace.Run, Links: []string{link}})
		s.End("")
		if got := len(recorder.Ended()[0].Links()); got != want {
			t.Errorf("%q: %d links, want %d", link, got, want)
		}
	}
	a := desk()
	r := &agent.Runner{Tracer: oteltrace.New(noop.NewTracerProvider())}
	res, err := r.Run(t.Context(), a, nil, agent.RunOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if data, err := json.Marshal(res.State); err != nil || strings.Contains(string(data), `"trace"`) {
		t.Errorf("a provider that does nothing leaves a link: %s, %v", data, err)
	}
}
