package slackdev_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"countersign/internal/slackdev"
)

// threeKinds has a public channel with the bot, one without it, and two private ones likewise. Ann is in all of them.
func threeKinds() slackdev.Config {
	ann := []string{"U0ANN"}
	return slackdev.Config{Channels: []slackdev.Channel{
		{ID: "C0OPEN", BotMember: true, Members: ann}, {ID: "C0OTHER", Members: ann},
		{ID: "C0SHARED", Private: true, BotMember: true, Members: ann}, {ID: "C0SECRET", Private: true, Members: ann},
		{ID: "C0OLD", Archived: true, BotMember: true, Members: ann},
	}}
}

// conversationsOf lists the ids over all pages, joined, or the error in angle brackets.
func conversationsOf(t *testing.T, w *slackdev.Workspace, with map[string]any) string {
	t.Helper()
	args := map[string]any{"user": "U0ANN", "types": "public_channel,private_channel"}
	maps.Copy(args, with)
	var ids []string
	for range 20 {
		got := call(t, w, "users.conversations", args)
		if !got.OK {
			return "<" + got.Error + ">"
		}
		for _, c := range got.Channels {
			ids = append(ids, c["id"].(string))
			if _, told := c["is_member"]; told {
				t.Errorf("%s says is_member", c["id"])
			}
		}
		if got.Metadata.NextCursor == "" {
			return strings.Join(ids, " ")
		}
		args["cursor"] = got.Metadata.NextCursor
	}
	t.Fatalf("no end after %v", ids)
	return ""
}

func TestUsersConversations(t *testing.T) {
	t.Parallel()
	w := start(t, threeKinds())
	dm := w.DM("U0ANN")
	for _, tc := range []struct {
		why, want string
		args      map[string]any
	}{
		{"both kinds", "C0OPEN C0OTHER C0SHARED C0OLD", nil},
		{"the default type", "C0OPEN C0OTHER C0OLD", map[string]any{"types": ""}},
		{"without archived ones", "C0OPEN C0OTHER C0SHARED", map[string]any{"exclude_archived": true}},
		{"in small pages", "C0OPEN C0OTHER C0SHARED C0OLD", map[string]any{"limit": 2}},
		{"in pages of one", "C0OPEN C0OTHER C0SHARED C0OLD", map[string]any{"limit": "1"}},
		{"at the largest limit", "C0OPEN C0OTHER C0SHARED C0OLD", map[string]any{"limit": 999}},
		{"direct messages", dm, map[string]any{"types": "im"}},
		{"group direct messages", "", map[string]any{"types": "mpim"}},
		{"somebody in none", "", map[string]any{"user": "U0BEN"}},
		{"the bot by its id", "C0OPEN C0SHARED C0OLD", map[string]any{"user": "U0BOT"}},
		{"the bot by default", "C0OPEN C0SHARED C0OLD", map[string]any{"user": ""}},
		{"nobody", "<user_not_found>", map[string]any{"user": "U0NOBODY"}},
		{"an unknown type", "<invalid_types>", map[string]any{"types": "public_channel,group"}},
		{"above the limit", "<invalid_limit>", map[string]any{"limit": 1000}},
		{"no limit at all", "<invalid_limit>", map[string]any{"limit": "many"}},
		{"a wrong cursor", "<invalid_cursor>", map[string]any{"cursor": "nonsense"}},
	} {
		if got := conversationsOf(t, w, tc.args); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.why, got, tc.want)
		}
	}
}

// TestUsersConversationsShared is the other reading of Slack's page.
func TestUsersConversationsShared(t *testing.T) {
	t.Parallel()
	cfg := threeKinds()
	cfg.SharedConversations = true
	if got, want := conversationsOf(t, start(t, cfg), nil), "C0OPEN C0SHARED C0OLD"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestUsersConversationsScopes(t *testing.T) {
	t.Parallel()
	cfg := threeKinds()
	cfg.Scopes = []string{"channels:read"}
	w := start(t, cfg)
	for types, needed := range map[string]string{
		"": "", "public_channel": "", "public_channel,private_channel": "groups:read", "im": "im:read",
		"mpim": "mpim:read",
	} {
		got := call(t, w, "users.conversations", map[string]any{"user": "U0ANN", "types": types})
		if got.Needed != needed || got.OK != (needed == "") {
			t.Errorf("%q: %+v, needs %q", types, got, needed)
		}
	}
}

func TestUsersConversationsAreLimited(t *testing.T) {
	t.Parallel()
	cfg := threeKinds()
	cfg.RateLimits = true
	w := start(t, cfg)
	sent := 0
	for call(t, w, "users.conversations", map[string]any{"user": "U0ANN"}).OK {
		if sent++; sent > 50 {
			t.Fatal("more than 50 calls a minute")
		}
	}
	got := call(t, w, "users.conversations", map[string]any{"user": "U0ANN"})
	if got.status != 429 || got.Error != "ratelimited" || got.header.Get("Retry-After") == "" {
		t.Errorf("after %d calls: %d %q, Retry-After %q", sent, got.status, got.Error, got.header.Get("Retry-After"))
	}
}

func TestLeavingAndJoining(t *testing.T) {
	t.Parallel()
	w := start(t, threeKinds())
	in := func(why, want string) {
		t.Helper()
		if got := conversationsOf(t, w, nil); got != want {
			t.Errorf("%s: %q, want %q", why, got, want)
		}
	}
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	do(w.Leave("C0OPEN", "U0ANN"))
	in("after leaving", "C0OTHER C0SHARED C0OLD")
	if got := len(w.EventIDs("member_left_channel")); got != 1 {
		t.Errorf("member_left_channel was raised %d times", got)
	}
	if _, err := w.Post(t.Context(), "U0ANN", "C0OPEN", "hello", ""); !errors.Is(err, slackdev.ErrNotMember) {
		t.Errorf("a post by somebody who left: %v", err)
	}
	do(w.Join("C0OPEN", "U0ANN", "U0ANN"))
	in("back again", "C0OPEN C0OTHER C0SHARED C0OLD")
	do(w.Leave("C0SHARED", "U0BOT"))
	in("after the bot was removed from a private channel", "C0OPEN C0OTHER C0OLD")
	got := call(t, w, "conversations.members", map[string]any{"channel": "C0SHARED"})
	if got.Error != "channel_not_found" {
		t.Errorf("the members of it: %+v", got)
	}
	do(w.Leave("C0OPEN", "U0BOT"))
	in("after the bot was removed from a public channel", "C0OPEN C0OTHER C0OLD")
	for why, err := range map[string]error{
		"no channel": w.Leave("C0NONE", "U0ANN"), "nobody": w.Join("C0OPEN", "U0NOBODY"),
		"a direct message": w.Join(w.DM("U0ANN"), "U0BEN"),
	} {
		if !errors.Is(err, slackdev.ErrUnknown) {
			t.Errorf("%s: %v", why, err)
		}
	}
}

func TestDeactivate(t *testing.T) {
	t.Parallel()
	cfg := threeKinds()
	cfg.UserGroups = []slackdev.UserGroup{{ID: "S0APPROVERS", Handle: "approvers", Users: []string{"U0ANN"}}}
	w := start(t, cfg)
	if err := w.Deactivate("U0ANN"); err != nil {
		t.Fatal(err)
	}
	if got := conversationsOf(t, w, nil); got != "" {
		t.Errorf("still in %q", got)
	}
	call(t, w, "usergroups.users.list", map[string]any{"usergroup": "S0APPROVERS"})
	calls := w.Calls()
	if users, _ := calls[len(calls)-1].Answer["users"].([]string); !slices.Contains(users, "U0ANN") {
		t.Errorf("the group is %v", users)
	}
	for why, err := range map[string]error{
		"the Home tab": w.OpenHome(t.Context(), "U0ANN"), "a shortcut": w.Shortcut(t.Context(), "U0ANN", "x"),
		"a click":             w.Click(t.Context(), slackdev.Click{User: "U0ANN", ActionID: "x"}),
		"a command":           w.Command(t.Context(), "U0ANN", "C0OPEN", "/x", ""),
		"deactivating nobody": w.Deactivate("U0NOBODY"),
	} {
		if !errors.Is(err, slackdev.ErrUnknown) {
			t.Errorf("%s: %v", why, err)
		}
	}
}
