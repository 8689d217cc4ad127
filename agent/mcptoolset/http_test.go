package mcptoolset_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"countersign/agent/mcptoolset"
)

// elsewhere counts the requests that get to a host that the operator did not write, and those with the headers.
func elsewhere(t *testing.T) (url string, reached *atomic.Int64) {
	t.Helper()
	reached = &atomic.Int64{}
	srv := overHTTP(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	return srv.URL, reached
}

func TestHeaders(t *testing.T) {
	t.Parallel()
	s := testServer()
	for name, handler := range map[string]http.Handler{
		"streamable": streamableHandler(s),
		"sse":        mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return s }, nil),
	} {
		var without, host atomic.Int64
		srv := overHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer x" {
				without.Add(1)
			}
			if r.Host != "virtual.example" {
				host.Add(1)
			}
			r.Host = "127.0.0.1"
			handler.ServeHTTP(w, r)
		}))
		cfg := mcptoolset.ServerConfig{
			Name: "test", URL: srv.URL,
			Headers: map[string]string{"authorization": "Bearer x", "host": "virtual.example"},
		}
		if name == "sse" {
			cfg.URL, cfg.SSE = "", srv.URL
		}
		server := newServer(t, cfg)
		call(t, toolsOf(t, newToolset(t, mcptoolset.Config{Server: server}))["echo"], `{"text":"x"}`)
		_ = server.Close()
		if without.Load()+host.Load() != 0 {
			t.Errorf("%s: %d requests without the header, %d to another virtual host",
				name, without.Load(), host.Load())
		}
	}
}

// Nothing that a server says leads to another host.
func TestStaysOnHost(t *testing.T) {
	t.Parallel()
	url, reached := elsewhere(t)
	redirecting := overHTTP(t, http.RedirectHandler(url, http.StatusTemporaryRedirect))
	turning := overHTTP(t, http.RedirectHandler("/other", http.StatusFound))
	sending := overHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "event: endpoint\ndata: %s/messages\n\n", url)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	for _, tt := range []struct {
		cfg  mcptoolset.ServerConfig
		want string
	}{
		{mcptoolset.ServerConfig{URL: redirecting.URL}, "is not followed; write that address"},
		{mcptoolset.ServerConfig{SSE: redirecting.URL}, "is not followed; write that address"},
		{mcptoolset.ServerConfig{URL: turning.URL}, "turns POST into GET"},
		{mcptoolset.ServerConfig{SSE: sending.URL}, "where we do not go"},
	} {
		tt.cfg.Name, tt.cfg.Headers = "test", map[string]string{"Authorization": "Bearer hunter2hunter2"}
		_, err := newToolset(t, mcptoolset.Config{Server: newServer(t, tt.cfg)}).Tools(t.Context())
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("want %q, got %v", tt.want, err)
		}
	}
	if n := reached.Load(); n != 0 {
		t.Errorf("%d requests went elsewhere", n)
	}
	if _, err := http.Get(redirecting.URL); err != nil || reached.Load() != 1 {
		t.Errorf("control: a client that follows: %v, %d", err, reached.Load())
	}
}

func TestRedirectOnHost(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.Handle("/mcp/", streamableHandler(testServer()))
	mux.Handle("/mcp", http.RedirectHandler("/mcp/", http.StatusTemporaryRedirect))
	srv := overHTTP(t, mux)
	ts := newToolset(t, mcptoolset.Config{
		Server: newServer(t, mcptoolset.ServerConfig{Name: "test", URL: srv.URL + "/mcp"}),
	})
	if out := call(t, toolsOf(t, ts)["echo"], `{"text":"x"}`); out.Text != "x (eff_7)" {
		t.Errorf("output %+v", out)
	}
}
