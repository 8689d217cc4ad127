package mcptoolset_test

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"countersign/agent"
	"countersign/agent/mcptoolset"
)

// A server that speaks only the newest protocol is spoken to in that. What it says about how long its tools may be
// remembered does not count: it is asked again unless it tells.
func TestNewestProtocolOnly(t *testing.T) {
	t.Parallel()
	for _, tells := range []bool{true, false} {
		newest := mcp.SupportedProtocolVersions()[0]
		s := mcp.NewServer(&mcp.Implementation{Name: "new", Version: "1"}, &mcp.ServerOptions{
			SupportedProtocolVersions: []string{newest}, PageSize: 1,
			Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{ListChanged: tells}},
			SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) { c.TTLMs = 3_600_000 },
		})
		add := func(name, description string) {
			mcp.AddTool(s, &mcp.Tool{Name: name, Description: description},
				func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, any, error) {
					return say(description), nil, nil
				})
		}
		add("a", "first")
		add("b", "second")
		var version atomic.Value
		handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s },
			&mcp.StreamableHTTPOptions{Stateless: true})
		srv := overHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			version.Store(r.Header.Get("Mcp-Protocol-Version"))
			handler.ServeHTTP(w, r)
		}))
		ts := newToolset(t, mcptoolset.Config{Server: newServer(t, mcptoolset.ServerConfig{Name: "new", URL: srv.URL})})
		var before map[string]agent.Tool
		for range 3 {
			before = toolsOf(t, ts)
			if len(before) != 2 {
				t.Fatalf("got %v", before)
			}
		}
		if out := call(t, before["b"], `{}`); out.Text != "second" {
			t.Errorf("output %+v", out)
		}
		if v := version.Load(); v != newest {
			t.Errorf("spoken to in version %v", v)
		}
		add("b", "third")
		after := toolsOf(t, ts)["b"]
		for ; tells && after.Description != "third"; after = toolsOf(t, ts)["b"] {
			if t.Context().Err() != nil {
				t.Fatal("the change was never noticed")
			}
		}
		if after.Description != "third" || after.Digest() == before["b"].Digest() {
			t.Errorf("tells %t: after the change: %q", tells, after.Description)
		}
	}
}
