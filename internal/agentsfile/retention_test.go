package agentsfile

import (
	"strings"
	"testing"
	"time"
)

// TestRetention reads for how long records are kept, and says it in one line.
func TestRetention(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for _, tt := range []struct {
		text  string
		want  Retention
		words string
	}{
		{"", Retention{}, "everything, for ever"},
		{"retention: {}\n", Retention{}, "everything, for ever"},
		{"retention: { runs: 90d, requests: 400d, sessions: 1d12h, events: 90m }\n",
			Retention{Runs: 90 * day, Requests: 400 * day, Sessions: 36 * time.Hour, Events: 90 * time.Minute},
			"runs 90d, requests 400d, sessions 1d12h, events 1h30m; the audit trail and grants for ever"},
		{"retention: { requests: 30s }\n", Retention{Requests: 30 * time.Second},
			"requests 30s; runs, sessions, events, the audit trail and grants for ever"},
	} {
		f, err := Parse("agents.yaml", []byte(agentWith(tt.text)), nil)
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		if f.Retention != tt.want || f.Retention.String() != tt.words {
			t.Errorf("%s: %+v, %q", tt.text, f.Retention, f.Retention)
		}
	}
	for text, want := range map[string]string{
		"retention: { runs: 90 }\n":      "runs is a duration with its unit",
		"retention: { runs: 0s }\n":      "is not between 0 and 10 years",
		"retention: { audit: 90d }\n":    `unknown key "audit" in retention`,
		"retention: { run: 90d }\n":      `did you mean "runs"?`,
		"retention: 90d\n":               "retention is a mapping, not text",
		"retention: { events: 59m }\n":   "events is at least 1h: Slack delivers an event again within that time",
		"retention: { sessions: -1d }\n": "is no duration",
	} {
		_, err := Parse("agents.yaml", []byte(agentWith(text)), nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
