package mcptoolset

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// What stands for a variable inside an argument or an address is a secret by itself: a program repeats it without the
// rest.
func TestSecretInsideAText(t *testing.T) {
	t.Parallel()
	for _, cfg := range []ServerConfig{
		{Command: []string{"srv", "--token=hunter2hunter2"}, WrittenCommand: []string{"srv", "--token=${TOKEN}"}},
		{Command: []string{"srv", "postgres://app:hunter2hunter2@db/x"},
			WrittenCommand: []string{"srv", "postgres://app:${TOKEN}@db/x"}},
		{URL: "https://mcp.example/hunter2hunter2/mcp", WrittenURL: "https://mcp.example/${TOKEN}/mcp"},
		{SSE: "https://mcp.example/hunter2hunter2/sse", WrittenURL: "https://mcp.example/${TOKEN}/sse"},
		{URL: "https://mcp.example/a/hunter2hunter2/b/other7other7",
			WrittenURL: "https://mcp.example/${A}/${TOKEN}/b/${B}"},
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

// What the library or the network cancelled is not the caller's context: nobody must take it for that, and it is
// cleaned.
func TestErrorsOfTheLibrary(t *testing.T) {
	t.Parallel()
	s, err := NewServer(ServerConfig{
		Name: "test", URL: "https://mcp.example/?key=hunter2hunter2", WrittenURL: "https://mcp.example/?key=${KEY}",
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	for _, inner := range []error{context.Canceled, context.DeadlineExceeded} {
		said := fmt.Errorf(`Post "https://mcp.example/?key=hunter2hunter2": %w`, inner)
		for _, err := range []error{s.wrong(ctx, "connect", said), s.failed("connect", said), s.connect(ctx)} {
			if errors.Is(err, inner) || strings.Contains(err.Error(), "hunter2") ||
				!strings.Contains(err.Error(), inner.Error()) {
				t.Errorf("got %v", err)
			}
		}
	}
	why := errors.New("lease lost")
	cancel(why)
	if err := s.wrong(ctx, "connect", context.Canceled); !errors.Is(err, why) {
		t.Errorf("control: when the caller's context has ended: %v", err)
	}
}
