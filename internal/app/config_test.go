package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
)

const canary = "canary-4c1d"

// environment replaces the program's variables for a test.
func environment(t *testing.T, vars map[string]string) {
	t.Helper()
	for _, e := range os.Environ() {
		name, _, _ := strings.Cut(e, "=")
		for _, prefix := range []string{"SLACK_", "OPENAI_", "COUNTERSIGN_"} {
			if strings.HasPrefix(name, prefix) {
				t.Setenv(name, "") // remembers the old value
				os.Unsetenv(name)
			}
		}
	}
	for name, value := range vars {
		t.Setenv(name, value)
	}
}

func good() map[string]string {
	return map[string]string{
		"SLACK_BOT_TOKEN": "xoxb-" + canary, "SLACK_APP_TOKEN": "xapp-" + canary, "OPENAI_API_KEY": "sk-" + canary,
	}
}

// TestConfigDefaults are what docs/configuration.md promises.
func TestConfigDefaults(t *testing.T) {
	environment(t, good())
	c, err := ReadConfig()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.CheckRun(); err != nil {
		t.Fatal(err)
	}
	if c.Agents != "countersign.yaml" || c.StorePath() != "countersign.db" || c.SlackMode != "socket" ||
		c.Listen != "127.0.0.1:8080" ||
		c.LogLevel != "info" || c.LogFormat != "text" {
		t.Errorf("%+v", c)
	}
}

// TestConfigProblems names the variable and never the value.
func TestConfigProblems(t *testing.T) {
	for _, c := range []struct{ name, variable, value, want string }{
		{"no bot token", "SLACK_BOT_TOKEN", "", "SLACK_BOT_TOKEN is not set"},
		{"app token for bot token", "SLACK_BOT_TOKEN", "xapp-" + canary,
			"SLACK_BOT_TOKEN holds something else: it is a bot token and starts with xoxb-"},
		{"a line break behind a token", "SLACK_BOT_TOKEN", "xoxb-" + canary + "\n",
			"SLACK_BOT_TOKEN has a space, a line break, a quote or another character that no value of Slack's has"},
		{"a token in quotes", "SLACK_APP_TOKEN", `"xapp-` + canary + `"`, "SLACK_APP_TOKEN has a space, a line break"},
		{"a line break behind the model's key", "OPENAI_API_KEY", "sk-" + canary + "\n",
			"OPENAI_API_KEY is in quotes, or has a space, a line break or another character that no key has"},
		{"the model's key in quotes", "OPENAI_API_KEY", `"sk-` + canary + `"`, "OPENAI_API_KEY is in quotes"},
		{"api url with a query", "SLACK_API_URL", "https://slack.test/api/?t=" + canary,
			"SLACK_API_URL holds a query or a fragment"},
		{"no app token", "SLACK_APP_TOKEN", "", "SLACK_APP_TOKEN is not set"},
		{"rotating bot token", "SLACK_BOT_TOKEN", "xoxe.xoxb-" + canary,
			"SLACK_BOT_TOKEN is of an app with token rotation"},
		{"bot token for app token", "SLACK_APP_TOKEN", "xoxb-" + canary, "SLACK_APP_TOKEN holds something else"},
		{"no key", "OPENAI_API_KEY", "", "OPENAI_API_KEY is not set"},
		{"mode", "COUNTERSIGN_SLACK_MODE", "websocket",
			`COUNTERSIGN_SLACK_MODE: "websocket" is neither socket nor http`},
		{"http without secret", "COUNTERSIGN_SLACK_MODE", "http", "SLACK_SIGNING_SECRET is not set"},
		{"api url", "SLACK_API_URL", "https://slack.test/api", "SLACK_API_URL does not end in /"},
		{"a home that nothing expands", "COUNTERSIGN_STORE", "bolt:~/x.db", "COUNTERSIGN_STORE: unusable store URL: " +
			"nothing stands for ~ here"},
		{"api url with password", "SLACK_API_URL", "https://u:" + canary + "@slack.test/api/",
			"SLACK_API_URL holds a user"},
		{"no url", "OPENAI_BASE_URL", canary, "OPENAI_BASE_URL is no http or https URL"},
		{"listen", "COUNTERSIGN_LISTEN", "8080", `COUNTERSIGN_LISTEN: "8080" is no address with a port`},
		{"metrics", "COUNTERSIGN_METRICS_LISTEN", "9090",
			`COUNTERSIGN_METRICS_LISTEN: "9090" is no address with a port`},
		{"metrics beside", "COUNTERSIGN_METRICS_LISTEN", "127.0.0.1:8080",
			"COUNTERSIGN_METRICS_LISTEN is COUNTERSIGN_LISTEN; give the metrics an address of their own"},
		{"misspelled metrics", "COUNTERSIGN_METRIC_LISTEN", "127.0.0.1:9090",
			"COUNTERSIGN_METRIC_LISTEN is not known; did you mean COUNTERSIGN_METRICS_LISTEN?"},
		{"postgres", "COUNTERSIGN_STORE", "postgres://u:" + canary + "@db/x?schema=public",
			"COUNTERSIGN_STORE: unusable store URL"},
		{"no scheme", "COUNTERSIGN_STORE", canary, "COUNTERSIGN_STORE: unusable store URL: it has no scheme"},
		{"no path", "COUNTERSIGN_STORE", "bolt:", "COUNTERSIGN_STORE: unusable store URL: no path"},
		{"level", "COUNTERSIGN_LOG_LEVEL", "loud", `COUNTERSIGN_LOG_LEVEL: "loud" is none of`},
		{"format", "COUNTERSIGN_LOG_FORMAT", "xml", `COUNTERSIGN_LOG_FORMAT: "xml" is neither`},
		{"oauth id", "SLACK_CLIENT_ID", "1.2", "several workspaces, which need COUNTERSIGN_SLACK_MODE=http"},
		{"oauth beside a token", "SLACK_CLIENT_SECRET", canary, "SLACK_BOT_TOKEN is set, and SLACK_CLIENT_ID or"},
		{"callbacks in the open", "COUNTERSIGN_PUBLIC_URL", "http://x.test", "use https://, or a loopback address"},
		{"callbacks to nowhere", "COUNTERSIGN_PUBLIC_URL", "x.test", "COUNTERSIGN_PUBLIC_URL is no http or https URL"},
		{"callbacks with a query", "COUNTERSIGN_PUBLIC_URL", "https://x.test/?a=b",
			"leave user, query and fragment out"},
		{"encryption", "COUNTERSIGN_ENCRYPTION_KEYS", "a:" + canary,
			"COUNTERSIGN_ENCRYPTION_KEYS: unusable keys: entry 1 (a): its key is not standard base64"},
		{"a key without an id", "COUNTERSIGN_ENCRYPTION_KEYS", canary,
			"COUNTERSIGN_ENCRYPTION_KEYS: unusable keys: entry 1: it has no id"},
		{"misspelled", "COUNTERSIGN_STROE", "bolt:x",
			"COUNTERSIGN_STROE is not known; did you mean COUNTERSIGN_STORE?"},
	} {
		t.Run(c.name, func(t *testing.T) {
			vars := good()
			vars[c.variable] = c.value
			environment(t, vars)
			cfg, err := ReadConfig()
			if err != nil {
				t.Fatal(err)
			}
			err = cfg.CheckRun()
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("want %q, have %v", c.want, err)
			}
			if !errors.Is(err, ErrConfig) {
				t.Errorf("not a configuration error: %v", err)
			}
			if strings.Contains(fmt.Sprint(err), canary) {
				t.Errorf("shows a secret: %v", err)
			}
		})
	}
}

// TestConfigSigningSecret refuses a secret under which no request would be known as Slack's. In Socket Mode it counts
// for nothing.
func TestConfigSigningSecret(t *testing.T) {
	for _, around := range []string{"%s\n", " %s", `"%s"`, "'%s'", "%s\u200b"} {
		odd := fmt.Sprintf(around, canary)
		for mode, refused := range map[string]bool{"http": true, "socket": false} {
			vars := good()
			vars["COUNTERSIGN_SLACK_MODE"], vars["SLACK_SIGNING_SECRET"] = mode, odd
			environment(t, vars)
			cfg, err := ReadConfig()
			if err != nil {
				t.Fatal(err)
			}
			said := fmt.Sprint(cfg.CheckRun())
			if got := strings.Contains(said, "SLACK_SIGNING_SECRET has a space"); got != refused {
				t.Errorf("%s mode, %q: %s", mode, odd, said)
			}
			if strings.Contains(said, canary) {
				t.Errorf("shows a secret: %s", said)
			}
		}
	}
}

// TestConfigUnset tells what is not set from what is wrong, and names it in one order.
func TestConfigUnset(t *testing.T) {
	for _, c := range []struct {
		vars map[string]string
		want string
	}{
		{nil, "SLACK_BOT_TOKEN SLACK_APP_TOKEN OPENAI_API_KEY"},
		{map[string]string{"COUNTERSIGN_SLACK_MODE": "http", "OPENAI_BASE_URL": "http://127.0.0.1:1/v1"},
			"SLACK_BOT_TOKEN SLACK_SIGNING_SECRET"},
		{map[string]string{"OPENAI_BASE_URL": "https://api.openai.com/v1/"},
			"SLACK_BOT_TOKEN SLACK_APP_TOKEN OPENAI_API_KEY"},
		{map[string]string{"OPENAI_BASE_URL": "http://127.0.0.1:1/v1", "OPENAI_API_KEY": "it's"},
			"SLACK_BOT_TOKEN SLACK_APP_TOKEN"},
		{good(), ""},
	} {
		environment(t, c.vars)
		cfg, err := ReadConfig()
		if err != nil {
			t.Fatal(err)
		}
		if err := cfg.CheckSet(); err != nil {
			t.Errorf("%v: %v", c.vars, err)
		}
		var names []string
		for _, n := range cfg.needed() {
			names = append(names, n.name)
		}
		if have := strings.Join(names, " "); have != c.want {
			t.Errorf("%v: needs %q, want %q", c.vars, have, c.want)
		}
	}
}

// TestConfigAllProblems reports everything at once, and leaves other people's variables alone.
func TestConfigAllProblems(t *testing.T) {
	environment(t, map[string]string{
		"COUNTERSIGN_LOG_LEVEL": "loud", "COUNTERSIGN_STORE": "x",
		"COUNTERSIGN_SERVICE_HOST": "10.0.0.1", "COUNTERSIGN_PORT_8080_TCP": "tcp://",
	})
	c, err := ReadConfig()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(fmt.Sprint(c.CheckRun()), "\n")
	if len(lines) != 5 {
		t.Errorf("%d problems, want 5:\n%s", len(lines), strings.Join(lines, "\n"))
	}
}

// TestSecretStaysHidden prints a secret in every way there is.
func TestSecretStaysHidden(t *testing.T) {
	t.Parallel()
	s := NewSecret(canary)
	encoded, err := json.Marshal(map[string]any{"a": s, "b": &s})
	if err != nil {
		t.Fatal(err)
	}
	var logged strings.Builder
	for _, h := range []slog.Handler{slog.NewTextHandler(&logged, nil), slog.NewJSONHandler(&logged, nil)} {
		slog.New(h).Info("x", "s", s, "p", &s, "in", struct{ S Secret }{s})
	}
	for _, text := range []string{
		fmt.Sprint(s), fmt.Sprintf("%v %+v %#v %s %q %x %d", s, s, s, s, s, s, s), fmt.Sprintf("%+v %#v",
			struct{ S Secret }{s}, &struct{ S *Secret }{&s}),
		string(encoded), logged.String(),
	} {
		if strings.Contains(text, canary) || strings.Contains(text, fmt.Sprintf("%x", canary)) {
			t.Errorf("shown in %q", text)
		}
	}
	if s.Reveal() != canary || !s.IsSet() || (Secret{}).IsSet() || (Secret{}).String() != "" {
		t.Error("the value is lost")
	}
}

// TestLoggerFormats writes as the environment says.
func TestLoggerFormats(t *testing.T) {
	t.Parallel()
	var text, asJSON strings.Builder
	(&Config{LogLevel: "warn", LogFormat: "text"}).Logger(&text).Warn("m", "k", "v")
	(&Config{LogLevel: "warn", LogFormat: "json"}).Logger(&asJSON).Warn("m", "k", "v")
	(&Config{LogLevel: "warn", LogFormat: "json"}).Logger(&asJSON).Info("quiet")
	if !strings.Contains(text.String(), "msg=m k=v") || !json.Valid([]byte(asJSON.String())) {
		t.Errorf("%q %q", text.String(), asJSON.String())
	}
}
