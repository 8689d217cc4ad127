package slackdev_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"countersign/internal/slackdev"
)

// TestTogether: what blocks of a payload may have together, and how many of them there may be.
func TestTogether(t *testing.T) {
	t.Parallel()
	w := start(t, slackdev.Config{})
	markdown := func(n int) object { return object{"type": "markdown", "text": strings.Repeat("x", n)} }
	table := object{"type": "table", "rows": []any{[]any{object{"type": "raw_text", "text": "x"}}}}
	focused := func(on bool) object {
		return object{"type": "input", "label": plain(1), "element": object{
			"type": "plain_text_input", "action_id": "a", "focus_on_load": on,
		}}
	}
	for why, tt := range map[string]struct {
		blocks []any
		error  string
	}{
		"markdown":           {[]any{markdown(6000), markdown(6000)}, ""},
		"markdown, too long": {[]any{markdown(6000), markdown(6001)}, "invalid_blocks"},
		"a table":            {[]any{table, markdown(1)}, ""},
		"two tables":         {[]any{table, markdown(1), table}, "invalid_attachments"},
	} {
		got := call(t, w, "chat.postMessage", object{"channel": "C0GENERAL", "text": "x", "blocks": tt.blocks})
		if got.Error != tt.error {
			t.Errorf("%s: %q %v, want %q", why, got.Error, got.Metadata.Messages, tt.error)
		}
	}
	for why, tt := range map[string]struct {
		blocks []any
		error  string
	}{
		"one has the focus": {[]any{focused(true), focused(false)}, ""},
		"two have it":       {[]any{focused(true), focused(false), focused(true)}, "invalid_arguments"},
	} {
		got := call(t, w, "views.open", object{"trigger_id": w.NewTrigger("U0ANN"), "view": object{
			"type": "modal", "title": plain(1), "submit": plain(1), "blocks": tt.blocks,
		}})
		if got.Error != tt.error {
			t.Errorf("%s: %q %v, want %q", why, got.Error, got.Metadata.Messages, tt.error)
		}
	}
}

// TestNothingToShow: a text of white space alone is none, wherever an app writes.
func TestNothingToShow(t *testing.T) {
	t.Parallel()
	w := start(t, slackdev.Config{})
	posted := call(t, w, "chat.postMessage", object{"channel": "C0GENERAL", "text": "x"})
	for _, blank := range []string{"", " ", "\n\t "} {
		for method, args := range map[string]object{
			"chat.postMessage":   {"channel": "C0GENERAL", "text": blank},
			"chat.postEphemeral": {"channel": "C0GENERAL", "user": "U0ANN", "text": blank},
			"chat.update":        {"channel": "C0GENERAL", "ts": posted.TS, "text": blank},
		} {
			if got := call(t, w, method, args); got.Error != "no_text" {
				t.Errorf("%s of %q: %q", method, blank, got.Error)
			}
			if got := call(t, w, method, with(args, "blocks", []any{section("y")})); !got.OK {
				t.Errorf("control: %s of %q with blocks: %q", method, blank, got.Error)
			}
		}
	}
}

// TestOnlyAdminsPost: the app is no admin.
func TestOnlyAdminsPost(t *testing.T) {
	t.Parallel()
	users := slackdev.DefaultUsers()
	users[0].Admin = true
	channels := slackdev.DefaultChannels(users)
	channels[0].AdminsPost = true
	w := start(t, slackdev.Config{Users: users, Channels: channels})
	if _, err := w.Post(t.Context(), "U0ANN", "C0GENERAL", "hello", ""); err != nil {
		t.Error(err)
	}
	if _, err := w.Post(t.Context(), "U0BEN", "C0GENERAL", "hello", ""); !errors.Is(err, slackdev.ErrRestricted) {
		t.Errorf("somebody who is no admin: %v", err)
	}
	for _, method := range []string{"chat.postMessage", "chat.postEphemeral"} {
		got := call(t, w, method, object{"channel": "C0GENERAL", "user": "U0ANN", "text": "x"})
		if got.Error != "restricted_action" {
			t.Errorf("%s: %q", method, got.Error)
		}
	}
}

// TestResponseURLOfAnArchivedChannel is of no use any more.
func TestResponseURLOfAnArchivedChannel(t *testing.T) {
	t.Parallel()
	w := start(t, slackdev.Config{})
	answerAll(t, w)
	posted := call(t, w, "chat.postMessage", object{"channel": "C0GENERAL", "text": "card", "blocks": []any{
		object{"type": "actions", "elements": []any{object{"type": "button", "action_id": "go", "text": plain(2)}}},
	}})
	p, err := w.Payload(slackdev.Click{User: "U0ANN", Channel: "C0GENERAL", TS: posted.TS, ActionID: "go"})
	if err != nil {
		t.Fatal(err)
	}
	url := p["response_url"].(string)
	if got := postURL(t, url, object{"text": "x"}); !got.OK {
		t.Fatal(got.Error)
	}
	if err := w.Archive("C0GENERAL"); err != nil {
		t.Fatal(err)
	}
	got := postURL(t, url, object{"text": "x"})
	if got.Error != "channel_is_archived" || got.status != http.StatusGone {
		t.Errorf("in an archived channel: %q, HTTP %d", got.Error, got.status)
	}
}
