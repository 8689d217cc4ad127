package bot

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
)

// FuzzTake feeds payloads of every kind to a bot that does not run: decoding must not panic, whatever arrives, and
// every delivery must be answered exactly once.
func FuzzTake(f *testing.F) {
	for _, seed := range []string{
		`{"type":"event_callback","event":{"type":"app_mention","user":"U0ANN","text":"<@U0BOT> x",` +
			`"ts":"1.1","channel":"C0GENERAL"}}`,
		`{"type":"block_actions","user":{"id":"U0ANN"},"team":null,` +
			`"actions":[{"action_id":"approve","value":"req_01arz3ndektsv4rrffq69g5fav"}]}`,
		`{"type":"view_submission","user":{"id":"U0ANN"},"view":{"callback_id":"give_up",` +
			`"private_metadata":"{\"request\":\"req_01arz3ndektsv4rrffq69g5fav\"}"}}`,
		`{"type":"shortcut","user":{"id":"U0ANN"},"callback_id":"approvals_list"}`,
		`{"command":"/approvals","text":"all","user_id":"U0ANN"}`,
		`{"type":"app_rate_limited"}`, `[]`, `null`, `"x"`, `{"actions":[null]}`,
	} {
		f.Add(seed)
	}
	client, err := NewClient(ClientConfig{Token: "xoxb-test", APIURL: "http://127.0.0.1:1/api/"})
	if err != nil {
		f.Fatal(err)
	}
	b, err := New(Config{Client: client, Service: newFakeService(), AppToken: "xapp-test", DefaultAgent: "ops"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, payload string) {
		for _, kind := range []string{kindEvent, kindInteractive, kindCommand, "else"} {
			answers := 0
			b.take(kind, json.RawMessage(payload), receipts{
				ack: func(any) error { answers++; return nil }, refuse: func(error) { answers++ },
			})
			if answers != 1 {
				t.Fatalf("%s: %d answers", kind, answers)
			}
		}
	})
}

// TestWhatIsLeftUnsaidIsOurs: servers that speak Slack's protocols may leave out the app, the home of a person or the
// type of a conversation. What they do say is held against them, and a click always names a workspace.
func TestWhatIsLeftUnsaidIsOurs(t *testing.T) {
	t.Parallel()
	id := identity{team: "T1", appID: "A1"}
	for payload, ours := range map[string]bool{
		`{"api_app_id":"A1","team":{"id":"T1"}}`:                                     true,
		`{"team":{"id":"T1"}}`:                                                       true,
		`{"api_app_id":"A1","user":{"id":"U1"}}`:                                     false,
		`{"team":{"id":"T2"}}`:                                                       false,
		`{"api_app_id":"A2","team":{"id":"T1"}}`:                                     false,
		`{"team":{"id":"T2"},"user":{"id":"U1","team_id":"T1"}}`:                     false,
		`{"team":null,"enterprise":{"id":"E1"},"user":{"id":"U1"}}`:                  false,
		`{"team":{"id":"T2","enterprise_id":"E1"},"user":{"id":"U","team_id":"T1"}}`: false,
	} {
		var i interaction
		if err := decode(json.RawMessage(payload), &i); err != nil {
			t.Fatal(err)
		}
		if err := id.admit(i.origin()); (err == nil) != ours {
			t.Errorf("%s: %v, want ours: %v", payload, err, ours)
		}
	}
	for user, regular := range map[string]bool{
		`{"id":"U1"}`:                            true,
		`{"id":"U1","team_id":"T1"}`:             true,
		`{"id":"U1","team_id":"T2"}`:             false,
		`{"id":"U1","profile":{"team":"T2"}}`:    false,
		`{"id":"U1","deleted":true}`:             false,
		`{"id":"U1","is_bot":true}`:              false,
		`{"id":"U1","is_restricted":true}`:       false,
		`{"id":"U1","is_ultra_restricted":true}`: false,
		`{"id":"U1","is_stranger":true}`:         false,
		`{"id":"U1","is_connector_bot":true}`:    false,
		`{"id":"U1","is_workflow_bot":true}`:     false,
		`{"id":"U1","is_invited_user":true}`:     false,
		`{"id":"U1","team_id":"T2","enterprise_user":{"enterprise_id":"","teams":["T1"]}}`: true,
	} {
		var u userObject
		if err := json.Unmarshal([]byte(user), &u); err != nil {
			t.Fatal(err)
		}
		if why := irregular(&u, id); (why == "") != regular {
			t.Errorf("%s: %q", user, why)
		}
	}
	for _, c := range []struct {
		channel, kind string
		heard         bool
	}{{"D1", "im", true}, {"D1", "", true}, {"D1", "mpim", false}, {"C1", "", false}} {
		e := event{Type: "message", User: "U1", Channel: c.channel, ChannelType: c.kind}
		if spoken(e, id) != c.heard {
			t.Errorf("a message in %s %q: heard is not %v", c.channel, c.kind, c.heard)
		}
	}
}

func TestSecretAddressesHideThemselves(t *testing.T) {
	t.Parallel()
	var c command
	body := json.RawMessage(`{"response_url":"https://hooks.slack.com/commands/T1/2/secret"}`)
	if err := decode(body, &c); err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(string(c.ResponseURL), "/secret") {
		t.Fatal("the address was not read")
	}
	var out strings.Builder
	slog.New(slog.NewJSONHandler(&out, nil)).Info("x", "url", c.ResponseURL, "command", c)
	slog.New(slog.NewTextHandler(&out, nil)).Info("x", "url", c.ResponseURL, "command", c)
	if strings.Contains(out.String(), "/secret") {
		t.Errorf("logged: %s", out.String())
	}
}

func TestResponseURLsMustBeSlacks(t *testing.T) {
	t.Parallel()
	b := lonely(t, "https://slack.example")
	for address, trusted := range map[string]bool{
		"https://hooks.slack.com/actions/T1/2/3": true, "https://slack.example/response": true,
		"http://hooks.slack.com/x": false, "https://hooks.slack.com:8443/x": false,
		"https://hooks.slack.com.evil.example/x": false, "https://evil.example/x": false,
		"http://169.254.169.254/": false, "": false, "://": false,
	} {
		err := b.hooks.send(expired(t), secretURL(address), hookMessage{Text: "x"})
		if got := err != errUntrustedHook; got != trusted {
			t.Errorf("%q: trusted is %v (%v)", address, got, err)
		}
		if err != nil && len(address) > 20 && strings.Contains(err.Error(), address[8:]) {
			t.Errorf("the error holds the address: %v", err)
		}
	}
}

func TestNewNamesWhatIsMissing(t *testing.T) {
	t.Parallel()
	client, err := NewClient(ClientConfig{Token: "xoxb-test"})
	if err != nil {
		t.Fatal(err)
	}
	full := Config{
		Client: client, Service: newFakeService(), AppToken: "xapp-1", SigningSecret: "s", DefaultAgent: "ops",
	}
	if _, err := New(full); err != nil {
		t.Fatalf("the control: %v", err)
	}
	for want, spoil := range map[string]func(*Config){
		"Client": func(c *Config) { c.Client = nil }, "Service": func(c *Config) { c.Service = nil },
		"DefaultAgent": func(c *Config) { c.DefaultAgent = "" }, "SLACK_APP_TOKEN": func(c *Config) { c.AppToken = "" },
		"xapp-":                func(c *Config) { c.AppToken = "xoxb-1" },
		"SLACK_SIGNING_SECRET": func(c *Config) { c.Mode, c.SigningSecret = ModeHTTP, "" },
		"mode":                 func(c *Config) { c.Mode = "carrier pigeon" },
	} {
		bad := full
		spoil(&bad)
		if _, err := New(bad); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	for want, bad := range map[string]ClientConfig{
		"SLACK_BOT_TOKEN": {}, "SLACK_API_URL": {Token: "xoxb-1", APIURL: "http://x/api"}, "xoxb-": {Token: "xapp-1"},
	} {
		if _, err := NewClient(bad); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// expired is a context that has ended, so that nothing is really sent.
func expired(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}
