package app

import (
	"log/slog"
	"testing"

	"github.com/google/go-cmp/cmp"

	"countersign/bot"
	"countersign/internal/agentsfile"
	"countersign/internal/catalog"
)

// TestPromptsAfterAReload: what a new chat proposes is of the default agent in force, whatever the one of the start is
// called and whether it is still there.
func TestPromptsAfterAReload(t *testing.T) {
	t.Parallel()
	s := &server{live: new(live)}
	agent := func(name string) string {
		return "  " + name + ": { instructions: A., model: m, suggested_prompts: [{ title: " +
			name + ", message: m }] }\n"
	}
	for _, file := range []string{
		"version: 1\nagents:\n" + agent("one"),
		"version: 1\nagents:\n" + agent("two"),
		"version: 1\ndefault_agent: three\nagents:\n" + agent("one") + agent("three"),
	} {
		f, err := agentsfile.Parse("countersign.yaml", []byte(file), func(string) (string, bool) { return "", false })
		if err != nil {
			t.Fatal(err)
		}
		servers := catalog.NewServers("test", slog.New(slog.DiscardHandler))
		made, err := catalog.Build(f, catalog.Config{Model: catalog.NoModel, Servers: servers})
		if err != nil {
			t.Fatal(err)
		}
		s.live.current.Store(&inForce{Catalog: made})
		p := f.Agent(f.DefaultAgent).Prompts[0]
		want := []bot.Prompt{{Title: p.Title, Message: p.Message}}
		if diff := cmp.Diff(want, s.prompts("one")); diff != "" {
			t.Errorf("with default agent %s (-want +have):\n%s", f.DefaultAgent, diff)
		}
	}
}
