package mcptoolset_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"

	"countersign/agent"
	"countersign/agent/mcptoolset"
)

// A server that carries a call out and then answers as if it had not, with whatever status, gets it once, and nobody says
// that nothing happened.
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
			s.Headers = map[string]string{"Idempotency-Key": "always-the-same"} // net/http takes it for permission to repeat
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

// A session that ended while nobody called is noticed before a call is sent: the call is carried out once, on a new one.
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
