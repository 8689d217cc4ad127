package slackdev_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"countersign/internal/slackdev"
)

// answer is a decoded Web API answer.
type answer struct {
	OK       bool
	Error    string
	Needed   string
	Provided string
	TS       string `json:"ts"`
	Channel  any
	Warning  string
	Metadata struct {
		Messages   []string
		NextCursor string `json:"next_cursor"`
	} `json:"response_metadata"`
	Messages []map[string]any
	Channels []map[string]any
	View     map[string]any
	status   int
	header   http.Header
}

// call posts JSON with the bot's token.
func call(t *testing.T, w *slackdev.Workspace, method string, args map[string]any) answer {
	t.Helper()
	if args == nil {
		args = map[string]any{}
	}
	body, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	return request(t, w, method, "application/json; charset=utf-8", string(body), w.Config().BotToken)
}

func request(t *testing.T, w *slackdev.Workspace, method, contentType, body, token string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.APIURL()+method, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", contentType)
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	return do(t, req)
}

func do(t *testing.T, req *http.Request) answer {
	t.Helper()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	out := answer{status: resp.StatusCode, header: resp.Header}
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatalf("answer %q: %v", raw, err)
	}
	return out
}

func TestTokens(t *testing.T) {
	t.Parallel()
	w := start(t, slackdev.Config{})
	cfg := w.Config()
	form := "application/x-www-form-urlencoded"
	for _, tc := range []struct{ why, method, contentType, body, token, want string }{
		{"bot token in the header", "auth.test", form, "", cfg.BotToken, ""},
		{"bot token in the form", "auth.test", form, "token=" + cfg.BotToken, "", ""},
		{"bot token in JSON", "auth.test", "application/json", `{"token":"` + cfg.BotToken + `"}`, "", ""},
		{"no token", "auth.test", form, "", "", "not_authed"},
		{"wrong token", "auth.test", form, "", "xoxb-wrong", "invalid_auth"},
		{"app token for a bot method", "auth.test", form, "", cfg.AppToken, "not_allowed_token_type"},
		{"app token opens a connection", "apps.connections.open", "application/json", "", cfg.AppToken, ""},
		{"app token in the body does not", "apps.connections.open", form, "token=" + cfg.AppToken, "", "not_authed"},
		{"bot token opens no connection", "apps.connections.open", form, "", cfg.BotToken, "not_allowed_token_type"},
		{"unknown method", "chat.shout", form, "", cfg.BotToken, "unknown_method"},
		{"broken JSON", "auth.test", "application/json", "{", cfg.BotToken, "invalid_json"},
		{"JSON array", "auth.test", "application/json", "[]", cfg.BotToken, "json_not_object"},
		{"strange body", "auth.test", "text/plain", "x", cfg.BotToken, "invalid_post_type"},
	} {
		got := request(t, w, tc.method, tc.contentType, tc.body, tc.token)
		if got.Error != tc.want || got.OK != (tc.want == "") {
			t.Errorf("%s: error %q, want %q", tc.why, got.Error, tc.want)
		}
	}
	w.RevokeToken()
	if got := call(t, w, "auth.test", nil); got.Error != "token_revoked" {
		t.Errorf("revoked token: %q", got.Error)
	}
	w.RestoreToken()
	if got := call(t, w, "auth.test", nil); !got.OK {
		t.Errorf("restored token: %q", got.Error)
	}
}

func TestScopes(t *testing.T) {
	t.Parallel()
	w := start(t, slackdev.Config{Scopes: []string{"chat:write", "channels:read"}})
	got := call(t, w, "users.info", map[string]any{"user": "U0ANN"})
	if got.Error != "missing_scope" || got.Needed != "users:read" || got.Provided != "chat:write,channels:read" {
		t.Errorf("users.info: %+v", got)
	}
	if h := got.header.Get("X-OAuth-Scopes"); h != "chat:write,channels:read" {
		t.Errorf("X-OAuth-Scopes is %q", h)
	}
	if got := call(t, w, "conversations.info", map[string]any{"channel": "C0GENERAL"}); !got.OK {
		t.Errorf("granted scope: %q", got.Error)
	}
	if got := call(t, w, "conversations.info", map[string]any{"channel": w.DM("U0ANN")}); got.Needed != "im:read" {
		t.Errorf("direct message: %+v", got)
	}
	history := call(t, w, "conversations.history", map[string]any{"channel": "C0GENERAL"})
	if history.Needed != "channels:history" {
		t.Errorf("history: %+v", history)
	}
}

func TestEncodings(t *testing.T) {
	t.Parallel()
	w := start(t, slackdev.Config{})
	blocks := `[{"type":"section","text":{"type":"plain_text","text":"50% + 1+1 = 100%25"}}]`
	form := url.Values{"channel": {"C0GENERAL"}, "text": {"a"}, "blocks": {blocks}, "token": {w.Config().BotToken}}
	if got := request(t, w, "chat.postMessage", "application/x-www-form-urlencoded", form.Encode(), ""); !got.OK {
		t.Errorf("form: %q", got.Error)
	}
	got := request(t, w, "chat.postMessage", "application/json",
		`{"channel":"C0GENERAL","text":"b","blocks":`+blocks+`}`, w.Config().BotToken)
	if !got.OK || got.Warning != "missing_charset" {
		t.Errorf("JSON: %q, warning %q", got.Error, got.Warning)
	}
	for _, m := range w.Messages("C0GENERAL") {
		if m.Shown() != "50% + 1+1 = 100%25" {
			t.Errorf("message %q shows %q", m.Text, m.Shown())
		}
	}
	ts := w.Messages("C0GENERAL")[0].TS
	req, err := http.NewRequestWithContext(t.Context(),
		http.MethodGet, w.APIURL()+"chat.getPermalink?channel=C0GENERAL&message_ts="+ts, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+w.Config().BotToken)
	if got := do(t, req); !got.OK {
		t.Errorf("query: %q", got.Error)
	}
	for _, c := range w.Calls() {
		if _, ok := c.Args["token"]; ok {
			t.Errorf("%s: the token is in the record", c.Method)
		}
	}
}

func TestChannels(t *testing.T) {
	t.Parallel()
	w := start(t, slackdev.Config{Channels: []slackdev.Channel{
		{ID: "C0IN", BotMember: true, Members: []string{"U0ANN"}},
		{ID: "C0OUT", Members: []string{"U0ANN"}},
		{ID: "C0SECRET", Private: true, Members: []string{"U0ANN"}},
		{ID: "C0OLD", Archived: true, BotMember: true, Members: []string{"U0ANN"}},
	}})
	for channel, want := range map[string]string{
		"C0IN": "", "U0ANN": "", "C0OUT": "not_in_channel", "C0SECRET": "channel_not_found",
		"C0OLD": "is_archived", "C0NONE": "channel_not_found",
	} {
		if got := call(t, w, "chat.postMessage", map[string]any{"channel": channel, "text": "x"}); got.Error != want {
			t.Errorf("%s: %q, want %q", channel, got.Error, want)
		}
	}
	if m := w.Messages(w.DM("U0ANN")); len(m) != 1 {
		t.Errorf("the direct message has %d messages", len(m))
	}
	got := call(t, w, "chat.postEphemeral", map[string]any{"channel": "C0IN", "user": "U0BEN", "text": "x"})
	if got.Error != "user_not_in_channel" {
		t.Errorf("ephemeral for an outsider: %q", got.Error)
	}
	if err := w.SetChannelMembers("C0OUT", []string{"U0ANN"}, true); err != nil {
		t.Fatal(err)
	}
	if got := call(t, w, "chat.postMessage", map[string]any{"channel": "C0OUT", "text": "x"}); !got.OK {
		t.Errorf("after the invitation: %q", got.Error)
	}
}

func TestThreadsAndMetadata(t *testing.T) {
	t.Parallel()
	w := start(t, slackdev.Config{})
	ctx := t.Context()
	root, err := w.Post(ctx, "U0ANN", "C0GENERAL", "hello", "")
	if err != nil {
		t.Fatal(err)
	}
	meta := map[string]any{"event_type": "countersign_approval", "event_payload": map[string]any{"request": "req_1"}}
	post := call(t, w, "chat.postMessage", map[string]any{
		"channel": "C0GENERAL", "thread_ts": root, "text": "card", "metadata": meta,
	})
	replies := call(t, w, "conversations.replies", map[string]any{
		"channel": "C0GENERAL", "ts": root, "include_all_metadata": true,
	})
	if len(replies.Messages) != 2 || replies.Messages[0]["reply_count"] != 1.0 {
		t.Fatalf("replies: %v", replies.Messages)
	}
	if _, ok := replies.Messages[1]["metadata"]; !ok {
		t.Error("include_all_metadata returned none")
	}
	plain := call(t, w, "conversations.replies", map[string]any{"channel": "C0GENERAL", "ts": root})
	if _, ok := plain.Messages[1]["metadata"]; ok {
		t.Error("metadata was returned without being asked for")
	}
	for _, tc := range []struct {
		why, want string
		args      map[string]any
	}{
		{"reply to a reply", "cannot_reply_to_message", map[string]any{"thread_ts": post.TS}},
		{"thread_ts as a number", "invalid_thread_ts", map[string]any{"thread_ts": 1.5}},
		{"metadata without a type", "invalid_metadata_format",
			map[string]any{"metadata": map[string]any{"event_payload": map[string]any{}}}},
		{"no text", "no_text", map[string]any{"text": ""}},
		{"long text", "msg_too_long", map[string]any{"text": strings.Repeat("x", 40001)}},
		{"markdown with text", "markdown_text_conflict", map[string]any{"markdown_text": "y"}},
	} {
		args := map[string]any{"channel": "C0GENERAL", "text": "x"}
		for k, v := range tc.args {
			args[k] = v
		}
		if got := call(t, w, "chat.postMessage", args); got.Error != tc.want {
			t.Errorf("%s: %q, want %q", tc.why, got.Error, tc.want)
		}
	}
	got := call(t, w, "conversations.replies", map[string]any{"channel": "C0GENERAL", "ts": "1.000001"})
	if got.Error != "thread_not_found" {
		t.Errorf("missing thread: %q", got.Error)
	}
}

func TestUpdateAndDelete(t *testing.T) {
	t.Parallel()
	w := start(t, slackdev.Config{})
	card := []any{section("card")}
	post := call(t, w, "chat.postMessage", map[string]any{"channel": "C0GENERAL", "text": "card", "blocks": card,
		"metadata": map[string]any{"event_type": "e", "event_payload": map[string]any{}}})
	mine, err := w.Post(t.Context(), "U0ANN", "C0GENERAL", "hers", "")
	if err != nil {
		t.Fatal(err)
	}
	update := func(ts, text string) string {
		return call(t, w, "chat.update", map[string]any{"channel": "C0GENERAL", "ts": ts, "text": text}).Error
	}
	if got := update(mine, "x"); got != "cant_update_message" {
		t.Errorf("another's message: %q", got)
	}
	if got := update("1.000001", "x"); got != "message_not_found" {
		t.Errorf("missing message: %q", got)
	}
	if got := update(post.TS, strings.Repeat("x", 4001)); got != "msg_too_long" {
		t.Errorf("long text: %q", got)
	}
	if got := update(post.TS, "decided"); got != "" {
		t.Errorf("update: %q", got)
	}
	m, _ := w.Message("C0GENERAL", post.TS)
	if m.Text != "decided" || m.Blocks != nil || m.Metadata == nil || m.Revision != 2 {
		t.Errorf("after the update: %+v", m)
	}
	if got := call(t, w, "chat.delete", map[string]any{"channel": "C0GENERAL", "ts": post.TS}); !got.OK {
		t.Errorf("delete: %q", got.Error)
	}
	if _, ok := w.Message("C0GENERAL", post.TS); ok {
		t.Error("the deleted message is still there")
	}
}

func TestPaging(t *testing.T) {
	t.Parallel()
	w := start(t, slackdev.Config{})
	var seen []string
	args := map[string]any{"channel": "C0GENERAL", "limit": 2}
	for range 9 {
		var page struct {
			Members  []string
			Metadata struct {
				NextCursor string `json:"next_cursor"`
			} `json:"response_metadata"`
		}
		call(t, w, "conversations.members", args)
		calls := w.Calls()
		raw, err := json.Marshal(calls[len(calls)-1].Answer)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(raw, &page); err != nil {
			t.Fatal(err)
		}
		seen = append(seen, page.Members...)
		if args["cursor"] = page.Metadata.NextCursor; page.Metadata.NextCursor == "" {
			break
		}
	}
	if len(seen) != 5 {
		t.Errorf("members over all pages: %v, want four people and the bot", seen)
	}
	got := call(t, w, "conversations.members", map[string]any{"channel": "C0GENERAL", "cursor": "nonsense"})
	if got.Error != "invalid_cursor" {
		t.Errorf("bad cursor: %q", got.Error)
	}
}

func TestPeople(t *testing.T) {
	t.Parallel()
	w := start(t, slackdev.Config{Users: []slackdev.User{
		{ID: "U0ANN"}, {ID: "U0GUEST", UltraRestricted: true}, {ID: "U0FAR", Stranger: true, TeamID: "T0FAR"},
		{ID: "U0BOTTY", Bot: true}, {ID: "U0GONE", Deleted: true},
	}, UserGroups: []slackdev.UserGroup{{ID: "S0APPROVERS", Handle: "approvers", Users: []string{"U0ANN"}}}})
	flags := func(id string) map[string]any {
		call(t, w, "users.info", map[string]any{"user": id})
		calls := w.Calls()
		user, _ := calls[len(calls)-1].Answer["user"].(map[string]any)
		return user
	}
	for id, want := range map[string]string{
		"U0GUEST": "is_ultra_restricted", "U0FAR": "is_stranger", "U0BOTTY": "is_bot", "U0GONE": "deleted",
	} {
		if u := flags(id); u[want] != true {
			t.Errorf("%s: %s is %v", id, want, u[want])
		}
		if u := flags("U0ANN"); u[want] == true {
			t.Errorf("U0ANN: %s is true", want)
		}
	}
	if got := call(t, w, "users.info", map[string]any{"user": "U0NOBODY"}); got.Error != "user_not_found" {
		t.Errorf("nobody: %q", got.Error)
	}
	got := call(t, w, "usergroups.users.list", map[string]any{"usergroup": "S0NONE"})
	if got.Error != "no_such_subteam" {
		t.Errorf("no group: %q", got.Error)
	}
	if got := call(t, w, "conversations.open", map[string]any{"users": "U0GONE"}); got.Error != "user_disabled" {
		t.Errorf("conversation with the deactivated: %q", got.Error)
	}
	if got := call(t, w, "conversations.open", map[string]any{"users": "U0ANN"}); !got.OK {
		t.Errorf("conversation: %q", got.Error)
	}
}

func section(text string) map[string]any {
	return map[string]any{"type": "section", "text": map[string]any{"type": "plain_text", "text": text}}
}
