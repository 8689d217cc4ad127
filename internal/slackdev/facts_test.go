package slackdev_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"countersign/internal/slackdev"
)

func TestEphemeralsOfThreads(t *testing.T) {
	t.Parallel()
	w := start(t, slackdev.Config{})
	first, err := w.Post(t.Context(), "U0ANN", "C0GENERAL", "hello", "")
	if err != nil {
		t.Fatal(err)
	}
	for i, seen := range []int{0, 1} { // then there is a reply
		got := call(t, w, "chat.postEphemeral", map[string]any{
			"channel": "C0GENERAL", "user": "U0ANN", "text": "psst", "thread_ts": first,
		})
		if !got.OK || len(w.Ephemerals("U0ANN")) != seen {
			t.Errorf("%d replies: %+v, and %d are seen", i, got, len(w.Ephemerals("U0ANN")))
		}
		if _, err := w.Post(t.Context(), "U0BEN", "C0GENERAL", "hi", first); err != nil {
			t.Fatal(err)
		}
	}
}

func TestDeletionByPeople(t *testing.T) {
	t.Parallel()
	w := start(t, slackdev.Config{Users: append(slackdev.DefaultUsers(), slackdev.User{ID: "U0ADMIN", Admin: true})})
	post := func(thread string) string {
		t.Helper()
		ts, err := w.Post(t.Context(), "U0ANN", "C0GENERAL", "hello", thread)
		if err != nil {
			t.Fatal(err)
		}
		return ts
	}
	lonely, first := post(""), post("")
	post(first)
	if w.Delete(t.Context(), "U0BEN", "C0GENERAL", lonely) == nil {
		t.Error("Ben deleted a message of Ann's")
	}
	for _, ts := range []string{lonely, first} {
		if err := w.Delete(t.Context(), "U0ANN", "C0GENERAL", ts); err != nil {
			t.Fatal(err)
		}
	}
	if _, there := w.Message("C0GENERAL", lonely); there {
		t.Error("a deleted message is still there")
	}
	if m, there := w.Message("C0GENERAL", first); !there || !m.Deleted || m.User != "USLACKBOT" {
		t.Errorf("what is left of the first message of a thread: %+v", m)
	}
	for ts, threaded := range map[string]bool{lonely: false, first: true} {
		got := call(t, w, "chat.postMessage", map[string]any{"channel": "C0GENERAL", "text": "x", "thread_ts": ts})
		if m, _ := w.Message("C0GENERAL", got.TS); (m.ThreadTS == ts) != threaded {
			t.Errorf("a reply: %+v", m)
		}
	}
	got := call(t, w, "conversations.replies", map[string]any{"channel": "C0GENERAL", "ts": lonely})
	if got.Error != "thread_not_found" {
		t.Errorf("the replies of nothing: %+v", got)
	}
	card := call(t, w, "chat.postMessage", map[string]any{"channel": "C0GENERAL", "text": "card"}).TS
	if err := w.Delete(t.Context(), "U0ADMIN", "C0GENERAL", card); err != nil {
		t.Errorf("an administrator: %v", err)
	}
	got = call(t, w, "chat.update", map[string]any{"channel": "C0GENERAL", "ts": card, "text": "x"})
	if got.Error != "message_not_found" {
		t.Errorf("an update of what was deleted: %+v", got)
	}
}

func TestGroupMessages(t *testing.T) {
	t.Parallel()
	group := slackdev.Channel{ID: "G0THREE", Group: true, Members: []string{"U0ANN", "U0BEN"}, BotMember: true}
	w := start(t, slackdev.Config{Channels: []slackdev.Channel{group}, Scopes: []string{"groups:read", "chat:write"}})
	info := map[string]any{"channel": "G0THREE"}
	if got := call(t, w, "conversations.info", info); got.Error != "missing_scope" {
		t.Errorf("without mpim:read: %+v", got)
	}
	w = start(t, slackdev.Config{Channels: []slackdev.Channel{group}})
	channel, _ := call(t, w, "conversations.info", info).Channel.(map[string]any)
	if channel["is_mpim"] != true || channel["is_private"] != true {
		t.Errorf("the group: %v", channel)
	}
	if _, err := w.Post(t.Context(), "U0ANN", "G0THREE", "<@U0BOT> hello", ""); err != nil {
		t.Fatal(err)
	}
	if a, b := len(w.EventIDs("message.mpim")), len(w.EventIDs("app_mention")); a != 1 || b != 1 {
		t.Errorf("%d messages, %d mentions", a, b)
	}
}

// TestLimitsHoldForTheWorkspace: a method is counted over all channels; posts in their channel and over all.
func TestLimitsHoldForTheWorkspace(t *testing.T) {
	t.Parallel()
	var channels []slackdev.Channel
	for i := range 80 {
		channels = append(channels, slackdev.Channel{ID: fmt.Sprintf("C0%02d", i), BotMember: true})
	}
	w := start(t, slackdev.Config{Channels: channels, RateLimits: true, RateMinute: time.Hour})
	count := func(method string, each int) (refused int) {
		for _, c := range channels {
			for range each {
				got := call(t, w, method, map[string]any{"channel": c.ID, "text": "x"})
				if got.status == http.StatusTooManyRequests {
					refused++
				}
			}
		}
		return refused
	}
	if n := count("conversations.info", 1); n != 30 {
		t.Errorf("%d of 80 questions about 80 channels were refused, 50 are allowed", n)
	}
	if n := count("chat.postMessage", 5); n != 100 {
		t.Errorf("%d of 400 posts were refused, 300 are allowed", n)
	}
}

// TestOrganisationNamesItsWorkspaces: an app of a whole organisation has to say which workspace a list is of.
func TestOrganisationNamesItsWorkspaces(t *testing.T) {
	t.Parallel()
	w := start(t, slackdev.Config{
		OrgInstall: true, Team: slackdev.Team{ID: "T0DEV", EnterpriseID: "E0DEV"}, Workspaces: []string{"T0OPS"},
		UserGroups: []slackdev.UserGroup{{ID: "S0OPS", TeamID: "T0OPS", Users: []string{"U0ANN"}}},
	})
	for _, method := range []string{
		"users.list", "users.conversations", "conversations.list", "usergroups.list", "usergroups.users.list",
	} {
		args := map[string]any{"usergroup": "S0OPS"}
		if got := call(t, w, method, args); got.Error != "missing_argument" {
			t.Errorf("%s without a workspace: %+v", method, got)
		}
		args["team_id"] = "T0OPS"
		if got := call(t, w, method, args); !got.OK {
			t.Errorf("%s of the workspace: %+v", method, got)
		}
	}
	got := call(t, w, "usergroups.users.list", map[string]any{"usergroup": "S0OPS", "team_id": "T0DEV"})
	if got.Error != "no_such_subteam" {
		t.Errorf("a group of another workspace: %+v", got)
	}
	if got := call(t, w, "auth.teams.list", nil); !got.OK {
		t.Errorf("the workspaces: %+v", got)
	}
	if got := call(t, start(t, slackdev.Config{}), "usergroups.list", nil); !got.OK {
		t.Errorf("an app of one workspace: %+v", got)
	}
}

// TestStatusIsTakenAway: what an app says that it is doing stands there for a while.
func TestStatusIsTakenAway(t *testing.T) {
	t.Parallel()
	for life, want := range map[time.Duration]string{0: "is thinking", time.Nanosecond: ""} {
		w := start(t, slackdev.Config{StatusLife: life})
		got := call(t, w, "assistant.threads.setStatus", map[string]any{
			"channel_id": w.DM("U0ANN"), "thread_ts": "1.000001", "status": "is thinking",
		})
		if s := w.Status(w.DM("U0ANN"), "1.000001"); !got.OK || s != want {
			t.Errorf("%s after %+v: %q, want %q", life, got, s, want)
		}
	}
}
