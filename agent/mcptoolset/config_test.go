package mcptoolset_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"countersign/agent"
	"countersign/agent/mcptoolset"
)

func TestNewServerRefuses(t *testing.T) {
	t.Parallel()
	const secret = "hunter2hunter2"
	command := []string{"server"}
	for _, tt := range []struct {
		want string
		cfg  mcptoolset.ServerConfig
	}{
		{"name must be", mcptoolset.ServerConfig{Name: "a b", Command: command}},
		{"command or url or sse is needed", mcptoolset.ServerConfig{}},
		{"only one of them", mcptoolset.ServerConfig{Command: command, URL: "http://h"}},
		{"only one of them", mcptoolset.ServerConfig{URL: "http://h", SSE: "http://h"}},
		{"command begins with an empty", mcptoolset.ServerConfig{Command: []string{""}}},
		{"command has a zero byte", mcptoolset.ServerConfig{Command: []string{"x", secret + "\x00"}}},
		{"another number of arguments", mcptoolset.ServerConfig{Command: command, WrittenCommand: []string{"a", "b"}}},
		{`env "A=B"`, mcptoolset.ServerConfig{Command: command, Env: map[string]string{"A=B": secret}}},
		{`env "A"`, mcptoolset.ServerConfig{Command: command, Env: map[string]string{"A": secret + "\x00"}}},
		{"dir", mcptoolset.ServerConfig{Command: command, Dir: "/no/such/place"}},
		{`dir "${DIR}" is not a directory`,
			mcptoolset.ServerConfig{Command: command, Dir: "/no/" + secret, WrittenDir: "${DIR}"}},
		{"headers belong to url", mcptoolset.ServerConfig{Command: command, Headers: map[string]string{"A": secret}}},
		{"url is not used", mcptoolset.ServerConfig{Command: command, WrittenURL: "http://h"}},
		{"env belongs to command", mcptoolset.ServerConfig{URL: "http://h", Env: map[string]string{"A": secret}}},
		{"dir belongs to command", mcptoolset.ServerConfig{URL: "http://h", Dir: "/"}},
		{"command is not used", mcptoolset.ServerConfig{URL: "http://h", WrittenCommand: command}},
		{"url is not a URL", mcptoolset.ServerConfig{URL: "http://h/%zz?" + secret}},
		{"url must begin", mcptoolset.ServerConfig{URL: "h/" + secret}},
		{"sse must begin", mcptoolset.ServerConfig{SSE: "file:///etc/passwd"}},
		{"url has no host", mcptoolset.ServerConfig{URL: "http:///x"}},
		{"url has a user", mcptoolset.ServerConfig{URL: "http://u:" + secret + "@h"}},
		{"url has a fragment", mcptoolset.ServerConfig{URL: "http://h/#" + secret}},
		{"name that is not allowed",
			mcptoolset.ServerConfig{URL: "http://h", Headers: map[string]string{"A B": secret}}},
		{"header A has a line end",
			mcptoolset.ServerConfig{URL: "http://h", Headers: map[string]string{"A": secret + "\r\nB: c"}}},
		{"header A is there twice",
			mcptoolset.ServerConfig{URL: "http://h", Headers: map[string]string{"A": secret, "a": secret}}},
		{"set by the protocol",
			mcptoolset.ServerConfig{URL: "http://h", Headers: map[string]string{"mcp-session-id": secret}}},
		{"timeout must not be negative", mcptoolset.ServerConfig{URL: "http://h", CallTimeout: -1}},
	} {
		if tt.cfg.Name == "" {
			tt.cfg.Name = "probe"
		}
		_, err := mcptoolset.NewServer(tt.cfg)
		if err == nil || !errors.Is(err, agent.ErrConfig) || !strings.Contains(err.Error(), tt.want) ||
			!strings.Contains(err.Error(), tt.cfg.Name) || strings.Contains(err.Error(), secret) {
			t.Errorf("want %q, got %v", tt.want, err)
		}
	}
}

// Attempts to reach a server that cannot be reached become rarer, and never stop.
func TestBackOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log journal
		server, err := mcptoolset.NewServer(mcptoolset.ServerConfig{
			Name: "gone", Command: []string{"/no/such/program"}, Logger: log.logger(),
		})
		if err != nil {
			t.Fatal(err)
		}
		ts := newToolset(t, mcptoolset.Config{Server: server})
		attempts := func() int { return strings.Count(log.String(), "cannot be used") }
		for i, pause := range []time.Duration{1, 2, 4, 8, 16, 30, 30} {
			for range 3 {
				if _, err := ts.Tools(t.Context()); err == nil {
					t.Fatal("no error")
				}
			}
			if attempts() != i+1 {
				t.Errorf("%d attempts, want %d", attempts(), i+1)
			}
			time.Sleep(pause*time.Second - time.Millisecond)
			_, err := ts.Tools(t.Context())
			if attempts() != i+1 || err == nil || !strings.Contains(err.Error(), "next attempt") {
				t.Errorf("attempt %d came too early: %v", attempts(), err)
			}
			time.Sleep(time.Millisecond)
		}
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
}
