package httptool_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"countersign/agent"
	"countersign/agent/httptool"
	"countersign/agent/toolstatus"
)

// TestLostAnswerOfAnIdempotentCall has a server carry a call out and lose the connection before it has answered. The
// call is made again under the same key, which is what makes that safe: left to the model, it would be another call,
// with a key of its own. Where that brings no answer either, people have to find out.
func TestLostAnswerOfAnIdempotentCall(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		method string
		lost   int32 // answers
		tries  int
		want   error
	}{
		{"POST", 0, 1, nil},
		{"POST", 1, 2, nil},
		{"DELETE", 1, 2, nil},
		{"POST", 9, 2, agent.ErrOutcomeUnknown},
		{"DELETE", 9, 2, agent.ErrOutcomeUnknown},
	} {
		var got atomic.Int32
		url, requests := recorder(t, func(w http.ResponseWriter, _ *http.Request) {
			if got.Add(1) <= tt.lost {
				panic(http.ErrAbortHandler)
			}
			says(200, "paid once")(w, nil)
		})
		tool := newTool(t, httptool.Config{Method: tt.method, URL: url, Idempotent: true})
		out, err := tool.Invoke(t.Context(), &agent.ToolCall{
			Tool: tool.Name, Arguments: json.RawMessage(`{}`), EffectID: "eff_1",
		})
		if !errors.Is(err, tt.want) || tt.want == nil && out.Text != "paid once" {
			t.Errorf("%s, %d answers lost: %q, %v", tt.method, tt.lost, out.Text, err)
		}
		var keys []string
		for _, r := range requests() {
			keys = append(keys, r.header.Get("Idempotency-Key"))
		}
		if want := slices.Repeat([]string{"eff_1"}, tt.tries); !slices.Equal(keys, want) {
			t.Errorf("%s, %d answers lost: sent with the keys %v, want %v", tt.method, tt.lost, keys, want)
		}
	}
}

// TestLostAnswerOfAServerThatIsGone has the server be gone when the call is made again: the first time it was sent.
func TestLostAnswerOfAServerThatIsGone(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		conn, err := l.Accept()
		l.Close()
		if err == nil {
			_, _ = conn.Read(make([]byte, 1))
			conn.Close()
		}
	}()
	tool := newTool(t, httptool.Config{Method: "POST", URL: "http://" + l.Addr().String(), Idempotent: true})
	out, err := tool.Invoke(t.Context(), &agent.ToolCall{Tool: tool.Name, EffectID: "eff_1"})
	if !errors.Is(err, agent.ErrOutcomeUnknown) {
		t.Errorf("%q, %v", out.Text, err)
	}
}

// TestLostAnswerOnAKeptConnection makes a call after another one, so that its connection may be an old one. Transports
// send a request once more by themselves when such a one breaks, and what is answered then would be taken for the
// answer to the only sending.
func TestLostAnswerOnAKeptConnection(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"POST", "DELETE"} {
		var got atomic.Int32
		url, requests := recorder(t, func(w http.ResponseWriter, _ *http.Request) {
			switch got.Add(1) {
			case 1:
				says(200, "paid")(w, nil)
			case 2:
				panic(http.ErrAbortHandler)
			default:
				says(409, "in progress")(w, nil)
			}
		})
		tool := newTool(t, httptool.Config{Method: method, URL: url, Idempotent: true})
		for i, want := range []error{nil, agent.ErrOutcomeUnknown} {
			effect := fmt.Sprint("eff_", i)
			out, err := tool.Invoke(t.Context(), &agent.ToolCall{Tool: tool.Name, EffectID: effect})
			if !errors.Is(err, want) {
				t.Errorf("%s, call %d: %+v, %v", method, i, out, err)
			}
		}
		if n := len(requests()); n != 3 {
			t.Errorf("%s: %d requests", method, n)
		}
	}
}

// TestLostAnswerOfACallThatIsRefusedThen has the server refuse the second sending, as one does that is at work on the
// first, or limits how many calls it takes. That is no answer to the first, which may be carried out: nobody is told
// that the call has failed. A call that changes nothing has.
func TestLostAnswerOfACallThatIsRefusedThen(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		method       string
		status       int
		unknown, may bool // it is not known what became of the call; the output says that the server may have acted
	}{
		{"POST", 409, true, false},
		{"POST", 429, true, false},
		{"PUT", 401, true, false},
		{"DELETE", 404, true, false},
		{"POST", 307, true, false},
		{"POST", 503, false, true},
		{"GET", 409, false, false},
	} {
		var got atomic.Int32
		url, _ := recorder(t, func(w http.ResponseWriter, _ *http.Request) {
			if got.Add(1) == 1 {
				panic(http.ErrAbortHandler)
			}
			says(tt.status, "in progress")(w, nil)
		})
		tool := newTool(t, httptool.Config{Method: tt.method, URL: url, Idempotent: true})
		out, err := tool.Invoke(t.Context(), &agent.ToolCall{Tool: tool.Name, EffectID: "eff_1"})
		if errors.Is(err, agent.ErrOutcomeUnknown) != tt.unknown || out.Failed == tt.unknown ||
			strings.Contains(out.Text, toolstatus.TextMayHaveActed) != tt.may {
			t.Errorf("%s, then %d: %+v, %v", tt.method, tt.status, out, err)
		}
	}
}
