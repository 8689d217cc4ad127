package app_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// effect is one call that reached the world outside.
type effect struct{ path, body, key, authorization string }

// effects is the world outside: it counts what happens to it.
type effects struct {
	server *httptest.Server
	mu     sync.Mutex
	calls  []effect
	hold   chan struct{} // if set, calls wait for it after they have happened
	came   chan struct{} // one value per call
}

func newEffects(t *testing.T) *effects {
	t.Helper()
	e := &effects{came: make(chan struct{}, 1000)}
	e.server = httptest.NewServer(http.HandlerFunc(e.serve))
	t.Cleanup(e.server.Close)
	return e
}

func (e *effects) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	e.mu.Lock()
	e.calls = append(e.calls, effect{r.URL.Path, string(body), r.Header.Get("Idempotency-Key"),
		r.Header.Get("Authorization")})
	n, hold := len(e.calls), e.hold
	e.mu.Unlock()
	e.came <- struct{}{}
	if hold != nil {
		select {
		case <-hold:
		case <-r.Context().Done():
		}
	}
	fmt.Fprintf(w, `{"reference":"R-%d"}`, n)
}

func (e *effects) all() []effect {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]effect(nil), e.calls...)
}

// holdBack makes calls wait until the returned function is called.
func (e *effects) holdBack() (release func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	hold := make(chan struct{})
	e.hold = hold
	return sync.OnceFunc(func() { close(hold) })
}
