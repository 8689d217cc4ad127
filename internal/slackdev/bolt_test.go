package slackdev_test

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"countersign/internal/slackdev"
)

// required skips a test that needs a tool which is not installed, or fails it
// where COUNTERSIGN_TEST_REQUIRE says that the tool must be there.
func required(t *testing.T, tool, problem string) {
	t.Helper()
	if strings.Contains(os.Getenv("COUNTERSIGN_TEST_REQUIRE"), tool) {
		t.Fatalf("%s is required here: %s", tool, problem)
	}
	t.Skipf("NOT TESTED: %s", problem)
}

// startBolt runs the app of the bolt folder until the test ends and returns the
// rest of the line with which it said that it is ready.
func startBolt(t *testing.T, w *slackdev.Workspace) string {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		required(t, "node", "node is not installed")
	}
	if _, err := os.Stat(filepath.Join("bolt", "node_modules", "@slack", "bolt")); err != nil {
		required(t, "node", "run `npm ci` in internal/slackdev/bolt to judge the workspace by Slack's own client")
	}
	cfg := w.Config()
	cmd := exec.CommandContext(t.Context(), node, "app.mjs")
	cmd.Dir = "bolt"
	cmd.Env = append(os.Environ(), "MODE="+cfg.Mode, "API_URL="+w.APIURL(), "BOT_TOKEN="+cfg.BotToken,
		"APP_TOKEN="+cfg.AppToken, "SIGNING_SECRET="+cfg.SigningSecret)
	cmd.Stderr = os.Stderr
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := make(chan string, 100)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			lines <- s.Text()
		}
	}()
	t.Cleanup(func() {
		cmd.Process.Kill()
		for line := range lines {
			t.Errorf("bolt says: %s", line)
		}
		cmd.Wait()
	})
	select {
	case line := <-lines:
		rest, ok := strings.CutPrefix(line, "ready")
		if !ok {
			t.Fatalf("bolt did not start: %s", line)
		}
		return strings.TrimSpace(rest)
	case <-time.After(30 * time.Second):
		t.Fatal("bolt did not start within 30 s")
		return ""
	}
}

func TestBoltSocketMode(t *testing.T) {
	t.Parallel()
	w := start(t, slackdev.Config{PingEvery: 200 * time.Millisecond, Channels: boltChannels()})
	startBolt(t, w)
	boltStory(t, w)

	w.Disconnect("refresh_requested")
	deadline := within(t)
	if err := w.WaitFor(deadline, func() bool { return opened(w) >= 2 && w.Connections() == 1 }); err != nil {
		t.Fatalf("bolt did not come back: %v", err)
	}
	if err := w.Command(deadline, "U0ANN", "C0GENERAL", "/approvals", "again"); err != nil {
		t.Errorf("after the reconnect: %v", err)
	}
}

func TestBoltHTTP(t *testing.T) {
	t.Parallel()
	w := start(t, slackdev.Config{Mode: slackdev.ModeHTTP, Channels: boltChannels()})
	port := startBolt(t, w)
	url := "http://127.0.0.1:" + port + "/slack/events"
	if err := w.SetRequestURL(within(t), slackdev.RequestURLs{Events: url}); err != nil {
		t.Fatal(err)
	}
	boltStory(t, w)
}

// boltChannels adds channels to the usual one, a private one without the bot among them.
func boltChannels() []slackdev.Channel {
	cleo := []string{"U0CLEO"}
	return append(slackdev.DefaultChannels(slackdev.DefaultUsers()),
		slackdev.Channel{ID: "C0ONE", Name: "one", Members: cleo},
		slackdev.Channel{ID: "C0TWO", Name: "two", BotMember: true},
		slackdev.Channel{ID: "C0OURS", Name: "ours", Private: true, BotMember: true, Members: cleo},
		slackdev.Channel{ID: "C0THEIRS", Name: "theirs", Private: true, Members: cleo})
}

// opened counts the Socket Mode connections the app asked for.
func opened(w *slackdev.Workspace) int {
	n := 0
	for _, c := range w.Calls() {
		if c.Method == "apps.connections.open" {
			n++
		}
	}
	return n
}

// boltStory walks through everything the app does.
func boltStory(t *testing.T, w *slackdev.Workspace) {
	t.Helper()
	ctx := within(t)
	bot := w.Config().App.BotUserID
	ts, err := w.Post(ctx, "U0ANN", "C0GENERAL", "<@"+bot+"> pay", "")
	if err != nil {
		t.Fatal(err)
	}
	await(t, w, func() bool { return len(w.Thread("C0GENERAL", ts)) == 2 })
	card := w.Thread("C0GENERAL", ts)[1]
	click := slackdev.Click{User: "U0BEN", Channel: card.Channel, TS: card.TS, ActionID: "reject"}
	if err := w.Click(ctx, click); err != nil {
		t.Fatal(err)
	}
	await(t, w, func() bool { return len(w.Views("U0BEN")) == 1 && len(w.Ephemerals("U0BEN")) == 1 })
	boltModal(ctx, t, w)
	click.ActionID = "approve"
	if err := w.Click(ctx, click); err != nil {
		t.Fatal(err)
	}
	await(t, w, func() bool { m, _ := w.Message(card.Channel, card.TS); return m.Text == "approved by U0BEN" })
	if m, _ := w.Message(card.Channel, card.TS); m.Shown() != "approved req_1" {
		t.Errorf("decided card shows %q", m.Shown())
	}
	boltStreams(ctx, t, w)
	boltAssistant(ctx, t, w)
	boltRest(ctx, t, w)
}

// boltStreams has the app write an answer piece by piece into a thread of a channel.
func boltStreams(ctx context.Context, t *testing.T, w *slackdev.Workspace) {
	t.Helper()
	ts, err := w.Post(ctx, "U0ANN", "C0GENERAL", "<@"+w.Config().App.BotUserID+"> tell me", "")
	if err != nil {
		t.Fatal(err)
	}
	boltTold(t, w, "C0GENERAL", ts, 1)
}

// boltTold waits for the streamed answer in the thread, which has n messages before it, and looks at what it has.
func boltTold(t *testing.T, w *slackdev.Workspace, channel, thread string, n int) {
	t.Helper()
	await(t, w, func() bool {
		all := w.Thread(channel, thread)
		return len(all) == n+1 && all[n].Streaming() == "completed"
	})
	m := w.Thread(channel, thread)[n]
	shown, last := m.Shown(), -1
	for _, words := range []string{"First, ", "look it up", "In between.", "Then two."} {
		if at := strings.Index(shown, words); at <= last {
			t.Errorf("%q stands at %d of %q", words, at, shown)
		} else {
			last = at
		}
	}
	if m.Metadata == nil || m.Metadata.EventType != "told" || !slices.Contains(m.Actions(), "approve") ||
		strings.Count(shown, "look it up") != 1 || !strings.Contains(string(m.Blocks), `"status":"complete"`) {
		t.Errorf("the message is %s, metadata %+v", m.Blocks, m.Metadata)
	}
}

// boltAssistant opens the assistant's panel, looks at another channel and asks.
func boltAssistant(ctx context.Context, t *testing.T, w *slackdev.Workspace) {
	t.Helper()
	thread, err := w.OpenAssistant(ctx, "U0BEN", "C0GENERAL")
	if err != nil {
		t.Fatal(err)
	}
	dm := w.DM("U0BEN")
	await(t, w, func() bool { return len(w.Thread(dm, thread)) == 2 })
	chat, ok := w.Chat(dm, thread)
	if !ok || chat.Title != "Payments" || chat.Heading != "Try" || len(chat.Prompts) != 1 ||
		chat.Prompts[0] != (slackdev.Prompt{Title: "Balance", Message: "what is the balance?"}) {
		t.Errorf("the chat is %+v", chat)
	}
	if err := w.LookAt(ctx, "U0BEN", thread, "C0TWO"); err != nil {
		t.Fatal(err)
	}
	await(t, w, func() bool {
		all := w.Thread(dm, thread)
		return len(all) == 3 && all[2].Text == "You look at C0TWO."
	})
	if _, err := w.Post(ctx, "U0BEN", dm, chat.Prompts[0].Message, thread); err != nil {
		t.Fatal(err)
	}
	boltTold(t, w, dm, thread, 4)
	said := false
	for _, c := range w.Calls() {
		said = said || c.Method == "assistant.threads.setStatus" && c.Args["status"] == "is thinking…"
	}
	if !said {
		t.Error("no status was set")
	}
}

func boltModal(ctx context.Context, t *testing.T, w *slackdev.Workspace) {
	t.Helper()
	view := w.Views("U0BEN")[0].ID
	answer, err := w.Submit(ctx, "U0BEN", view, map[string]map[string]any{"reason": {"text": "no"}})
	if err != nil || answer["response_action"] != "errors" {
		t.Fatalf("answer %v, error %v; want errors", answer, err)
	}
	answer, err = w.Submit(ctx, "U0BEN", view, map[string]map[string]any{"reason": {"text": "not today"}})
	if err != nil || answer != nil {
		t.Fatalf("answer %v, error %v; want none", answer, err)
	}
	dm := w.DM("U0BEN")
	await(t, w, func() bool { m := w.Messages(dm); return len(m) == 1 && m[0].Text == "rejected: not today" })
}

func boltRest(ctx context.Context, t *testing.T, w *slackdev.Workspace) {
	t.Helper()
	if err := w.Command(ctx, "U0ANN", "C0GENERAL", "/approvals", "mine"); err != nil {
		t.Fatal(err)
	}
	if got := w.Ephemerals("U0ANN"); len(got) != 1 || got[0].Text != "nothing pending for U0ANN: mine" {
		t.Errorf("command answered %v", got)
	}
	if err := w.Command(ctx, "U0BEN", "C0GENERAL", "/where", "U0CLEO"); err != nil {
		t.Fatal(err)
	}
	told := w.Ephemerals("U0BEN")
	if last := told[len(told)-1].Text; last != "U0CLEO is in: general, one, ours (private)" {
		t.Errorf("users.conversations over all pages: %q", last)
	}
	if err := w.Shortcut(ctx, "U0ANN", "approvals_list"); err != nil {
		t.Fatal(err)
	}
	await(t, w, func() bool { return len(w.Views("U0ANN")) == 1 })
	if err := w.OpenHome(ctx, "U0CLEO"); err != nil {
		t.Fatal(err)
	}
	await(t, w, func() bool { v := w.HomeView("U0CLEO"); return v != nil && v.Shown() == "Home" })
	dm := w.DM("U0CLEO")
	if _, err := w.Post(ctx, "U0CLEO", dm, "hello", ""); err != nil {
		t.Fatal(err)
	}
	await(t, w, func() bool { m := w.Messages(dm); return len(m) == 2 && m[1].Text == "hello <@U0CLEO>" })
	await(t, w, func() bool {
		return !slices.ContainsFunc(w.Deliveries(), func(d slackdev.Delivery) bool { return d.Acked.IsZero() })
	})
	// What a call did is seen before its answer is.
	await(t, w, func() bool {
		return !slices.ContainsFunc(w.Calls(), func(c slackdev.Call) bool { return c.Status == 0 })
	})
	for _, c := range w.Calls() {
		if !c.OK {
			t.Errorf("%s was answered %v", c.Method, c.Answer)
		}
	}
}
