package app_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// collector is a receiver of traces.
type collector struct {
	*httptest.Server
	silent bool // it never answers

	mu      sync.Mutex
	spans   []*tracepb.Span
	text    string // of everything that came
	headers []http.Header
	broken  []string
}

func newCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{}
	quit := make(chan struct{})
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c.silent {
			select {
			case <-quit:
			case <-r.Context().Done():
			}
			return
		}
		body, err := io.ReadAll(r.Body)
		var data tracepb.TracesData
		if err == nil {
			err = proto.Unmarshal(body, &data)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if err != nil || r.Method != http.MethodPost || r.URL.Path != "/v1/traces" {
			c.broken = append(c.broken, r.Method+" "+r.URL.Path)
			return
		}
		c.headers, c.text = append(c.headers, r.Header.Clone()), c.text+data.String()
		for _, resource := range data.ResourceSpans {
			for _, scope := range resource.ScopeSpans {
				c.spans = append(c.spans, scope.Spans...)
			}
		}
	}))
	t.Cleanup(func() {
		close(quit)
		c.Close()
	})
	return c
}

// named returns the spans of the name.
func (c *collector) named(name string) []*tracepb.Span {
	var found []*tracepb.Span
	for _, s := range c.spans {
		if s.Name == name {
			found = append(found, s)
		}
	}
	return found
}

// TestTraces follows a run through its question to a collector, which has all of it when the bot has stopped.
func TestTraces(t *testing.T) {
	t.Parallel()
	c := newCollector(t)
	w := newWorld(t, settings{})
	bot := w.start("OTEL_TRACES_EXPORTER=otlp", "OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL,
		"OTEL_EXPORTER_OTLP_HEADERS=authorization=Bearer%20"+canaryToken,
		"OTEL_RESOURCE_ATTRIBUTES=deployment.environment.name=test")
	thread := w.mention("please pay 7654321 reasonably")
	w.mustClick(ben, w.card(thread, 1), "approve")
	w.answer(thread, `answer: [{"reference":"R-1"}]`)
	if code := bot.stop(); code != 0 {
		t.Errorf("exit code %d after SIGTERM", code)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.broken != nil || len(c.headers) == 0 || c.headers[0].Get("Authorization") != "Bearer "+canaryToken {
		t.Fatalf("the collector got %d batches, and did not understand %q", len(c.headers), c.broken)
	}
	for _, secret := range []string{"7654321", "acct", "reasonably", "R-1", "canary"} {
		if strings.Contains(c.text, secret) {
			t.Errorf("the spans hold %q", secret)
		}
	}
	for _, want := range []string{
		"countersign", "deployment.environment.name", "gen_ai.request.model", "gen_ai.provider.name",
	} {
		if !strings.Contains(c.text, want) {
			t.Errorf("the spans do not hold %q", want)
		}
	}
	for _, name := range []string{"question pay", "answer pay", "execute_tool pay"} {
		if n := len(c.named(name)); n != 1 {
			t.Errorf("%d spans %q, want one", n, name)
		}
	}
	mention, click := c.named("receive event app_mention"), c.named("receive click approve")
	if len(mention) != 1 || len(click) != 1 || len(mention[0].ParentSpanId)+len(click[0].ParentSpanId) != 0 {
		t.Fatalf("want a trace of the mention and one of the click: %v, %v", mention, click)
	}
	var runs []*tracepb.Span
	for _, s := range c.spans {
		if s.Name == "invoke_agent ops" {
			runs = append(runs, s)
		}
	}
	if len(runs) != 2 || len(runs[1].Links) != 1 || string(runs[1].Links[0].SpanId) != string(runs[0].SpanId) ||
		string(runs[0].TraceId) != string(mention[0].TraceId) || string(runs[1].TraceId) != string(click[0].TraceId) {
		t.Errorf("want a run in the trace of the mention, and one in that of the click that links to it: %v", runs)
	}
	for name, of := range map[string]*tracepb.Span{"deliver card": mention[0], "deliver answer": click[0]} {
		if all := c.named(name); len(all) == 0 || string(all[0].TraceId) != string(of.TraceId) {
			t.Errorf("no %s in the trace of %s", name, of.Name)
		}
	}
	w.noSecrets()
}

// TestTracesDoNotDelay stops the bot in time while the collector is silent, and starts no bot with variables that it
// does not understand.
func TestTracesDoNotDelay(t *testing.T) {
	t.Parallel()
	c := newCollector(t)
	c.silent = true
	w := newWorld(t, settings{})
	bot := w.start("OTEL_TRACES_EXPORTER=otlp", "OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL)
	thread := w.mention("please pay 7654321 reasonably")
	w.card(thread, 1)
	began := time.Now()
	if code := bot.stop(); code != 0 {
		t.Errorf("exit code %d after SIGTERM", code)
	}
	t.Logf("stopped in %v", time.Since(began))
	if !strings.Contains(bot.out.String(), "not all traces were sent") {
		t.Error("the log does not say that traces were lost")
	}
	p := w.spawn(binary(t), w.env("OTEL_TRACES_EXPORTER=zipkin"), "run")
	<-p.exited
	if code := p.cmd.ProcessState.ExitCode(); code != 2 || !strings.Contains(p.out.String(), "OTEL_TRACES_EXPORTER") {
		t.Errorf("exit code %d: %s", code, p.out.String())
	}
}
