package openaimodel_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"countersign/agent"
	"countersign/agent/openaimodel"
	"countersign/internal/openaidev"
)

// cutAt answers with the first n bytes of a stream and then with err.
func cutAt(data string, n int, err error) *http.Response {
	res := answer(200, "", "Content-Type", "text/event-stream")
	res.Body = io.NopCloser(io.MultiReader(strings.NewReader(data[:n]), iotest.ErrReader(err)))
	return res
}

// Wherever a stream is cut, there is an error or the whole answer, never a part of it.
func TestStreamCutAtEveryByte(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"text.sse", "calls.sse", "output_left_out.sse", "refusal.sse"} {
		data := recorded(t, file)
		whole := len(data) // the blank line at the end ends the last event
		want, _, err := ask(t, newModel(t, replay(t, file), nil), file)
		if err != nil {
			t.Fatal(err)
		}
		for _, end := range []error{io.EOF, io.ErrUnexpectedEOF} {
			var n int
			m := newModel(t, roundTripper(func(*http.Request) (*http.Response, error) { return cutAt(data, n, end), nil }), nil)
			for n = range len(data) + 1 {
				got, _, err := ask(t, m, file)
				if (err == nil) != (n >= whole) {
					t.Fatalf("%s cut after %d of %d bytes with %v: err %v", file, n, len(data), end, err)
				}
				if err == nil && (got.ID != want.ID || len(got.Items) != len(want.Items) || got.Usage != want.Usage) {
					t.Fatalf("%s cut after %d bytes: %+v", file, n, got)
				}
				if e, ok := errors.AsType[*openaimodel.Error](err); err != nil && (!ok || !strings.Contains(e.Error(), "cut short")) {
					t.Fatalf("%s cut after %d bytes: %v", file, n, err)
				}
			}
		}
	}
}

// Whatever a single wrong byte does to a stream, nothing panics.
func TestStreamWithAWrongByte(t *testing.T) {
	t.Parallel()
	data := recorded(t, "calls.sse")
	var broken string
	m := newModel(t, roundTripper(func(*http.Request) (*http.Response, error) { return cutAt(broken, len(broken), io.EOF), nil }), nil)
	for n := range len(data) {
		broken = data[:n] + "\x00" + data[n+1:]
		if res, _, err := ask(t, m, "calls.sse"); err == nil && len(res.Items) != 2 {
			t.Fatalf("byte %d: %+v", n, res)
		}
	}
}

func TestStreamInOtherShapes(t *testing.T) {
	t.Parallel()
	data := recorded(t, "text.sse")
	events := strings.SplitAfter(data, "\n\n")
	var twice strings.Builder
	for _, e := range events {
		twice.WriteString(e + e)
	}
	for _, tt := range []struct{ why, data, contentType, text string }{
		{"carriage returns", strings.ReplaceAll(data, "\n", "\r\n"), "text/event-stream", "Hello wörld"},
		{"every event twice", twice.String(), "text/event-stream", "Hello wörld"},
		{"text that repeats without numbers", "data: {\"type\":\"response.output_text.delta\",\"delta\":\"ha\"}\n\n" +
			"data: {\"type\":\"response.output_text.delta\",\"delta\":\"ha\"}\n\n" + events[len(events)-2], "text/event-stream", "haha"},
		{"a delta that is no text", strings.Replace(data, `"delta":"Hello"`, `"delta":{"x":1}`, 1), "text/event-stream", " wörld"},
		{"a server that does not stream", recorded(t, "text.json"), "application/json", ""},
		{"events after the end", data + "data: {broken\n\n", "text/event-stream", "Hello wörld"},
	} {
		m := newModel(t, roundTripper(func(*http.Request) (*http.Response, error) {
			return answer(200, tt.data, "Content-Type", tt.contentType), nil
		}), nil)
		res, text, err := ask(t, m, "text.sse")
		if err != nil || text != tt.text || len(res.Items) != 1 {
			t.Errorf("%s: text %q, err %v", tt.why, text, err)
		}
	}
}

// An endless stream ends at a bound, not in the memory.
func TestEndlessAnswer(t *testing.T) {
	t.Parallel()
	for _, contentType := range []string{"application/json", "text/event-stream"} {
		m := newModel(t, roundTripper(func(*http.Request) (*http.Response, error) {
			res := answer(200, "", "Content-Type", contentType)
			res.Body = io.NopCloser(endless{})
			return res, nil
		}), func(c *openaimodel.Config) { c.Streaming = contentType != "application/json" })
		if _, err := m.Respond(t.Context(), &agent.ModelRequest{}); err == nil {
			t.Errorf("%s: no error", contentType)
		}
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '\n'
	}
	return len(p), nil
}

func serve(t testing.TB, script openaidev.Script) *openaidev.Server {
	t.Helper()
	s, err := openaidev.Start(openaidev.Config{Script: script, APIKey: testKey})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func modelOf(t testing.TB, s *openaidev.Server, change func(*openaimodel.Config)) *openaimodel.Model {
	t.Helper()
	return newModel(t, nil, func(c *openaimodel.Config) {
		c.BaseURL, c.HTTPClient, c.MaxAttempts = s.URL(), nil, 3
		if change != nil {
			change(c)
		}
	})
}

func says(text string) openaidev.Script {
	return openaidev.Script{Rules: []openaidev.Rule{{Round: openaidev.AnyRound, Reply: openaidev.Reply{Text: text}}}}
}

// Text is delivered while the server still withholds the end: it sends the rest only once the first piece was seen.
func TestTextArrivesBeforeTheEnd(t *testing.T) {
	t.Parallel()
	first, rest, _ := strings.Cut(recorded(t, "text.sse"), `{"type":"response.output_text.delta","sequence_number":6`)
	rest = `{"type":"response.output_text.delta","sequence_number":6` + rest
	seen := make(chan string, 2)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, first)
		_ = http.NewResponseController(w).Flush()
		select {
		case text := <-seen:
			if text != "Hello" {
				t.Errorf("first text %q", text)
			}
		case <-r.Context().Done():
		}
		_, _ = io.WriteString(w, rest)
	}))
	t.Cleanup(server.Close)
	m := newModel(t, nil, func(c *openaimodel.Config) { c.BaseURL, c.HTTPClient, c.Timeout = server.URL, nil, 5*time.Second })
	var all string
	res, err := m.Stream(t.Context(), &agent.ModelRequest{}, func(e openaimodel.Event) {
		all += e.Text
		seen <- e.Text
	})
	if err != nil || all != "Hello wörld" || res.Items[0].Text != all {
		t.Errorf("text %q, err %v", all, err)
	}
}

// A cut stream is asked for again, whole; who showed the first text is told to forget it.
func TestRestartAfterACut(t *testing.T) {
	t.Parallel()
	s := serve(t, says("one two three"))
	s.Inject(openaidev.Fault{CutAfter: 2600})
	var events []string
	res, err := modelOf(t, s, nil).Stream(t.Context(), &agent.ModelRequest{Items: []agent.Item{agent.UserMessage("x")}}, func(e openaimodel.Event) {
		events = append(events, string(e.Kind)+":"+e.Text)
	})
	if err != nil || res.Items[0].Text != "one two three" || len(s.Requests()) != 2 {
		t.Fatalf("%+v, %v", res, err)
	}
	got := strings.Join(events, "|")
	if !strings.HasPrefix(got, "text_delta:one ") || !strings.HasSuffix(got, "|restarted:|text_delta:one |text_delta:two |text_delta:three") {
		t.Errorf("events %s", got)
	}
}

// Over a real connection every fault ends in the same answer.
func TestFaultsOnTheWire(t *testing.T) {
	t.Parallel()
	for _, stream := range []bool{false, true} {
		for i, fault := range []openaidev.Fault{
			{Reset: true}, {CutAfter: -1}, {CutAfter: 1}, {CutAfter: 900}, {Status: 500}, {Status: 429, Header: http.Header{"Retry-After-Ms": {"1"}}},
			{Body: `{"id":`}, {Status: 503, Body: "<html>"}, {Hang: true}, {HangAfter: 700}, {Repeat: true}, {},
		} {
			t.Run(fmt.Sprintf("stream=%t,%d", stream, i), func(t *testing.T) {
				t.Parallel()
				s := serve(t, says("fine"))
				s.Inject(fault)
				m := modelOf(t, s, func(c *openaimodel.Config) { c.Streaming, c.Timeout = stream, 300*time.Millisecond })
				res, err := m.Respond(t.Context(), &agent.ModelRequest{Items: []agent.Item{agent.UserMessage("x")}})
				if err != nil || len(res.Items) != 1 || res.Items[0].Text != "fine" {
					t.Errorf("%+v: %+v, %v", fault, res, err)
				}
			})
		}
	}
}

func FuzzStream(f *testing.F) {
	for _, file := range []string{"text.sse", "calls.sse", "failed.sse", "incomplete.sse", "error_event.sse", "error_object.sse"} {
		f.Add(recorded(f, file), true)
	}
	for _, file := range []string{"text.json", "reasoning_and_calls.json", "failed.json", "error_401.json"} {
		f.Add(recorded(f, file), false)
	}
	var body string // inputs are run one after the other
	contentType := map[bool]string{false: "application/json", true: "text/event-stream"}
	models := make(map[bool]*openaimodel.Model)
	for _, stream := range []bool{false, true} {
		models[stream] = newModel(f, roundTripper(func(*http.Request) (*http.Response, error) {
			return answer(200, body, "Content-Type", contentType[stream]), nil
		}), func(c *openaimodel.Config) { c.Streaming = stream })
	}
	f.Fuzz(func(t *testing.T, data string, stream bool) {
		body = data
		res, err := models[stream].Respond(t.Context(), &agent.ModelRequest{})
		if (res == nil) == (err == nil) {
			t.Fatalf("res %v, err %v", res, err)
		}
		if err != nil && strings.ContainsAny(err.Error(), "\n\r\x00") {
			t.Fatalf("unfit text %q", err)
		}
	})
}
