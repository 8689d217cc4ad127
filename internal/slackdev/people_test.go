package slackdev_test

import (
	"errors"
	"strings"
	"testing"

	"countersign/internal/slackdev"
)

// TestEventsRaised says which events what people do raises.
func TestEventsRaised(t *testing.T) {
	t.Parallel()
	w := start(t, slackdev.Config{Channels: []slackdev.Channel{
		{ID: "C0IN", BotMember: true, Members: []string{"U0ANN"}},
		{ID: "C0OUT", Members: []string{"U0ANN"}},
		{ID: "C0PRIV", Private: true, BotMember: true, ExtShared: true, Members: []string{"U0ANN"}},
	}})
	bot := "<@" + w.Config().App.BotUserID + ">"
	ctx := t.Context()
	post := func(channel, text string) string {
		ts, err := w.Post(ctx, "U0ANN", channel, text, "")
		if err != nil {
			t.Fatal(err)
		}
		return ts
	}
	types := func() string {
		var out []string
		seen := map[string]bool{}
		for _, d := range w.Deliveries() {
			if !seen[d.EventID] {
				out = append(out, d.Type)
			}
			seen[d.EventID] = true
		}
		return strings.Join(out, " ")
	}
	had := ""
	raised := func(why, want string) {
		t.Helper()
		now := types()
		if got := strings.TrimSpace(strings.TrimPrefix(now, had)); got != want {
			t.Errorf("%s raised %q, want %q", why, got, want)
		}
		had = now
	}
	ts := post("C0IN", "hello")
	raised("a message", "message.channels")
	if err := w.Edit(ctx, "U0ANN", "C0IN", ts, bot+" hello"); err != nil {
		t.Fatal(err)
	}
	raised("an edit that mentions the bot", "message.channels app_mention")
	post("C0IN", bot)
	raised("a mention", "message.channels app_mention")
	post("C0OUT", bot)
	raised("a mention where the bot is not", "")
	post("C0PRIV", bot)
	raised("a mention in a private channel", "message.groups app_mention")
	post(w.DM("U0ANN"), bot+" hi")
	raised("a mention in a direct message", "message.im")
	if err := w.OpenHome(ctx, "U0ANN"); err != nil {
		t.Fatal(err)
	}
	raised("the Home tab", "app_home_opened")
	call(t, w, "chat.postMessage", object{"channel": w.DM("U0ANN"), "text": bot})
	raised("the app's own message", "message.im")
	for _, d := range w.Deliveries() {
		payload := decode(t, d.Payload)
		inner := payload["event"].(map[string]any)
		if shared := inner["channel"] == "C0PRIV"; payload["is_ext_shared_channel"] != shared {
			t.Errorf("is_ext_shared_channel is %v in %v", payload["is_ext_shared_channel"], inner["channel"])
		}
	}
}

func TestPeopleErrors(t *testing.T) {
	t.Parallel()
	w := start(t, slackdev.Config{Channels: []slackdev.Channel{
		{ID: "C0A", Members: []string{"U0ANN"}}, {ID: "C0OLD", Archived: true, Members: []string{"U0ANN"}},
	}})
	for _, tc := range []struct {
		user, channel, thread string
		want                  error
	}{
		{"U0ANN", "C0A", "", nil},
		{"U0BEN", "C0A", "", slackdev.ErrNotMember},
		{"U0X", "C0A", "", slackdev.ErrUnknown},
		{"U0ANN", "C0X", "", slackdev.ErrUnknown},
		{"U0ANN", "C0OLD", "", slackdev.ErrArchived},
		{"U0ANN", "C0A", "1.0", slackdev.ErrNoMessage},
		{"U0ANN", w.DM("U0BEN"), "", slackdev.ErrNotMember},
	} {
		if _, err := w.Post(t.Context(), tc.user, tc.channel, "x", tc.thread); !errors.Is(err, tc.want) {
			t.Errorf("%s in %s %s: %v, want %v", tc.user, tc.channel, tc.thread, err, tc.want)
		}
	}
}

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	for why, cfg := range map[string]slackdev.Config{
		"mode": {Mode: "pigeon"}, "bot token": {BotToken: "xoxp-1"}, "app token": {AppToken: "xoxb-1"},
		"user id": {Users: []slackdev.User{{ID: "ann"}}}, "channel id": {Channels: []slackdev.Channel{{ID: "general"}}},
		"member": {Channels: []slackdev.Channel{{ID: "C0A", Members: []string{"U0X"}}}},
		"twice":  {Users: []slackdev.User{{ID: "U0A"}, {ID: "U0A"}}},
	} {
		if w, err := slackdev.Start(cfg); err == nil {
			w.Close()
			t.Errorf("%s: a wrong configuration starts", why)
		}
	}
}
