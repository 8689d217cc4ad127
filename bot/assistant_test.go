package bot

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"countersign/agent/scripted"
	"countersign/approvals"
	"countersign/internal/slackdev"
)

// TestPanel: a new chat proposes what the agents file says, and gets the name of the first thing that is asked in it.
func TestPanel(t *testing.T) {
	t.Parallel()
	proposed := func(string) []Prompt {
		return []Prompt{{"Pay an invoice", "pay invoice 1042"}, {"Odd\u202e", "x"}}
	}
	w := startWorld(t, &world{
		policy: everybody{}, script: script{scripted.Say("Hello."), scripted.Say("Again.")},
		tune: func(b *Bot) { b.prompts = proposed },
		with: slackdev.Config{Scopes: append(neededScopes(), optionalScopes...)},
	})
	thread, err := w.slack.OpenAssistant(w.ctx(), "U0ANN", "C0GENERAL")
	if err != nil {
		t.Fatal(err)
	}
	chat := func() slackdev.Chat { c, _ := w.slack.Chat("D0ANN", thread); return c }
	w.eventually("prompts", func() bool { return len(chat().Prompts) > 0 })
	want := []slackdev.Prompt{
		{Title: "Pay an invoice", Message: "pay invoice 1042"}, {Title: `Odd\u{202E}`, Message: "x"},
	}
	if diff := cmp.Diff(want, chat().Prompts); diff != "" {
		t.Error(diff)
	}
	if err := w.slack.LookAt(w.ctx(), "U0ANN", thread, ""); err != nil {
		t.Fatal(err)
	}
	for i, text := range []string{"pay invoice 1042\nplease", "and another one"} {
		if _, err := w.slack.Post(w.ctx(), "U0ANN", "D0ANN", text, thread); err != nil {
			t.Fatal(err)
		}
		w.eventually("an answer", func() bool { return len(w.own("D0ANN", thread)) == i+2 })
	}
	w.eventually("a title", func() bool { return chat().Title != "" })
	if chat().Title != "pay invoice 1042" || len(w.calls(methodTitle)) != 1 {
		t.Errorf("title %q of %d", chat().Title, len(w.calls(methodTitle)))
	}
}

// TestPanelOfAnEarlierManifest: an app that was installed without assistant:write goes on as before, and the log says
// once what to do.
func TestPanelOfAnEarlierManifest(t *testing.T) {
	t.Parallel()
	w := startWorld(t, &world{
		policy: everybody{}, script: script{scripted.Say("Hello.")},
		tune: func(b *Bot) { b.prompts = func(string) []Prompt { return []Prompt{{"a", "b"}} } },
	})
	for range 2 {
		thread, err := w.slack.OpenAssistant(w.ctx(), "U0ANN", "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.slack.Post(w.ctx(), "U0ANN", "D0ANN", "hello", thread); err != nil {
			t.Fatal(err)
		}
		w.eventually("an answer", func() bool { return len(w.own("D0ANN", thread)) == 2 })
	}
	w.eventually("words in the log", func() bool { return strings.Contains(w.logs.String(), "install it again") })
	if n := strings.Count(w.logs.String(), methodPrompts); n != 1 {
		t.Errorf("the log speaks of it %d times", n)
	}
	if n := len(w.calls(methodPrompts)) + len(w.calls(methodTitle)); n != 0 {
		t.Errorf("%d calls without the scope", n)
	}
}

// TestStopButton: whoever asked stops the run, which ends with words about what ran; the half message says that it is
// no answer. Somebody who may not is told so, and the run goes on.
func TestStopButton(t *testing.T) {
	t.Parallel()
	model := newTypist(scripted.Say("One.\nTwo."))
	w := startWorld(t, &world{policy: everybody{}, model: model, tune: streamsSoon})
	thread := w.mention("U0ANN", "tell me", "")
	model.pieces <- "One.\n"
	half := w.streamed(thread, "One.")
	if err := w.slack.Stop(w.ctx(), "U0CLEO", "C0GENERAL", thread); err != nil {
		t.Fatal(err)
	}
	w.whispered("U0CLEO", "You cannot cancel this run: neither the requester nor an approver of what it waits for.")
	page, err := w.engine.ActiveRun(w.ctx(), testWorkspace, approvals.Place{
		Surface: "slack", Channel: "C0GENERAL", Thread: thread,
	})
	if err != nil || page.Status != approvals.RunRunning {
		t.Fatalf("%v, %v", page, err)
	}
	w.eventually("the stop button of a session that goes on", func() bool {
		return w.slack.Stop(w.ctx(), "U0ANN", "C0GENERAL", thread) == nil
	})
	w.said(thread, "cancelled the run.")
	w.eventually("the half message says what it is", func() bool {
		m, _ := w.slack.Message(half.Channel, half.TS)
		return strings.Contains(m.Shown(), wordsStreamUnfinished) && m.Streaming() != "in_progress"
	})
	if left := w.half(thread); left != nil {
		t.Errorf("left: %q", left)
	}
	w.eventually("no stop button any more", func() bool {
		return w.slack.Stop(w.ctx(), "U0ANN", "C0GENERAL", thread) != nil
	})
}

// TestStopInADirectConversation: the stop button is there while the run works, before anything is streamed.
func TestStopInADirectConversation(t *testing.T) {
	t.Parallel()
	model := &slow{payer(), make(chan struct{})}
	w := startWorld(t, &world{policy: everybody{}, model: model})
	thread := w.directly("U0ANN", "pay acme")
	w.showsStatus(thread, wordsStatusLine)
	w.eventually("a stop button", func() bool {
		return w.slack.Stop(w.ctx(), "U0ANN", "D0ANN", thread) == nil
	})
	w.inDirect(thread, noticeEvent)
	w.showsStatus(thread, "")
	if loading := w.calls(methodThreadStatus)[0].Args["loading_messages"]; loading == nil {
		t.Error("no loading messages")
	}
}
