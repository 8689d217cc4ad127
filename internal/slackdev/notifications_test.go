package slackdev_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"countersign/internal/slackdev"
)

// TestNotifications says who is called by what.
func TestNotifications(t *testing.T) {
	t.Parallel()
	section := func(kind, text string) []any {
		return []any{object{"type": "section", "text": object{"type": kind, "text": text}}}
	}
	rich := func(el object) []any {
		return []any{object{"type": "rich_text", "elements": []any{
			object{"type": "rich_text_section", "elements": []any{el}}}}}
	}
	for _, c := range []struct {
		why  string
		args object
		want string
	}{
		{"nobody", object{"text": "hello"}, ""},
		{"a person", object{"text": "<@U0BEN|ben> look"}, "U0BEN mention"},
		{"a group, whose members are in the channel", object{"text": "<!subteam^S0APP>"}, "U0CLEO mention"},
		{"a group that is off", object{"text": "<!subteam^S0OFF>"}, ""},
		{"everybody", object{"text": "<!here>"}, "U0ANN mention U0BEN mention U0CLEO mention"},
		{"somebody who is not there", object{"text": "<@U0GUS>"}, ""},
		{"the words of a mention", object{"text": "&lt;@U0BEN&gt;"}, ""},
		{"a section", object{"text": "x", "blocks": section("mrkdwn", "for <@U0BEN>")}, "U0BEN mention"},
		{"a section of plain text", object{"text": "x", "blocks": section("plain_text", "for <@U0BEN>")}, ""},
		{"rich text", object{"text": "x", "blocks": rich(object{"type": "user", "user_id": "U0BEN"})}, "U0BEN mention"},
		{"the text that stands for blocks", object{"text": "<@U0BEN>", "blocks": section("mrkdwn", "x")}, ""},
	} {
		w := start(t, slackdev.Config{
			Channels: []slackdev.Channel{{ID: "C0ALL", BotMember: true, Members: []string{"U0ANN", "U0BEN", "U0CLEO"}}},
			UserGroups: []slackdev.UserGroup{{ID: "S0APP", Users: []string{"U0CLEO", "U0GUS"}},
				{ID: "S0OFF", Users: []string{"U0BEN"}, Disabled: true}},
		})
		c.args["channel"] = "C0ALL"
		answer := call(t, w, "chat.postMessage", c.args)
		if got := called(w); got != c.want {
			t.Errorf("%s: called %q, want %q", c.why, got, c.want)
		}
		call(t, w, "chat.update", object{"channel": "C0ALL", "ts": answer.TS, "text": "<@U0ANN> <@U0BEN>"})
		if got := called(w); got != c.want {
			t.Errorf("%s: after an edit %q, want %q", c.why, got, c.want)
		}
		call(t, w, "chat.delete", object{"channel": "C0ALL", "ts": answer.TS})
		if got := called(w); got != "" {
			t.Errorf("%s: called %q to what was deleted", c.why, got)
		}
	}
}

// called lists who was called to what.
func called(w *slackdev.Workspace) string {
	var all []string
	for _, u := range w.Users() {
		for _, n := range w.Notifications(u.ID) {
			all = append(all, u.ID, n.Kind)
		}
	}
	return strings.Join(all, " ")
}

// TestThreadsAndDirectMessagesCall their followers and their person, and whoever wrote is not called.
func TestThreadsAndDirectMessagesCall(t *testing.T) {
	t.Parallel()
	w := start(t, slackdev.Config{})
	ts, err := w.Post(t.Context(), "U0ANN", "C0GENERAL", "a question", "")
	if err != nil {
		t.Fatal(err)
	}
	reply := func(text string) {
		t.Helper()
		call(t, w, "chat.postMessage", object{"channel": "C0GENERAL", "thread_ts": ts, "text": text})
	}
	reply("for <@U0BEN>")
	reply("more")
	call(t, w, "chat.postMessage", object{"channel": "U0CLEO", "text": "in private"})
	if _, err := w.Post(t.Context(), "U0ANN", "C0GENERAL", "I mean <@U0ANN>", ts); err != nil {
		t.Fatal(err)
	}
	if got, want := called(w), "U0ANN reply U0ANN reply U0BEN mention U0BEN reply U0BEN reply U0CLEO dm"; got != want {
		t.Errorf("called %q, want %q", got, want)
	}
}

// TestPageShowsWhoWasCalled looks at the marks of persons and channels, becomes who was called, and sees what for.
func TestPageShowsWhoWasCalled(t *testing.T) {
	t.Parallel()
	all := []string{"U0ANN", "U0BEN", "U0CLEO"}
	w := start(t, slackdev.Config{Channels: []slackdev.Channel{
		{ID: "C0FIRST", Name: "first", BotMember: true, Members: all},
		{ID: "C0OTHER", Name: "other", BotMember: true, Members: all},
	}})
	ctx := browser(t)
	step := func(why string, steps ...chromedp.Action[chromedp.Void]) {
		t.Helper()
		if err := walk(ctx, steps...); err != nil {
			shown, _ := chromedp.Run(ctx, chromedp.Text(`body`))
			t.Fatalf("%s: %v\n%s", why, err, shown)
		}
	}
	step("open", chromedp.Navigate(w.URL()), chromedp.WaitReady(`body[data-me=U0ANN]`))
	call(t, w, "chat.postMessage", object{"channel": "C0OTHER", "text": "<@U0BEN>, look at &lt;i&gt;this"})
	call(t, w, "chat.postMessage", object{"channel": "U0BEN", "text": "in private"})
	step("see that Ben was called, from Ann's page", chromedp.WaitVisible(`[data-switch-user=U0BEN] [data-called="2"]`),
		chromedp.WaitNotPresent(`[data-switch-user=U0CLEO] [data-called]`),
		chromedp.WaitVisible(`[data-channel=C0OTHER][data-unread]`))
	step("become Ben, and see what for", chromedp.Click(`[data-switch-user=U0BEN]`),
		chromedp.WaitVisible(`[data-notifications] [data-notification=dm][data-unread]`),
		chromedp.WaitVisible(`[data-channel=C0OTHER] [data-called="1"]`))
	step("go there", chromedp.Click(`[data-notification=mention]`), chromedp.WaitVisible(`#main article`),
		chromedp.WaitNotPresent(`[data-channel=C0OTHER] [data-called]`),
		chromedp.WaitVisible(`[data-switch-user=U0BEN] [data-called="1"]`))
	text, err := chromedp.Run(ctx, chromedp.Text(`#main`))
	if err != nil || !strings.Contains(text, "look at <i>this") {
		t.Errorf("the channel shows %q, %v", text, err)
	}
	step("read the direct message", chromedp.Click(fmt.Sprintf(`[data-channel=%s]`, w.DM("U0BEN"))),
		chromedp.WaitNotPresent(`[data-switch-user=U0BEN] [data-called]`))
	step("it stays read", chromedp.Reload(), chromedp.WaitReady(`body[data-me=U0BEN]`),
		chromedp.WaitNotPresent(`[data-switch-user=U0BEN] [data-called]`))
}
