package app_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"strings"
	"testing"
	"time"

	"countersign/internal/slackdev"
)

const canaryClient = "canary-client-secret-3d9" // SLACK_CLIENT_SECRET

// newTown is a world whose Slack has two workspaces with the same people and channels. w.slack is the first.
func newTown(t *testing.T) (w *world, cloud *slackdev.Cloud) {
	t.Helper()
	w = newWorld(t, settings{})
	w.listen = freeAddress(t)
	base := "http://" + w.listen
	var all []slackdev.Config
	for _, id := range []string{"T0ONE", "T0TWO"} {
		all = append(all, slackdev.Config{
			Team: slackdev.Team{ID: id, Name: "The " + id + " company"}, Mode: slackdev.ModeHTTP,
			SigningSecret: canarySigned, RetryAfter: []time.Duration{0, 300 * time.Millisecond, time.Second},
			RequestURL: slackdev.RequestURLs{Events: base + "/slack/events", Interactions: base + "/slack/interactions",
				Commands: base + "/slack/commands"},
		})
	}
	cloud, err := slackdev.StartCloud(slackdev.CloudConfig{
		ClientID: "111.222", ClientSecret: canaryClient, RedirectURLs: []string{base + "/slack/oauth"}, Workspaces: all,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cloud.Close() })
	w.slack = cloud.Workspace("T0ONE")
	w.extra = append(w.extra, "SLACK_BOT_TOKEN=", "SLACK_APP_TOKEN=", "SLACK_API_URL="+cloud.APIURL(),
		"SLACK_CLIENT_ID=111.222", "SLACK_CLIENT_SECRET="+canaryClient, "COUNTERSIGN_PUBLIC_URL="+base,
		"COUNTERSIGN_SLACK_MODE=http", keysVariable("a:"+keyA))
	return w, cloud
}

// install has Ann install the app in her workspace, in her browser.
func (w *world) install(cloud *slackdev.Cloud, team string) {
	w.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		w.t.Fatal(err)
	}
	browser := &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
	get := func(address string) (page, location string) {
		w.t.Helper()
		req, err := http.NewRequestWithContext(w.ctx, http.MethodGet, address, nil)
		if err != nil {
			w.t.Fatal(err)
		}
		resp, err := browser.Do(req)
		if err != nil {
			w.t.Fatal(err)
		}
		defer resp.Body.Close()
		raw, err := io.ReadAll(resp.Body)
		if err != nil {
			w.t.Fatal(err)
		}
		return string(raw), resp.Header.Get("Location")
	}
	_, page := get("http://" + w.listen + "/slack/install")
	back, err := cloud.Allow(page, team, ann)
	if err != nil {
		w.t.Fatalf("%s: %v", page, err)
	}
	if said, _ := get(back); !strings.Contains(said, "The app is installed in The "+team+" company") {
		w.t.Fatal(said)
	}
}

// readyz is what the readiness page says.
func (w *world) readyz() string {
	w.t.Helper()
	resp, err := http.Get("http://" + w.listen + "/readyz")
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		w.t.Fatalf("HTTP %d: %s, %v", resp.StatusCode, raw, err)
	}
	return string(raw)
}

// TestSeveralWorkspaces installs the app in two workspaces, has both ask, kills the program, removes the app from one,
// and installs it again.
func TestSeveralWorkspaces(t *testing.T) {
	t.Parallel()
	w, cloud := newTown(t)
	one, two := cloud.Workspace("T0ONE"), cloud.Workspace("T0TWO")
	c, metrics := newCollector(t), freeAddress(t)
	watched := []string{"OTEL_TRACES_EXPORTER=otlp", "OTEL_EXPORTER_OTLP_ENDPOINT=" + c.URL,
		"COUNTERSIGN_METRICS_LISTEN=" + metrics}
	bot := w.start(watched...)
	w.install(cloud, "T0ONE")
	w.install(cloud, "T0TWO")
	first := w.mention("pay 250 reasonably")
	card := w.card(first, 1)
	w.slack = two
	second := w.mention("pay 250 reasonably")
	other := w.card(second, 1)
	before := bot
	bot.kill()
	bot = w.start(watched...)

	w.mustClick(ben, other, "approve")
	w.answer(second, "R-1")
	w.slack = one
	if m, _ := one.Message(general, card.TS); !decidable(m) || len(w.effects.all()) != 1 {
		t.Errorf("a click in one workspace did something in the other; %d effects", len(w.effects.all()))
	}
	if said := w.readyz(); said != "ready\n" {
		t.Errorf("readiness: %q", said)
	}
	one.Uninstall()
	bot.says("runs were stopped: the app is not installed in their workspace any more")
	if said := w.readyz(); !strings.Contains(said, "not installed in T0ONE since 20") {
		t.Errorf("readiness: %q", said)
	}
	out := w.must("audit", "export")
	if !strings.Contains(out, `"installation.ended"`) || !strings.Contains(out, `"installation.created"`) {
		t.Errorf("the trail:\n%s", out)
	}
	w.slack = two
	w.card(w.mention("pay 7"), 1)
	w.slack = one
	w.install(cloud, "T0ONE")
	w.answer(first, "The run was stopped")
	w.card(w.mention("pay 8"), 1)
	id := fmt.Sprint(other.Metadata.EventPayload["request"])
	places := w.answers(id)
	places["the pages"] = fetched(t, "http://"+metrics+"/metrics") + w.readyz()
	if code := bot.stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	places["the trail"] = w.must("audit", "export", "--json")
	places["the logs"] = before.out.String() + bot.out.String()
	for _, in := range []*slackdev.Workspace{one, two} {
		for i, call := range in.Calls() {
			if call.Method != "oauth.v2.access" { // which proves with the secret who asks, and answers with a token
				places[fmt.Sprintf("call %d, %s", i, call.Method)] = fmt.Sprint(call.Args)
			}
		}
	}
	c.mu.Lock()
	places["the spans"] = c.text
	c.mu.Unlock()
	hides(t, places, one.BotToken(), two.BotToken(), canaryClient, canarySigned, keyA)
	w.verified()
	for _, token := range []string{one.BotToken(), two.BotToken()} {
		if w.store == "" && strings.Contains(w.read("countersign.db"), token) {
			t.Error("the store's file shows a token")
		}
	}
	// Without the bot a command asks the right workspace about the person.
	waiting, _, _ := strings.Cut(w.must("approvals", "list", "--json"), "\n")
	var r struct{ ID, Workspace string }
	if err := json.Unmarshal([]byte(waiting), &r); err != nil {
		t.Fatal(err)
	}
	if _, complaint, code := w.run("approvals", "decide", r.ID, "--reject", "--as", gus); code == 0 ||
		!strings.Contains(complaint, "guest") {
		t.Errorf("%d %s", code, complaint)
	}
	w.must("approvals", "decide", r.ID, "--reject", "--as", ben)
}

func TestCheckOfSeveralWorkspaces(t *testing.T) {
	t.Parallel()
	w, _ := newTown(t)
	out := w.must("check")
	base := "http://" + w.listen
	for _, want := range []string{
		"several workspaces: people install the app at " + base + "/slack/install",
		"redirect URL is " + base + "/slack/oauth",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("want %q in:\n%s", want, out)
		}
	}
	for variable, want := range map[string]string{
		"SLACK_CLIENT_SECRET=guess":     "SLACK_CLIENT_SECRET: Slack refuses",
		"SLACK_CLIENT_ID=9.9":           "SLACK_CLIENT_ID: Slack refuses",
		"COUNTERSIGN_ENCRYPTION_KEYS=":  "COUNTERSIGN_ENCRYPTION_KEYS is not set",
		"COUNTERSIGN_PUBLIC_URL=":       "COUNTERSIGN_PUBLIC_URL is not set",
		"COUNTERSIGN_SLACK_MODE=socket": "COUNTERSIGN_SLACK_MODE=http",
		"SLACK_BOT_TOKEN=xoxb-1":        "unset SLACK_BOT_TOKEN",
	} {
		for _, command := range []string{"check", "run"} {
			if _, complaint, code := w.with(variable, command); code != 2 || !strings.Contains(complaint, want) {
				t.Errorf("%s with %s: %d %s", command, variable, code, complaint)
			}
		}
	}
}
