package slackdev_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"countersign/internal/slackdev"
)

func pageRequest(
	t *testing.T, w *slackdev.Workspace, method, path, body string, change func(*http.Request),
) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, w.URL()+path, bytes.NewBufferString(body))
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(req)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(raw)
}

func TestPageRefusesOtherSites(t *testing.T) {
	t.Parallel()
	w := start(t, slackdev.Config{})
	body := `{"User":"U0ANN","Channel":"C0GENERAL","Text":"hi"}`
	for _, tc := range []struct {
		why    string
		change func(*http.Request)
		want   int
	}{
		{"own page", nil, http.StatusOK},
		{"other origin", func(r *http.Request) { r.Header.Set("Origin", "http://evil.example") }, http.StatusForbidden},
		{"cross-site", func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }, http.StatusForbidden},
		{"foreign name", func(r *http.Request) { r.Host = "evil.example" }, http.StatusMisdirectedRequest},
	} {
		if got, text := pageRequest(t, w, http.MethodPost, "dev/post", body, tc.change); got != tc.want {
			t.Errorf("%s: %d %s", tc.why, got, text)
		}
	}
	if n := len(w.Messages("C0GENERAL")); n != 1 {
		t.Errorf("%d messages, want the one of the own page", n)
	}
	got, _ := pageRequest(t, w, http.MethodGet, "dev/state", "", func(r *http.Request) { r.Host = "evil.example" })
	if got != http.StatusMisdirectedRequest {
		t.Errorf("state under a foreign name: %d", got)
	}
}

func TestTypedText(t *testing.T) {
	t.Parallel()
	w := start(t, slackdev.Config{UserGroups: []slackdev.UserGroup{{ID: "S0APP", Handle: "approvers"}}})
	for typed, want := range map[string]string{
		"@countersign go": "<@U0BOT> go", "@Ann, @ben.": "<@U0ANN>, <@U0BEN>.", "a<b & c": "a&lt;b &amp; c",
		"see https://a.example/?x=1&y=2": "see <https://a.example/?x=1&amp;y=2>", "#general": "<#C0GENERAL>",
		"@nobody": "@nobody", "@approvers": "<!subteam^S0APP>", "@here": "<!here>", "<@U0BEN>": "&lt;@U0BEN&gt;",
	} {
		body, err := json.Marshal(map[string]string{"User": "U0ANN", "Channel": "C0GENERAL", "Text": typed})
		if err != nil {
			t.Fatal(err)
		}
		pageRequest(t, w, http.MethodPost, "dev/post", string(body), nil)
		all := w.Messages("C0GENERAL")
		if got := all[len(all)-1].Text; got != want {
			t.Errorf("typed %q became %q, want %q", typed, got, want)
		}
	}
}

// TestPageShowsWhatIsTheirs checks that a person's page has neither another's
// ephemerals nor channels, and no secrets.
func TestPageShowsWhatIsTheirs(t *testing.T) {
	t.Parallel()
	w := start(t, slackdev.Config{AckTimeout: 50 * time.Millisecond, Channels: []slackdev.Channel{
		{ID: "C0ALL", BotMember: true, Members: []string{"U0ANN", "U0BEN"}},
		{ID: "C0ANN", BotMember: true, Members: []string{"U0ANN"}},
	}})
	call(t, w, "chat.postEphemeral", object{"channel": "C0ALL", "user": "U0ANN", "text": "for ann only"})
	call(t, w, "chat.postMessage", object{"channel": "C0ANN", "text": "in her channel"})
	w.Shortcut(t.Context(), "U0ANN", "x") // unanswered: leaves a trigger id in the record
	_, anns := pageRequest(t, w, http.MethodGet, "dev/state?user=U0ANN", "", nil)
	_, bens := pageRequest(t, w, http.MethodGet, "dev/state?user=U0BEN", "", nil)
	for _, text := range []string{"for ann only", "in her channel"} {
		if !strings.Contains(anns, text) || strings.Contains(bens, text) {
			t.Errorf("%q: in Ann's page %v, in Ben's %v", text, strings.Contains(anns, text),
				strings.Contains(bens, text))
		}
	}
	var state struct {
		Activity []struct{ ID, What string }
	}
	if err := json.Unmarshal([]byte(anns), &state); err != nil {
		t.Fatal(err)
	}
	for _, e := range state.Activity {
		_, text := pageRequest(t, w, http.MethodGet, "dev/detail?id="+e.ID, "", nil)
		if e.What == "shortcut" && !strings.Contains(text, `"trigger_id": "…"`) {
			t.Errorf("detail of the shortcut: %s", text)
		}
		if strings.Contains(text, w.Config().BotToken) {
			t.Errorf("the token is shown in %s", e.What)
		}
	}
	if len(state.Activity) == 0 {
		t.Error("nothing was recorded")
	}
}
