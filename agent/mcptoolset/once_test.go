package mcptoolset_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"countersign/agent"
	"countersign/agent/mcptoolset"
)

// A server that carries a call out and then answers as if it had not, with whatever status, gets it once, and nobody
// says that nothing happened.
func TestNeverSentTwice(t *testing.T) {
	t.Parallel()
	for status := 300; status < 600; status++ {
		if http.StatusText(status) == "" {
			continue
		}
		var carriedOut atomic.Int64
		raw := &rawServer{answer: func(w http.ResponseWriter, _, _ json.RawMessage) {
			carriedOut.Add(1)
			w.Header().Set("Location", "/elsewhere")
			http.Error(w, "session not found", status)
		}}
		ts, _ := raw.start(t, func(s *mcptoolset.ServerConfig, _ *mcptoolset.Config) {
			// Package net/http takes it for permission to repeat.
			s.Headers = map[string]string{"Idempotency-Key": "always-the-same"}
		})
		out, err := invoke(t.Context(), toolsOf(t, ts)["plain"], `{}`)
		if !errors.Is(err, agent.ErrOutcomeUnknown) || carriedOut.Load() != 1 {
			t.Errorf("%d: carried out %d times: output %+v, %v", status, carriedOut.Load(), out, err)
		}
	}
}

// Nor is a call repeated that broke off on a connection that had been used before.
func TestNotRepeatedByTheTransport(t *testing.T) {
	t.Parallel()
	var carriedOut atomic.Int64
	raw := &rawServer{answer: func(w http.ResponseWriter, _, _ json.RawMessage) {
		carriedOut.Add(1)
		panic(http.ErrAbortHandler)
	}}
	ts, _ := raw.start(t, func(s *mcptoolset.ServerConfig, _ *mcptoolset.Config) {
		s.Headers = map[string]string{"Idempotency-Key": "always-the-same"}
	})
	out, err := invoke(t.Context(), toolsOf(t, ts)["plain"], `{}`)
	if !errors.Is(err, agent.ErrOutcomeUnknown) || carriedOut.Load() != 1 {
		t.Errorf("carried out %d times: output %+v, %v", carriedOut.Load(), out, err)
	}
}

// A server that switches protocols has not answered, and holds nobody up.
func TestSwitchedProtocols(t *testing.T) {
	t.Parallel()
	for _, when := range []string{"tools/call", "tools/list"} {
		raw := &rawServer{list: tools(plainTool)}
		srv := overHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err == nil && bytes.Contains(body, []byte(when)) {
				switchProtocols(t, w)
				return
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			raw.ServeHTTP(w, r)
		}))
		ts := newToolset(t, mcptoolset.Config{Server: newServer(t, mcptoolset.ServerConfig{Name: "raw", URL: srv.URL})})
		if when == "tools/list" {
			if _, err := ts.Tools(t.Context()); err == nil || !strings.Contains(err.Error(), "HTTP 101") {
				t.Errorf("%s: %v", when, err)
			}
			continue
		}
		out, err := invoke(t.Context(), toolsOf(t, ts)["plain"], `{}`)
		if !errors.Is(err, agent.ErrOutcomeUnknown) || !strings.Contains(err.Error(), "HTTP 101") {
			t.Errorf("%s: output %+v, %v", when, out, err)
		}
	}
}

// switchProtocols answers with 101 and then with nothing, until the client hangs up.
func switchProtocols(t *testing.T, w http.ResponseWriter) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		t.Error(err)
		return
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
	_, _ = io.Copy(io.Discard, conn)
}

// A session that ended while nobody called is noticed before a call is sent: the call is carried out once, on a new
// one.
func TestSessionEndedBefore(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusNotFound, http.StatusBadRequest} {
		var carriedOut atomic.Int64
		var gone atomic.Bool
		raw := &rawServer{list: tools(plainTool)}
		raw.answer = func(w http.ResponseWriter, id, _ json.RawMessage) {
			carriedOut.Add(1)
			raw.result(w, id, `{"content":[]}`)
		}
		srv := overHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if gone.CompareAndSwap(true, false) {
				http.Error(w, "session not found", status)
				return
			}
			raw.ServeHTTP(w, r)
		}))
		ts := newToolset(t, mcptoolset.Config{Server: newServer(t, mcptoolset.ServerConfig{Name: "raw", URL: srv.URL})})
		tool := toolsOf(t, ts)["plain"]
		gone.Store(true)
		call(t, tool, `{}`)
		if n := carriedOut.Load(); n != 1 {
			t.Errorf("%d: carried out %d times", status, n)
		}
	}
}
