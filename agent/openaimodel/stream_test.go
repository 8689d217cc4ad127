package openaimodel_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

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
	for _, file := range []string{
		"text.sse", "calls.sse", "output_left_out.sse", "refusal.sse",
		"chat_text.sse", "chat_calls.sse", "chat_refusal.sse",
	} {
		data := recorded(t, file)
		whole := len(data) // the blank line at the end ends the last event
		want, _, err := ask(t, newModel(t, replay(t, file), apiOf(file)), file)
		if err != nil {
			t.Fatal(err)
		}
		for _, end := range []error{io.EOF, io.ErrUnexpectedEOF} {
			var n int
			m := newModel(t, roundTripper(func(*http.Request) (*http.Response, error) {
				return cutAt(data, n, end), nil
			}), apiOf(file))
			for n = range len(data) + 1 {
				got, _, err := ask(t, m, file)
				if (err == nil) != (n >= whole) {
					t.Fatalf("%s cut after %d of %d bytes with %v: err %v", file, n, len(data), end, err)
				}
				if err == nil && (got.ID != want.ID || len(got.Items) != len(want.Items) || got.Usage != want.Usage) {
					t.Fatalf("%s cut after %d bytes: %+v", file, n, got)
				}
				e, ok := errors.AsType[*openaimodel.Error](err)
				if err != nil && (!ok || !strings.Contains(e.Error(), "cut short")) {
					t.Fatalf("%s cut after %d bytes: %v", file, n, err)
				}
			}
		}
	}
}

// Whatever a single wrong byte does to a stream, nothing panics.
func TestStreamWithAWrongByte(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"calls.sse", "chat_calls.sse"} {
		data := recorded(t, file)
		var broken string
		m := newModel(t, roundTripper(func(*http.Request) (*http.Response, error) {
			return cutAt(broken, len(broken), io.EOF), nil
		}), apiOf(file))
		for n := range len(data) {
			broken = data[:n] + "\x00" + data[n+1:]
			if res, _, err := ask(t, m, file); err == nil && len(res.Items) > 2 {
				t.Fatalf("%s, byte %d: %+v", file, n, res)
			}
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
			"data: {\"type\":\"response.output_text.delta\",\"delta\":\"ha\"}\n\n" + events[len(events)-2],
			"text/event-stream", "haha"},
		{"a delta that is no text", strings.Replace(data, `"delta":"Hello"`, `"delta":{"x":1}`, 1),
			"text/event-stream", " wörld"},
		{"a server that does not stream", recorded(t, "text.json"), "application/json",
			"Die Überweisung ist raus — 250\u00a0€ an <Acme> & Söhne."},
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

// withholding answers with the first part of a stream, and with the rest once release gives it leave.
func withholding(t *testing.T, data, cut string, release <-chan struct{}) string {
	t.Helper()
	at := strings.Index(data, cut)
	if at < 0 {
		t.Fatalf("no %q in the stream", cut)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, data[:at])
		_ = http.NewResponseController(w).Flush()
		select {
		case <-release:
			_, _ = io.WriteString(w, data[at:])
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// Text and summaries are delivered while the server still withholds the end: it sends the rest only once the first
// piece was seen. If it were not delivered, the call would end with a timeout.
func TestDeltasArriveBeforeTheEnd(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		file, cut string
		want      []agent.ModelDelta
	}{
		{"text.sse", `event: response.output_text.delta` + "\n" + `data: {"type":"response.output_text.delta",` +
			`"sequence_number":6`, []agent.ModelDelta{
			{ItemID: "msg_s1", Text: "Hello"}, {ItemID: "msg_s1", Text: " wörld"},
		}},
		{"reasoning.sse", `event: response.reasoning_summary_text.delta` + "\n" +
			`data: {"type":"response.reasoning_summary_text.delta","sequence_number":4`, []agent.ModelDelta{
			{ItemID: "rs_s5", Reasoning: "**Looking**"}, {ItemID: "rs_s5", Reasoning: " at it."},
			{ItemID: "rs_s5", Reasoning: "\n\n"}, {ItemID: "rs_s5", Reasoning: "**Deciding**"},
			{ItemID: "rs_s5", Reasoning: " now."}, {ItemID: "msg_s5", Text: "Done."},
		}},
		{"chat_text.sse", `data: {"id":"chatcmpl-S1","object":"chat.completion.chunk","created":1763721600,` +
			`"model":"gpt-5.2-2025-12-11","service_tier":"default","system_fingerprint":null,"choices":[{"index":0,` +
			`"delta":{"content":" w`, []agent.ModelDelta{
			{ItemID: "chatcmpl-S1", Text: "Hello"}, {ItemID: "chatcmpl-S1", Text: " wörld"},
		}},
	} {
		release := make(chan struct{})
		url := withholding(t, recorded(t, tt.file), tt.cut, release)
		m := newModel(t, nil, func(c *openaimodel.Config) {
			apiOf(tt.file)(c)
			c.BaseURL, c.HTTPClient, c.Timeout = url, nil, 20*time.Second
		})
		var got []agent.ModelDelta
		res, err := m.RespondStream(t.Context(), &agent.ModelRequest{}, func(d agent.ModelDelta) bool {
			if got = append(got, d); len(got) == 1 {
				close(release)
			}
			return true
		})
		if diff := cmp.Diff(tt.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v, deltas (-want +got):\n%s", tt.file, err, diff)
		} else if last := res.Items[len(res.Items)-1]; last.Type != agent.ItemMessage {
			t.Errorf("%s: last item %+v", tt.file, last)
		}
	}
}

// Who does not want to hear more still gets the whole answer.
func TestEmitThatStops(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"text.sse", "chat_text.sse"} {
		n := 0
		res, err := newModel(t, replay(t, file), apiOf(file)).RespondStream(t.Context(), &agent.ModelRequest{},
			func(agent.ModelDelta) bool {
				n++
				return false
			})
		if err != nil || n != 1 || res.Items[0].Text != "Hello wörld" {
			t.Errorf("%s: %d deltas, %+v, %v", file, n, res, err)
		}
	}
}

// A cut stream is asked for again only while nothing of it was passed on.
func TestNoRestartAfterADelta(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		why      string
		cutAfter int
		requests int
	}{{"before the first delta", 700, 2}, {"after it", 2600, 1}} {
		s := serve(t, says("one two three"))
		s.Inject(openaidev.Fault{CutAfter: tt.cutAfter})
		var text string
		req := &agent.ModelRequest{Items: []agent.Item{agent.UserMessage("x")}}
		_, err := modelOf(t, s, nil).RespondStream(t.Context(), req, func(d agent.ModelDelta) bool {
			text += d.Text
			return true
		})
		again := err == nil && text == "one two three"
		if again != (tt.requests == 2) || len(s.Requests()) != tt.requests {
			t.Errorf("%s: text %q, err %v, %d requests, want %d", tt.why, text, err, len(s.Requests()), tt.requests)
		}
		if err != nil && !strings.HasPrefix("one two three", text) {
			t.Errorf("%s: text %q", tt.why, text)
		}
	}
}

// Over a real connection every fault ends in the same answer.
func TestFaultsOnTheWire(t *testing.T) {
	t.Parallel()
	for _, stream := range []bool{false, true} {
		for i, fault := range []openaidev.Fault{
			{Reset: true}, {CutAfter: -1}, {CutAfter: 1}, {CutAfter: 900}, {Status: 500},
			{Status: 429, Header: http.Header{"Retry-After-Ms": {"1"}}},
			{Body: `{"id":`}, {Status: 503, Body: "<html>"}, {Hang: true}, {HangAfter: 700}, {Repeat: true}, {},
		} {
			t.Run(fmt.Sprintf("stream=%t,%d", stream, i), func(t *testing.T) {
				t.Parallel()
				s := serve(t, says("fine"))
				s.Inject(fault)
				m := modelOf(t, s, func(c *openaimodel.Config) {
					c.Streaming = stream
					if fault.Hang || fault.HangAfter > 0 { // the attempt that meets the fault takes all of it
						c.Timeout = 2 * time.Second
					}
				})
				res, err := m.Respond(t.Context(), &agent.ModelRequest{Items: []agent.Item{agent.UserMessage("x")}})
				if err != nil || len(res.Items) != 1 || res.Items[0].Text != "fine" {
					t.Errorf("%+v: %+v, %v", fault, res, err)
				}
			})
		}
	}
}

func FuzzStream(f *testing.F) {
	for _, file := range []string{
		"text.sse", "calls.sse", "failed.sse", "incomplete.sse", "error_event.sse", "error_object.sse",
	} {
		f.Add(recorded(f, file), true)
	}
	for _, file := range []string{"text.json", "reasoning_and_calls.json", "failed.json", "error_401.json"} {
		f.Add(recorded(f, file), false)
	}
	fuzzAnswers(f, openaimodel.Responses)
}

func FuzzChat(f *testing.F) {
	for _, file := range []string{
		"chat_text.sse", "chat_calls.sse", "chat_error.sse", "chat_length.sse", "chat_other_server.sse",
	} {
		f.Add(recorded(f, file), true)
	}
	for _, file := range []string{"chat_text.json", "chat_calls.json", "chat_refusal.json", "chat_other_server.json"} {
		f.Add(recorded(f, file), false)
	}
	fuzzAnswers(f, openaimodel.ChatCompletions)
}

// fuzzAnswers has a model read whatever comes back. What it takes for an answer can be saved, and sent again.
func fuzzAnswers(f *testing.F, api openaimodel.API) {
	var body string // inputs are run one after the other
	contentType := map[bool]string{false: "application/json", true: "text/event-stream"}
	models := make(map[bool]*openaimodel.Model)
	for _, stream := range []bool{false, true} {
		models[stream] = newModel(f, roundTripper(func(*http.Request) (*http.Response, error) {
			return answer(200, body, "Content-Type", contentType[stream]), nil
		}), func(c *openaimodel.Config) { c.Streaming, c.API = stream, api })
	}
	f.Fuzz(func(t *testing.T, data string, stream bool) {
		body = data
		res, err := models[stream].Respond(t.Context(), &agent.ModelRequest{})
		if err == nil {
			for _, it := range res.Items {
				if saved, err := json.Marshal(it); err != nil || json.Unmarshal(saved, new(agent.Item)) != nil {
					t.Fatalf("item %s cannot be saved: %v", it.Raw, err)
				}
			}
			body = completed
			var refused *openaimodel.Error
			_, err := models[stream].Respond(t.Context(), &agent.ModelRequest{Items: res.Items})
			if err != nil && !errors.As(err, &refused) {
				t.Fatal(err)
			}
		}
		if (res == nil) == (err == nil) {
			t.Fatalf("res %v, err %v", res, err)
		}
		if err != nil && strings.ContainsAny(err.Error(), "\n\r\x00") {
			t.Fatalf("unfit text %q", err)
		}
	})
}
