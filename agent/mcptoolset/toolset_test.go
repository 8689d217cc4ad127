package mcptoolset_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"countersign/agent"
	"countersign/agent/mcptoolset"
)

// journal is a log that can be read while it is written.
type journal struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.b.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.b.String()
}

func (j *journal) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(j, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

func newServer(t *testing.T, cfg mcptoolset.ServerConfig) *mcptoolset.Server {
	t.Helper()
	s, err := mcptoolset.NewServer(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func newToolset(t *testing.T, cfg mcptoolset.Config) *mcptoolset.Toolset {
	t.Helper()
	ts, err := mcptoolset.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return ts
}

func toolsOf(t *testing.T, ts *mcptoolset.Toolset) map[string]agent.Tool {
	t.Helper()
	tools, err := ts.Tools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	byName := make(map[string]agent.Tool)
	for _, tool := range tools {
		byName[tool.Name] = tool
	}
	return byName
}

func call(t *testing.T, tool agent.Tool, arguments string) agent.ToolOutput {
	t.Helper()
	out, err := invoke(t.Context(), tool, arguments)
	if err != nil {
		t.Fatalf("%s: %v", tool.Name, err)
	}
	return out
}

func invoke(ctx context.Context, tool agent.Tool, arguments string) (agent.ToolOutput, error) {
	return tool.Invoke(ctx, &agent.ToolCall{Tool: tool.Name, Arguments: json.RawMessage(arguments), EffectID: "eff_7"})
}

// listener is where a server's tools tell that they have begun.
func listener(t *testing.T) (begun func() net.Conn, address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return func() net.Conn {
		c, err := l.Accept()
		if err != nil {
			t.Error(err)
			return nil
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}, l.Addr().String()
}

func TestToolset(t *testing.T) {
	t.Parallel()
	everyTransport(t, func(t *testing.T, cfg mcptoolset.ServerConfig) {
		ts := newToolset(t, mcptoolset.Config{Server: newServer(t, cfg)})
		tools, err := ts.Tools(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, tool := range tools {
			names = append(names, tool.Name)
			if tool.Kind != agent.KindMCP || tool.NeedsApproval == nil || tool.Validate == nil || tool.Idempotent {
				t.Errorf("%s: %+v", tool.Name, tool)
			}
		}
		want := []string{"change", "crash", "echo", "environment", "fail", "huge", "nosy", "spawn", "stall", "wait"}
		if diff := cmp.Diff(want, names); diff != "" {
			t.Error(diff)
		}
		echo := toolsOf(t, ts)["echo"]
		if echo.Description != "Says it back." || !strings.Contains(string(echo.Parameters), `"text"`) {
			t.Errorf("echo: %+v", echo)
		}
		if err := echo.Validate(json.RawMessage(`{"text":7}`)); err == nil {
			t.Error("invalid arguments passed")
		}
		if out := call(t, echo, `{"text":"hello"}`); out.Text != "hello (eff_7)" || out.Failed {
			t.Errorf("output %+v", out)
		}
		if out := call(t, toolsOf(t, ts)["fail"], `{}`); out.Text != "no such branch" || !out.Failed {
			t.Errorf("output %+v", out)
		}
	})
}

// What people decided about is the tool as it was described then.
func TestChangedDescription(t *testing.T) {
	t.Parallel()
	everyTransport(t, func(t *testing.T, cfg mcptoolset.ServerConfig) {
		ts := newToolset(t, mcptoolset.Config{Server: newServer(t, cfg)})
		before := toolsOf(t, ts)
		call(t, before["change"], `{"text":"Says something else."}`)
		var after agent.Tool
		for after.Description != "Says something else." { // the notification comes on another stream than the answer
			if t.Context().Err() != nil {
				t.Fatal("the change was never noticed")
			}
			after = toolsOf(t, ts)["echo"]
		}
		if after.Digest() == before["echo"].Digest() {
			t.Error("the digest is the same")
		}
		if same := toolsOf(t, ts)["change"]; same.Digest() != before["change"].Digest() {
			t.Error("control: the digest of another tool has changed")
		}
		out, err := invoke(t.Context(), before["echo"], `{"text":"x"}`)
		if !errors.Is(err, agent.ErrStale) || out.Text != "" {
			t.Errorf("the tool of before: output %+v, error %v", out, err)
		}
		if out := call(t, after, `{"text":"x"}`); out.Text != "changed" {
			t.Errorf("the tool of now: %+v", out)
		}
	})
}

func TestDefaultGates(t *testing.T) {
	t.Parallel()
	cfg := self(t, "server")
	cfg.Trusted = true
	tools := toolsOf(t, newToolset(t, mcptoolset.Config{Server: newServer(t, cfg)}))
	for name, want := range map[string]struct{ gated, idempotent bool }{
		"echo": {false, true}, "wait": {true, true}, "stall": {true, false}, "change": {true, false},
	} {
		if tool := tools[name]; (tool.NeedsApproval != nil) != want.gated || tool.Idempotent != want.idempotent {
			t.Errorf("%s of a trusted server: gated %t, idempotent %t",
				name, tool.NeedsApproval != nil, tool.Idempotent)
		}
	}
	// That nothing of an untrusted server is ungated or idempotent is in TestToolset.
}

func TestGateFunction(t *testing.T) {
	t.Parallel()
	var got []mcptoolset.ServerTool
	ts := newToolset(t, mcptoolset.Config{
		Server: newServer(t, self(t, "server")), ToolPrefix: "x_",
		NeedsApproval: func(_ context.Context, call *agent.ToolCall, tool mcptoolset.ServerTool) (bool, error) {
			got = append(got, tool)
			return string(call.Arguments) != `{}`, nil
		},
	})
	gate := toolsOf(t, ts)["x_echo"].NeedsApproval
	for arguments, want := range map[string]bool{`{}`: false, `{"text":"x"}`: true} {
		ask, err := gate(t.Context(), &agent.ToolCall{Tool: "x_echo", Arguments: json.RawMessage(arguments)})
		if err != nil || ask != want {
			t.Errorf("%s: %t, %v", arguments, ask, err)
		}
	}
	want := mcptoolset.ServerTool{
		Server: "test", Name: "echo",
		Annotations: mcptoolset.Annotations{Title: "Echo", ReadOnlyHint: "true", IdempotentHint: "false"},
	}
	if diff := cmp.Diff([]mcptoolset.ServerTool{want, want}, got); diff != "" {
		t.Error(diff)
	}
}

func TestFilters(t *testing.T) {
	t.Parallel()
	var log journal
	cfg := self(t, "server")
	cfg.Logger = log.logger()
	server := newServer(t, cfg)
	names := func(cfg mcptoolset.Config) []string {
		cfg.Server = server
		ts := newToolset(t, cfg)
		for range 2 {
			toolsOf(t, ts)
		}
		var names []string
		for name := range toolsOf(t, ts) {
			names = append(names, name)
		}
		slices.Sort(names)
		return names
	}
	got := names(mcptoolset.Config{AllowedTools: []string{"echo", "wait", "ecco"}, ToolPrefix: "gh-"})
	if !slices.Equal(got, []string{"gh-echo", "gh-wait"}) {
		t.Errorf("allowed: %v", got)
	}
	got = names(mcptoolset.Config{BlockedTools: []string{"echo", "crash"}})
	if len(got) != 8 || slices.Contains(got, "echo") {
		t.Errorf("blocked: %v", got)
	}
	policy, err := mcptoolset.ParsePolicy(map[string]any{
		"never": map[string]any{"tool_names": []any{"echo", "get_isue"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	names(mcptoolset.Config{RequireApproval: policy})
	for name, want := range map[string]int{"ecco": 1, "get_isue": 1, "tool=echo": 0} {
		if n := strings.Count(log.String(), name); n != want {
			t.Errorf("the log has %q %d times, want %d:\n%s", name, n, want, log.String())
		}
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	server := newServer(t, self(t, "server"))
	parsed := func(v any) mcptoolset.Policy {
		p, err := mcptoolset.ParsePolicy(v)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	readOnly := parsed(map[string]any{"never": map[string]any{"read_only": true}})
	for _, tt := range []struct {
		want string
		cfg  mcptoolset.Config
	}{
		{"server is missing", mcptoolset.Config{}},
		{"allowed_tools has an empty name", mcptoolset.Config{Server: server, AllowedTools: []string{""}}},
		{`blocked_tools has "a"`,
			mcptoolset.Config{Server: server, AllowedTools: []string{"a"}, BlockedTools: []string{"a"}}},
		{"tool_prefix", mcptoolset.Config{Server: server, ToolPrefix: "a.b"}},
		{"tool_prefix", mcptoolset.Config{Server: server, ToolPrefix: strings.Repeat("a", 33)}},
		{"mark the server as trusted", mcptoolset.Config{Server: server, RequireApproval: readOnly}},
		{"there twice", mcptoolset.Config{Server: server, RequireApproval: parsed("never"),
			NeedsApproval: func(context.Context, *agent.ToolCall, mcptoolset.ServerTool) (bool, error) {
				return true, nil
			}}},
	} {
		_, err := mcptoolset.New(tt.cfg)
		if err == nil || !errors.Is(err, agent.ErrConfig) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("want %q, got %v", tt.want, err)
		}
	}
	trusted := self(t, "server")
	trusted.Trusted = true
	_, err := mcptoolset.New(mcptoolset.Config{Server: newServer(t, trusted), RequireApproval: readOnly})
	if err != nil {
		t.Errorf("control: read_only of a trusted server: %v", err)
	}
}
