package slackdev_test

import (
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"countersign/internal/slackdev"
)

// TestPageShowsStreams: a message that is being written, its task cards, the stop button, and the assistant's panel
// with its prompts and title. With COUNTERSIGN_SCREENSHOTS naming a folder it leaves pictures there.
func TestPageShowsStreams(t *testing.T) {
	t.Parallel()
	w := start(t, slackdev.Config{AckTimeout: patience, TriggerLife: patience})
	ctx := browser(t)
	step := func(why string, steps ...chromedp.Action[chromedp.Void]) {
		t.Helper()
		if err := walk(ctx, steps...); err != nil {
			t.Fatalf("%s: %v", why, err)
		}
	}
	picture := func(name string) {
		dir := os.Getenv("COUNTERSIGN_SCREENSHOTS")
		if dir == "" {
			return
		}
		png, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
		if err == nil {
			err = os.WriteFile(dir+"/"+name+".png", png, 0o600)
		}
		if err != nil {
			t.Error(err)
		}
	}
	if _, err := w.OpenAssistant(t.Context(), "U0BEN", ""); err != nil { // for others to see nothing of
		t.Fatal(err)
	}
	step("open the panel", chromedp.Navigate(w.URL()), chromedp.Click(`[data-channel=D0ANN]`),
		chromedp.Click(`[data-new-chat]`), chromedp.WaitVisible(`#thread [data-thread-title]`))
	all := w.Messages("D0ANN")
	if len(all) != 1 {
		t.Fatalf("%d messages", len(all))
	}
	thread := all[0].TS
	call(t, w, "assistant.threads.setSuggestedPrompts", object{"channel_id": "D0ANN", "thread_ts": thread,
		"prompts": []object{{"title": "Pay <b>42</b>", "message": "pay invoice 42"}}})
	step("see a prompt", chromedp.WaitVisible(`#thread [data-prompt]`))
	picture("panel")
	step("choose it", chromedp.Click(`#thread [data-prompt]`), chromedp.WaitNotPresent(`#thread [data-prompt]`))
	call(t, w, "assistant.threads.setTitle", object{"channel_id": "D0ANN", "thread_ts": thread, "title": "<i>42</i>"})
	call(t, w, "agents.sessions.setStatus", object{"channel_id": "D0ANN", "thread_ts": thread, "status": "processing"})
	text := func(words string) object {
		return object{"type": "blocks", "blocks": []object{{"type": "rich_text", "elements": []object{{
			"type": "rich_text_section", "elements": []object{{"type": "text", "text": words}},
		}}}}}
	}
	started := call(t, w, "chat.startStream", object{"channel": "D0ANN", "thread_ts": thread, "chunks": []object{
		text("Looking <b>into</b> it."),
		{"type": "task_update", "id": "a", "title": "lookup", "status": "in_progress", "details": "running"},
	}})
	step("see it being written", chromedp.WaitVisible(`#thread [data-streaming]`),
		chromedp.WaitVisible(`#thread [data-task=in_progress]`), chromedp.WaitVisible(`[data-stop]`))
	picture("stream")
	call(t, w, "chat.appendStream", object{"channel": "D0ANN", "ts": started.TS, "chunks": []object{
		{"type": "task_update", "id": "a", "title": "lookup", "status": "complete", "details": "ran"},
		text("Found."),
	}})
	step("see it go on", chromedp.WaitVisible(`#thread [data-task=complete]`))
	shown, err := chromedp.Run(ctx, chromedp.Text(`#thread`))
	if err != nil || !strings.Contains(shown, "Looking <b>into</b> it.") || !strings.Contains(shown, "<i>42</i>") {
		t.Errorf("thread shows %q, %v", shown, err)
	}
	step("stop it", chromedp.Click(`[data-stop]`), chromedp.WaitVisible(`#thread [data-stopped]`),
		chromedp.WaitNotPresent(`#thread [data-streaming]`))
	if n := len(w.EventIDs("agent_session_stopped")); n != 1 {
		t.Errorf("%d stops", n)
	}
	call(t, w, "agents.sessions.setStatus", object{"channel_id": "D0ANN", "thread_ts": thread, "status": "active"})
	step("no stop button any more", chromedp.WaitNotPresent(`[data-stop]`))
}
