package traces

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// answer is what a collector says; none for one that never answers.
type answer struct {
	status int
	header http.Header
	body   string
	err    error
}

// collector answers in order, the last answer for ever.
type collector struct {
	answers []answer
	times   []time.Duration
	bodies  [][]byte
	headers []http.Header
	started time.Time
	takes   time.Duration // to answer
}

func (c *collector) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	c.bodies, c.headers = append(c.bodies, body), append(c.headers, r.Header.Clone())
	c.times = append(c.times, time.Since(c.started))
	time.Sleep(c.takes)
	a := c.answers[min(len(c.bodies), len(c.answers))-1]
	switch {
	case a.err != nil:
		return nil, a.err
	case a.status == 0:
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	rest := io.NopCloser(strings.NewReader(cmp.Or(a.body, "CANARY")))
	return &http.Response{StatusCode: a.status, Header: a.header, Body: rest, Request: r}, nil
}

var spans = []*tracepb.ResourceSpans{{ScopeSpans: []*tracepb.ScopeSpans{{Spans: []*tracepb.Span{{Name: "one"}}}}}}

// send uploads spans to the collector, in a bubble, and returns what was logged and how long it took.
func send(t *testing.T, cfg Config, c *collector) (logged string, took time.Duration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		cfg.endpoint = "http://collector.example/v1/traces?key=CANARY"
		if cfg.timeout == 0 {
			cfg.timeout = defaultTimeout
		}
		client := newClient(t.Context(), &cfg, slog.New(slog.NewTextHandler(&log, nil)))
		client.http.Transport = c
		c.started = time.Now()
		if err := client.UploadTraces(t.Context(), spans); err != nil {
			t.Error(err)
		}
		logged, took = log.String(), time.Since(c.started)
	})
	if strings.Contains(logged, "CANARY") {
		t.Errorf("a secret in the log: %s", logged)
	}
	return logged, took
}

func TestUpload(t *testing.T) {
	t.Parallel()
	for _, packed := range []bool{false, true} {
		c := &collector{answers: []answer{{status: 200}}}
		logged, _ := send(t, Config{gzip: packed, headers: http.Header{"Authorization": {"Bearer CANARY"}}}, c)
		if logged != "" || len(c.bodies) != 1 {
			t.Fatalf("%d requests, log %q", len(c.bodies), logged)
		}
		body := c.bodies[0]
		if packed {
			r, err := gzip.NewReader(bytes.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			if body, err = io.ReadAll(r); err != nil {
				t.Fatal(err)
			}
		}
		var got tracepb.TracesData
		if err := proto.Unmarshal(body, &got); err != nil || got.ResourceSpans[0].ScopeSpans[0].Spans[0].Name != "one" {
			t.Errorf("the collector got %v, %v", &got, err)
		}
		h := c.headers[0]
		want := []string{"application/x-protobuf", map[bool]string{true: "gzip"}[packed], "Bearer CANARY"}
		have := []string{h.Get("Content-Type"), h.Get("Content-Encoding"), h.Get("Authorization")}
		if diff := gocmp.Diff(want, have); diff != "" {
			t.Error(diff)
		}
	}
}

// TestUploadAgain tries again what the protocol says is to be tried again, and nothing else.
func TestUploadAgain(t *testing.T) {
	t.Parallel()
	later := http.Header{"Retry-After": {"4"}}
	for name, tt := range map[string]struct {
		answers  []answer
		requests int
		logged   string
		atLeast  time.Duration
		atMost   time.Duration
	}{
		"busy, then not": {
			[]answer{{status: 503}, {status: 429}, {status: 200}}, 3, "", time.Second / 2, 2 * time.Second},
		"unreachable at once": {
			[]answer{{err: errors.New("refused")}, {status: 202}}, 2, "", time.Second / 4, time.Second},
		"says when": {
			[]answer{{status: 503, header: later}, {status: 200}}, 2, "", 4 * time.Second, 5 * time.Second},
		"refuses":    {[]answer{{status: 400}}, 1, "answered 400", 0, 0},
		"not for us": {[]answer{{status: 401}}, 1, "answered 401", 0, 0},
		"leads elsewhere": {
			[]answer{{status: 307, header: http.Header{"Location": {"http://x/"}}}}, 1, "answered 307", 0, 0},
		"never answers":     {[]answer{{}}, 1, "deadline", 10 * time.Second, 10 * time.Second},
		"changes protocols": {[]answer{{status: 101}}, 1, "answered 101", 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &collector{answers: tt.answers}
			logged, took := send(t, Config{}, c)
			if len(c.bodies) != tt.requests || took < tt.atLeast || took > tt.atMost {
				t.Errorf("%d requests in %v, want %d in %v to %v",
					len(c.bodies), took, tt.requests, tt.atLeast, tt.atMost)
			}
			if (logged == "") != (tt.logged == "") || !strings.Contains(logged, tt.logged) {
				t.Errorf("log %q, want %q", logged, tt.logged)
			}
		})
	}
}

// TestUploadGivesUp tries for as long as a batch may take, and no longer.
func TestUploadGivesUp(t *testing.T) {
	t.Parallel()
	c := &collector{answers: []answer{{status: 503}}}
	logged, took := send(t, Config{timeout: 20 * time.Second}, c)
	if took != 20*time.Second || !strings.Contains(logged, "answered 503") || len(c.bodies) < 5 || len(c.bodies) > 12 {
		t.Errorf("%d requests in %v, log %q", len(c.bodies), took, logged)
	}
}

// TestClose ends with what was traced sent, or in time when the collector is silent.
func TestClose(t *testing.T) {
	t.Parallel()
	for _, silent := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			c := &collector{answers: []answer{{status: 200}}, started: time.Now()}
			if silent {
				c.answers = []answer{{}}
			}
			cfg := &Config{endpoint: "http://collector.example/", timeout: time.Minute}
			ending, end := context.WithCancel(t.Context())
			client := newClient(ending, cfg, slog.New(slog.DiscardHandler))
			client.http.Transport = c
			p, err := newProvider(t.Context(), client, "1.2.3")
			if err != nil {
				t.Fatal(err)
			}
			p.end = end
			_, span := p.sdk.Tracer("test").Start(t.Context(), "one")
			span.End()
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			p.Close(ctx)
			took := time.Since(c.started)
			synctest.Wait() // what was being sent has been cancelled
			if len(c.bodies) != 1 || took > time.Second || silent != (took == time.Second) {
				t.Errorf("silent %v: %d requests in %v", silent, len(c.bodies), took)
			}
			var got tracepb.TracesData
			if err := proto.Unmarshal(c.bodies[0], &got); err != nil || !strings.Contains(got.String(), "1.2.3") {
				t.Errorf("the collector got %v, %v", &got, err)
			}
		})
	}
}

// TestNoProvider traces nothing.
func TestNoProvider(t *testing.T) {
	t.Parallel()
	p, err := New(t.Context(), nil, "", nil)
	if p != nil || err != nil || p.Tracer() != nil {
		t.Error(p, err)
	}
	p.Close(t.Context())
}

// TestCollectorThatTakesAPart tells of spans that a collector has not taken although it says 200: see
// https://opentelemetry.io/docs/specs/otlp/#partial-success-1.
func TestCollectorThatTakesAPart(t *testing.T) {
	t.Parallel()
	part := func(spans uint64, words string) string {
		inner := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), spans)
		inner = protowire.AppendString(protowire.AppendTag(inner, 2, protowire.BytesType), words)
		return string(protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), inner))
	}
	for name, c := range map[string]struct{ body, logged string }{
		"a part":               {part(3, "CANARY"), "the collector has not taken 3 spans"},
		"all, with a word":     {part(0, "CANARY"), ""},
		"all":                  {part(0, "")[:0], ""},
		"no answer of its own": {"<html>", ""},
		"cut short":            {part(3, "CANARY")[:4], ""},
	} {
		answered := &collector{answers: []answer{{status: 200, body: c.body}}}
		logged, _ := send(t, Config{}, answered)
		if len(answered.bodies) != 1 || (logged == "") != (c.logged == "") || !strings.Contains(logged, c.logged) {
			t.Errorf("%s: %d requests, log %q, want %q", name, len(answered.bodies), logged, c.logged)
		}
	}
}

// TestMoreSpansThanAreKept tells how many spans were dropped while the collector was slow, also of the last ones.
func TestMoreSpansThanAreKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const kept, ended = 100, 150
		var log bytes.Buffer
		slow := &collector{answers: []answer{{status: 200}}, started: time.Now(), takes: time.Second}
		cfg := &Config{endpoint: "http://collector.example/", timeout: time.Minute, queue: kept}
		ending, end := context.WithCancel(t.Context())
		client := newClient(ending, cfg, slog.New(slog.NewTextHandler(&log, nil)))
		client.http.Transport = slow
		p, err := newProvider(t.Context(), client, "1.2.3")
		if err != nil {
			t.Fatal(err)
		}
		p.end = end
		burst := func(n int) {
			for range n {
				_, span := p.sdk.Tracer("test").Start(t.Context(), "one")
				span.End()
			}
		}
		burst(ended)
		time.Sleep(time.Minute)
		synctest.Wait()
		if !strings.Contains(log.String(), "spans=50 kept=100") {
			t.Errorf("log %q", log.String())
		}
		log.Reset()
		burst(kept)
		time.Sleep(time.Minute)
		synctest.Wait()
		if log.Len() > 0 {
			t.Errorf("nothing was dropped, log %q", log.String())
		}
		burst(kept + 7)
		p.Close(t.Context())
		if !strings.Contains(log.String(), "spans=7 kept=100") {
			t.Errorf("log %q", log.String())
		}
		sent := 0
		for _, body := range slow.bodies {
			var got tracepb.TracesData
			if err := proto.Unmarshal(body, &got); err != nil {
				t.Fatal(err)
			}
			sent += len(got.ResourceSpans[0].ScopeSpans[0].Spans)
		}
		if sent != 3*kept {
			t.Errorf("%d spans were sent", sent)
		}
	})
}
