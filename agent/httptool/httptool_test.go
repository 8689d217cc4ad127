package httptool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"countersign/agent"
	"countersign/agent/httptool"
	"countersign/agent/toolstatus"
)

func newTool(t testing.TB, cfg httptool.Config) agent.Tool {
	t.Helper()
	if cfg.Name == "" {
		cfg.Name = "probe"
	}
	tool, err := httptool.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return tool
}

// invoke runs a call and returns its output.
func invoke(t testing.TB, tool agent.Tool, arguments string) string {
	t.Helper()
	out, err := tool.Invoke(t.Context(), &agent.ToolCall{
		Tool: tool.Name, Arguments: json.RawMessage(arguments), EffectID: "eff_1",
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.Text
}

// open is a schema that allows any object.
const open = `{"type":"object"}`

type seen struct {
	method, uri, body, host string
	header                  http.Header
}

// recorder answers with handle and remembers the requests.
func recorder(t testing.TB, handle http.HandlerFunc) (url string, requests func() []seen) {
	t.Helper()
	var mu sync.Mutex
	var all []seen
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		all = append(all, seen{r.Method, r.RequestURI, string(body), r.Host, r.Header.Clone()})
		mu.Unlock()
		handle(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL, func() []seen {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(all)
	}
}

func says(status int, body string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func TestBodyIsTheArguments(t *testing.T) {
	t.Parallel()
	const arguments = `{"amount":1250.5,"memo":"<b> & ü\u2028","to":"Acme"}`
	for _, method := range []string{"POST", "put", "PATCH"} {
		url, requests := recorder(t, says(200, `{"reference":"TR-1"}`))
		tool := newTool(t, httptool.Config{
			Method: method, URL: url + "/transfer?tenant=7", Parameters: json.RawMessage(open),
			Headers: map[string]string{"authorization": "Bearer s3cret", "X-Team": "ops", "User-Agent": "ops/1"},
		})
		if text := invoke(t, tool, arguments); text != `{"reference":"TR-1"}` {
			t.Errorf("output %q", text)
		}
		all := requests()
		if len(all) != 1 {
			t.Fatalf("%d requests", len(all))
		}
		r := all[0]
		if r.method != strings.ToUpper(method) || r.uri != "/transfer?tenant=7" || r.body != arguments {
			t.Errorf("request %+v", r)
		}
		for name, want := range map[string]string{
			"Content-Type": "application/json", "Authorization": "Bearer s3cret", "X-Team": "ops",
			"User-Agent": "ops/1", "Idempotency-Key": "eff_1", "Content-Length": fmt.Sprint(len(arguments)),
		} {
			if got := r.header.Get(name); got != want {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
	}
}

func TestArgumentsInTheQuery(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ query, arguments, want string }{
		{"", `{}`, "/x"},
		{"", ``, "/x"},
		{"", `{"a":"b c","n":1e+21,"t":true}`, "/x?a=b+c&n=1e%2B21&t=true"},
		{"?api-version=2&q=a%20b", `{"z":"&=?#","l":[1,"x"],"o":{"k":null}}`,
			"/x?api-version=2&q=a%20b&z=%26%3D%3F%23&l=%5B1%2C%22x%22%5D&o=%7B%22k%22%3Anull%7D"},
		{"", `{"gone":null,"empty":"","ü":"é"}`, "/x?empty=&%C3%BC=%C3%A9"},
	} {
		for _, method := range []string{"GET", "HEAD", "DELETE"} {
			url, requests := recorder(t, says(200, "fine"))
			tool := newTool(t, httptool.Config{
				Method: method, URL: url + "/x" + tt.query, Parameters: json.RawMessage(open),
			})
			invoke(t, tool, tt.arguments)
			if all := requests(); len(all) != 1 || all[0].uri != tt.want || all[0].body != "" ||
				all[0].header.Get("Idempotency-Key") != "eff_1" || all[0].header.Get("User-Agent") != "countersign" {
				t.Errorf("%s %s: %+v, want %s", method, tt.arguments, all, tt.want)
			}
		}
	}
}

// What the operator fixed in the query cannot be said twice.
func TestFixedQueryWins(t *testing.T) {
	t.Parallel()
	url, requests := recorder(t, says(200, ""))
	tool := newTool(t, httptool.Config{Method: "GET", URL: url + "?account=1", Parameters: json.RawMessage(open)})
	text := invoke(t, tool, `{"account":"2"}`)
	if !strings.Contains(text, `"account" is fixed`) || len(requests()) != 0 {
		t.Errorf("output %q, requests %v", text, requests())
	}
}

func TestOutputs(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ä", 100)
	for _, tt := range []struct {
		why    string
		handle http.HandlerFunc
		want   string
	}{
		{"text", says(200, "hello"), "hello"},
		{"nothing", says(204, ""), "HTTP 204 No Content"},
		{"empty", says(200, ""), "HTTP 200 OK"},
		{"not found", says(404, `{"error":"no such account"}`), "HTTP 404 Not Found\n{\"error\":\"no such account\"}"},
		{"conflict", says(409, "later"), "HTTP 409 Conflict\nlater"},
		{"unknown status", says(499, "x"), "HTTP 499 status code 499\nx"},
		{"not modified", says(304, ""), "HTTP 304 Not Modified"},
		{"long, length known", says(200, long, "Content-Length", "200"),
			strings.Repeat("ä", 32) + "\n[truncated: 64 bytes shown of 200 bytes]"},
		{"long, cut in a character", says(200, "x"+long, "Content-Length", "201"),
			"x" + strings.Repeat("ä", 31) + "\n[truncated: 63 bytes shown of 201 bytes]"},
		{"long, length unknown", func(w http.ResponseWriter, _ *http.Request) {
			_ = http.NewResponseController(w).Flush()
			_, _ = io.WriteString(w, long)
		}, strings.Repeat("ä", 32) + "\n[truncated: 64 bytes shown of more than 64 bytes]"},
		{"exactly the limit", says(200, strings.Repeat("x", 64)), strings.Repeat("x", 64)},
		{"some invalid UTF-8", says(200, "caf\xe9 and plenty of other text", "Content-Type", "text/plain"),
			"caf\uFFFD and plenty of other text"},
		{"Latin-1", says(200, "caf\xe9", "Content-Type", "text/plain; charset=ISO-8859-1"), "café"},
		{"an image", says(200, "\x89PNG\r\n", "Content-Type", "image/png"),
			"[a body that is not text: image/png, 6 bytes]"},
		{"bytes without a name", says(200, "\x00\x01\x02", "Content-Type", ""),
			"[a body that is not text: unknown type, 3 bytes]"},
		{"many bytes",
			says(200, strings.Repeat("\xff\x01", 300),
				"Content-Type", "application/octet-stream", "Content-Length", "600"),
			"[a body that is not text: application/octet-stream, 600 bytes]"},
		{"an error with bytes", says(400, "\x00"),
			"HTTP 400 Bad Request\n[a body that is not text: text/plain, 1 bytes]"},
	} {
		t.Run(tt.why, func(t *testing.T) {
			t.Parallel()
			url, _ := recorder(t, tt.handle)
			for _, method := range []string{"GET", "POST"} {
				tool := newTool(t, httptool.Config{Method: method, URL: url, MaxBytes: 64})
				got := invoke(t, tool, `{}`)
				if tt.why == "an error with bytes" {
					got = strings.Replace(got, "application/octet-stream", "text/plain", 1)
				}
				if got != tt.want {
					t.Errorf("%s: got %q, want %q", method, got, tt.want)
				}
			}
		})
	}
}

// TestWhatHasFailed says of each answer whether the call did what it was to do.
func TestWhatHasFailed(t *testing.T) {
	t.Parallel()
	for status, failed := range map[int]bool{200: false, 204: false, 304: true, 400: true, 404: true, 500: true,
		599: true} {
		url, _ := recorder(t, says(status, ""))
		tool := newTool(t, httptool.Config{Method: "POST", URL: url})
		out, err := tool.Invoke(t.Context(), &agent.ToolCall{
			Tool: tool.Name, Arguments: []byte(`{}`), EffectID: "eff_1",
		})
		if err != nil || out.Failed != failed {
			t.Errorf("%d: failed %v, %v", status, out.Failed, err)
		}
	}
}

// TestModelIsToldWhatAnAnswerLeavesOpen: a gateway that gave up does not know whether the payment behind it was made,
// and a server that redirects a POST has often done what was asked. What was refused, or only read, leaves nothing
// open.
func TestModelIsToldWhatAnAnswerLeavesOpen(t *testing.T) {
	t.Parallel()
	const remark = "[The server may have acted all the same. Do not count on it that nothing was done.]"
	for _, method := range []string{"POST", "PUT", "PATCH", "DELETE", "GET"} {
		for status, open := range map[int]bool{
			200: false, 303: true, 307: false, 404: false, 408: true, 422: false, 504: true,
		} {
			url, _ := recorder(t, says(status, "said"))
			out, err := newTool(t, httptool.Config{Method: method, URL: url}).Invoke(t.Context(), &agent.ToolCall{
				Tool: "t", Arguments: []byte(`{}`), EffectID: "eff_1",
			})
			if err != nil {
				t.Fatal(err)
			}
			if told := strings.HasSuffix(out.Text, "\n"+remark); told != (open && method != "GET") {
				t.Errorf("%s answered with %d: the model reads %q", method, status, out.Text)
			}
		}
	}
}

func TestLargeAnswerIsNotRead(t *testing.T) {
	t.Parallel()
	var wrote atomic.Int64
	url, _ := recorder(t, func(w http.ResponseWriter, _ *http.Request) {
		for range 64 << 10 {
			n, err := w.Write(make([]byte, 1<<10))
			wrote.Add(int64(n))
			if err != nil {
				return
			}
		}
	})
	invoke(t, newTool(t, httptool.Config{Method: "GET", URL: url}), `{}`)
	if n := wrote.Load(); n > 32<<20 {
		t.Errorf("%d bytes were taken", n)
	}
}

// What is known about a call without an answer depends on how far it got, and on whether it may be repeated.
func TestCallsWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	const secret = "hunter2-hunter2"
	cutting, _ := recorder(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	half, _ := recorder(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, "half of it")
	})
	garbage := rawServer(t, "SMTP ready "+secret+"\r\n\r\n")
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	refusing := "http://" + closed.Addr().String()
	_ = closed.Close()

	const unknown = "outcome unknown" // not an output: people have to find out
	for _, tt := range []struct {
		why, url, method string
		idempotent       bool
		want, not        string
	}{
		{"no server", refusing, "POST", false, "Nothing was sent", unknown},
		{"no such name", "http://no-such-host.invalid", "POST", false, "Nothing was sent", unknown},
		{"cut off", cutting, "POST", false, unknown, "Nothing was sent"},
		{"cut off GET", cutting, "GET", false, "may be repeated", unknown},
		{"not HTTP", garbage, "POST", false, unknown, "Nothing was sent"},
		{"cut in the body", half, "POST", false,
			"half of it\n[truncated: 10 bytes shown of 100 bytes]\n[HTTP 200 OK; the connection broke", unknown},
	} {
		t.Run(tt.why, func(t *testing.T) {
			t.Parallel()
			tool := newTool(t, httptool.Config{
				Method: tt.method, URL: tt.url + "/p?token=" + secret, Idempotent: tt.idempotent,
				Headers: map[string]string{"X-Key": secret},
			})
			out, err := tool.Invoke(t.Context(), &agent.ToolCall{
				Tool: tool.Name, Arguments: json.RawMessage(`{}`), EffectID: "eff_1",
			})
			text := out.Text
			if errors.Is(err, agent.ErrOutcomeUnknown) {
				text = err.Error()
			} else if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(text, tt.want) || strings.Contains(text, tt.not) || strings.Contains(text, secret) ||
				strings.Contains(text, "/p") {
				t.Errorf("output %q", text)
			}
			host := strings.TrimPrefix(tt.url, "http://")
			if !strings.Contains(tt.want, "HTTP 200") && !strings.Contains(text, host) {
				t.Errorf("output %q does not name the host %s", text, host)
			}
		})
	}
}

// rawServer answers every connection with the same bytes, whatever it is sent.
func rawServer(t *testing.T, answer string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(c, answer)
			_, _ = c.Read(make([]byte, 4096))
			_ = c.Close()
		}
	}()
	return "http://" + l.Addr().String()
}

// The end of the caller's context is an error and not an output: nothing may be recorded as done.
func TestContextEnds(t *testing.T) {
	t.Parallel()
	lost := errors.New("lease lost")
	ctx, cancel := context.WithCancelCause(t.Context())
	release := make(chan struct{})
	url, _ := recorder(t, func(http.ResponseWriter, *http.Request) {
		cancel(lost)
		<-release
	})
	t.Cleanup(func() { close(release) })
	tool := newTool(t, httptool.Config{Method: "POST", URL: url})
	out, err := tool.Invoke(ctx, &agent.ToolCall{Arguments: json.RawMessage(`{}`), EffectID: "e"})
	if !errors.Is(err, lost) || out.Text != "" {
		t.Errorf("output %+v, error %v", out, err)
	}
}

// flaky answers the first request of each connection and drops the connection at the second, having read it.
func flaky(t *testing.T) (url string, received *atomic.Int64) {
	t.Helper()
	received = new(atomic.Int64)
	var mu sync.Mutex
	served := make(map[string]bool)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		received.Add(1)
		mu.Lock()
		again := served[r.RemoteAddr]
		served[r.RemoteAddr] = true
		mu.Unlock()
		if again {
			panic(http.ErrAbortHandler)
		}
		_, _ = io.WriteString(w, "ok")
	}))
	t.Cleanup(s.Close)
	return s.URL, received
}

// TestNothingIsRepeatedBehindOurBack: transports take an Idempotency-Key for permission to repeat a request whose kept
// connection breaks. No connection is kept for calls that change something.
func TestNothingIsRepeatedBehindOurBack(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		method     string
		idempotent bool
		want       int64 // requests received in two calls
	}{
		{"POST", false, 2},
		{"DELETE", false, 2},
		{"PATCH", false, 2},
		{"GET", false, 3}, // control: kept connection, dropped, repeated
		{"POST", true, 2},
		{"DELETE", true, 2},
	} {
		url, received := flaky(t)
		tool := newTool(t, httptool.Config{Method: tt.method, URL: url, Idempotent: tt.idempotent})
		for range 2 {
			if text := invoke(t, tool, `{}`); text != "ok" {
				t.Errorf("%s: output %q", tt.method, text)
			}
		}
		if got := received.Load(); got != tt.want {
			t.Errorf("%s, idempotent %t: the server received %d requests, want %d",
				tt.method, tt.idempotent, got, tt.want)
		}
	}
}

// TestStatus: the output says which status the answer had, also of one that is a failure, and none of what nobody
// answered.
func TestStatus(t *testing.T) {
	t.Parallel()
	for _, code := range []int{200, 204, 404, 500} {
		url, _ := recorder(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) })
		tool := newTool(t, httptool.Config{Method: "GET", URL: url, Parameters: json.RawMessage(open)})
		out, err := tool.Invoke(t.Context(), &agent.ToolCall{Arguments: json.RawMessage(`{}`)})
		if err != nil || out.Status != (toolstatus.Status{HTTP: code}) {
			t.Errorf("status %+v of an answer with %d, %v", out.Status, code, err)
		}
	}
	tool := newTool(t, httptool.Config{Method: "GET", URL: "http://127.0.0.1:1/", Parameters: json.RawMessage(open)})
	out, err := tool.Invoke(t.Context(), &agent.ToolCall{Arguments: json.RawMessage(`{}`)})
	if err != nil || out.Status != (toolstatus.Status{}) {
		t.Errorf("status %+v of no answer, %v", out.Status, err)
	}
}
