package mcptoolset

import (
	"strings"
	"testing"
)

// What stands for a variable inside an argument or an address is a secret by itself: a program repeats it without the rest.
func TestSecretInsideAText(t *testing.T) {
	t.Parallel()
	for _, cfg := range []ServerConfig{
		{Command: []string{"srv", "--token=hunter2hunter2"}, WrittenCommand: []string{"srv", "--token=${TOKEN}"}},
		{Command: []string{"srv", "postgres://app:hunter2hunter2@db/x"}, WrittenCommand: []string{"srv", "postgres://app:${TOKEN}@db/x"}},
		{URL: "https://mcp.example/hunter2hunter2/mcp", WrittenURL: "https://mcp.example/${TOKEN}/mcp"},
		{SSE: "https://mcp.example/hunter2hunter2/sse", WrittenURL: "https://mcp.example/${TOKEN}/sse"},
		{URL: "https://mcp.example/a/hunter2hunter2/b/other7other7", WrittenURL: "https://mcp.example/${A}/${TOKEN}/b/${B}"},
	} {
		cfg.Name = "test"
		s, err := NewServer(cfg)
		if err != nil {
			t.Fatal(err)
		}
		said := s.say("no such path: /a/hunter2hunter2/b/other7other7, nor hunter2hunter2")
		if strings.Contains(said, "hunter2") {
			t.Errorf("%s%s: %s", cfg.WrittenCommand, cfg.WrittenURL, said)
		}
		if plain := s.say("nothing to hide: srv, app, db"); plain != "nothing to hide: srv, app, db" {
			t.Errorf("%s%s hides what is none: %s", cfg.WrittenCommand, cfg.WrittenURL, plain)
		}
	}
}
