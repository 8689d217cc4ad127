package demo

import (
	"slices"
	"strings"
	"testing"

	"countersign/internal/openaidev"
	"countersign/internal/slackdev"
)

// TestEnvironmentOfTheDemo: the bot of the demo goes by nothing that a real one would find in the environment, and
// sends nothing to a collector of traces.
func TestEnvironmentOfTheDemo(t *testing.T) {
	t.Parallel()
	given := []string{
		"SLACK_BOT_TOKEN=xoxb-real", "COUNTERSIGN_STORE=bolt:/real.db", "COUNTERSIGN_SLACK_MODE=http",
		"OPENAI_API_KEY=sk-real", "OTEL_TRACES_EXPORTER=otlp", "OTEL_EXPORTER_OTLP_ENDPOINT=http://collector:4318",
		"HOME=/home/ann",
	}
	s := &Stage{cfg: Config{Environ: given, Scripted: true}, example: new(example)}
	var err error
	if s.payments, err = StartPayments(); err != nil {
		t.Fatal(err)
	}
	defer s.payments.Close()
	if s.workspace, err = slackdev.Start(slackdev.Config{}); err != nil {
		t.Fatal(err)
	}
	defer s.workspace.Close()
	if s.model, err = openaidev.Start(openaidev.Config{}); err != nil {
		t.Fatal(err)
	}
	defer s.model.Close()
	env := s.environ()
	for _, e := range given {
		if left := strings.HasPrefix(e, "HOME="); slices.Contains(env, e) != left {
			t.Errorf("%s is passed on: %t", e, !left)
		}
	}
}
