package httptool

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"countersign/agent"
)

// overPipe makes a tool whose server is at the other end of a pipe: it reads a request, writes answer, and no more.
func overPipe(t *testing.T, cfg Config, answer string) *tool {
	t.Helper()
	cfg.Name, cfg.URL = "probe", "http://h.example/p?token=hunter2-hunter2"
	d, err := cfg.check()
	if err != nil {
		t.Fatal(err)
	}
	transport := newTransport(d)
	transport.DialContext = func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go func() {
			in := bufio.NewReader(theirs)
			if r, err := http.ReadRequest(in); err == nil {
				_, _ = io.Copy(io.Discard, r.Body)
			}
			_, _ = io.WriteString(theirs, answer)
			_, _ = in.ReadByte() // until it is hung up
			_ = theirs.Close()
		}()
		return ours, nil
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &tool{declared: d, transport: transport}
}

func call() *agent.ToolCall {
	return &agent.ToolCall{Tool: "probe", Arguments: json.RawMessage(`{}`), EffectID: "eff_1"}
}

// What is known when the time is up depends on how far the call got, and on whether it may be repeated.
func TestNoAnswerInTime(t *testing.T) {
	t.Parallel()
	const half = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\na bit"
	for _, tt := range []struct {
		why, method, answer string
		idempotent          bool
		want                string
		unknown             bool
	}{
		{"no answer", "POST", "", false,
			"the request was sent to h.example, but no answer came: timed out after 7s", true},
		{"no answer to DELETE", "DELETE", "", false, "no answer came: timed out after 7s", true},
		{"no answer, repeatable with its key alone", "POST", "", true, "no answer came: timed out after 7s", true},
		{"no answer to GET", "GET", "", false,
			"h.example was called, but no answer came: timed out after 7s. The call may be repeated.", false},
		{"stalled in the body", "POST", half, false, "a bit\n[truncated: 5 bytes shown of 100 bytes]\n" +
			"[HTTP 200 OK; the rest of the body did not come within 7s]", false},
	} {
		synctest.Test(t, func(t *testing.T) {
			tool := overPipe(t,
				Config{Method: tt.method, Idempotent: tt.idempotent, Timeout: 7 * time.Second}, tt.answer)
			start := time.Now()
			out, err := tool.invoke(t.Context(), call())
			text := out.Text
			if err != nil {
				text = err.Error()
			}
			took := time.Since(start)
			if took != 7*time.Second || errors.Is(err, agent.ErrOutcomeUnknown) != tt.unknown ||
				(err != nil) != tt.unknown {
				t.Errorf("%s: %q, %v after %v", tt.why, text, err, took)
			}
			if !strings.Contains(text, tt.want) || strings.Contains(text, "hunter2") || strings.Contains(text, "/p") {
				t.Errorf("%s: %q, want %q", tt.why, text, tt.want)
			}
		})
	}
}

// A time limit that somebody else has set ends the wait without an answer: that says nothing about the call, unless
// nothing was sent or it only reads.
func TestTimeOfTheCallerIsUp(t *testing.T) {
	t.Parallel()
	const half = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\na bit"
	for _, tt := range []struct {
		why, method, answer string
		unknown             bool
	}{
		{"no answer", "POST", "", true}, {"half an answer", "POST", half, true},
		{"no answer to GET", "GET", "", false}, {"half an answer to GET", "GET", half, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			tool := overPipe(t, Config{Method: tt.method, Timeout: 7 * time.Second}, tt.answer)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			out, err := tool.invoke(ctx, call())
			if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, agent.ErrOutcomeUnknown) != tt.unknown {
				t.Errorf("%s: %q, %v", tt.why, out.Text, err)
			}
		})
	}
}

// A server that switches protocols has not answered, and holds nobody up: a read from its connection heeds no context.
func TestSwitchedProtocols(t *testing.T) {
	t.Parallel()
	const switched = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n"
	for method, want := range map[string]string{"POST": "outcome unknown", "GET": "The call may be repeated."} {
		synctest.Test(t, func(t *testing.T) {
			tool := overPipe(t, Config{Method: method, Timeout: 7 * time.Second}, switched)
			out, err := tool.invoke(t.Context(), call())
			text := out.Text
			if err != nil {
				text = err.Error()
			}
			if !strings.Contains(text, want) || !strings.Contains(text, "HTTP 101") ||
				errors.Is(err, agent.ErrOutcomeUnknown) != (method == "POST") {
				t.Errorf("%s: %q, %v", method, out.Text, err)
			}
		})
	}
}

// cancelling is a body that ends a context with its last byte, or before.
type cancelling struct {
	io.Reader
	cancel func()
}

func (c cancelling) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	if err != nil {
		c.cancel()
	}
	return n, err
}

func (cancelling) Close() error { return nil }

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// An answer that came counts, even if the caller is about to stop: asking people what became of the call would be
// asking about something that is known.
func TestAnsweredBeforeTheContextEnds(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		why    string
		body   io.Reader
		answer string
	}{
		{"all of it came", strings.NewReader("paid"), "paid"},
		{"control: only a part", io.MultiReader(strings.NewReader("pai"), broken{}), ""},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("lease lost")
		d, err := Config{Name: "probe", Method: "POST", URL: "http://h.example"}.check()
		if err != nil {
			t.Fatal(err)
		}
		tool := &tool{declared: d, transport: roundTripper(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Body: cancelling{tt.body, func() { cancel(why) }}}, nil
		})}
		out, err := tool.invoke(ctx, call())
		if out.Text != tt.answer || (tt.answer == "") != errors.Is(err, why) || ctx.Err() == nil {
			t.Errorf("%s: %+v, %v", tt.why, out, err)
		}
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
