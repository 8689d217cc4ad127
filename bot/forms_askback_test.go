package bot

import (
	"slices"
	"strings"
	"testing"

	"countersign/agent/scripted"
	"countersign/internal/slackdev"
)

// TestAskingBack: Ben asks Ann something before he decides. She is mentioned with the question, the call waits on, her
// answer goes to him and stands in the details, and starts no run.
func TestAskingBack(t *testing.T) {
	t.Parallel()
	w := newWorldUnder(t, demands(nil), pay("call_1"), scripted.Say("Acme has its money."), scripted.Say("A new run."))
	thread := w.mention("U0ANN", "pay acme", "")
	card := w.card(thread, 1)
	if err := w.click("U0BEN", card, "show_details"); err != nil {
		t.Fatal(err)
	}
	if err := w.clickIn("U0BEN", w.modalOf("U0BEN", viewDetails), "ask_back"); err != nil {
		t.Fatal(err)
	}
	w.modalOf("U0BEN", "ask_back")
	if answer := w.submits("U0BEN", "ask_back", map[string]any{"Your question": " "}); len(errorsOf(answer)) != 1 {
		t.Errorf("no question: %v", answer)
	}
	w.submits("U0BEN", "ask_back", map[string]any{"Your question": "Which <!channel> *invoice*?"})
	w.eventually("Ben is told", func() bool {
		return strings.Contains(w.modalOf("U0BEN", viewWords).Shown(), "Asked.")
	})
	asked := w.notice(thread, "asks before deciding about transfer_funds")
	read := texts(t, asked.Blocks)
	if !strings.HasPrefix(read, "@U0ANN, @U0BEN asks") || !strings.HasPrefix(asked.Text, "<@U0ANN>") ||
		!strings.Contains(read, "“Which <!channel> *invoice*?”") || strings.Contains(asked.Text, "<!") {
		t.Errorf("the thread reads %s, %s", asked.Blocks, asked.Text)
	}
	w.shown(card, "@U0BEN asked @U0ANN", "“Which <!channel> *invoice*?”", "@U0ANN has not answered yet")
	if !slices.Contains(w.now(card).Actions(), "approve") {
		t.Error("the call waits no more")
	}
	w.mention("U0CLEO", "what is this?", thread) // of somebody else: no answer
	w.mention("U0ANN", "It is 1042.", thread)
	answered := w.notice(thread, "answers: “It is 1042.”")
	if !strings.HasPrefix(texts(t, answered.Blocks), "@U0BEN, @U0ANN answers") {
		t.Errorf("the thread reads %s", answered.Blocks)
	}
	w.shown(card, "@U0ANN answered", "“It is 1042.”", "not:has not answered")
	if err := w.click("U0BEN", card, "show_details"); err != nil {
		t.Fatal(err)
	}
	details := w.modalOf("U0BEN", viewDetails).Shown()
	if !strings.Contains(details, "Which <!channel> *invoice*?") || !strings.Contains(details, "It is 1042.") {
		t.Errorf("the details show %s", details)
	}
	if err := w.click("U0BEN", card, "approve"); err != nil {
		t.Fatal(err)
	}
	w.said(thread, "Acme has its money.")
	w.said(thread, "A new run.") // of Cleo's message alone: Ann's was no order
	said := 0
	for _, m := range w.slack.Thread("C0GENERAL", thread) {
		if strings.Contains(m.Text, "“It is 1042.”") {
			said++
		}
	}
	if said != 1 {
		t.Errorf("the answer was told %d times", said)
	}
}

// TestAnswerReachesWhoAskedElsewhere: Dan, who is not in the channel, asks Ann something on his own card. He is told
// her answer where he is: what is said in the thread calls nobody who is not in the channel.
func TestAnswerReachesWhoAskedElsewhere(t *testing.T) {
	t.Parallel()
	w := newOffice(t, reached(nil), pay("call_1"), scripted.Say("Done."))
	thread := w.mention("U0ANN", "pay acme", "")
	w.card(thread, 1)
	dm := w.slack.DM("U0DAN")
	if err := w.click("U0DAN", w.copyIn(dm), "show_details"); err != nil {
		t.Fatal(err)
	}
	if err := w.clickIn("U0DAN", w.modalOf("U0DAN", viewDetails), "ask_back"); err != nil {
		t.Fatal(err)
	}
	w.submits("U0DAN", "ask_back", map[string]any{"Your question": "Is it due?"})
	w.eventually("Dan is told what follows", func() bool {
		said := w.modalOf("U0DAN", viewWords).Shown()
		return strings.Contains(said, "Asked.") && !strings.Contains(said, "in the thread")
	})
	w.notice(thread, "asks before deciding")
	w.mention("U0ANN", "Yes, it is.", thread)
	w.notice(thread, "answers: “Yes, it is.”")
	w.hears("U0DAN", "<@U0ANN> answers: “Yes, it is.”", "You asked “Is it due?”")
	w.eventually("everything is shown", func() bool { return w.undelivered() == 0 })
	told := slices.DeleteFunc(w.slack.Messages(dm), func(m slackdev.Message) bool {
		return !strings.Contains(m.Text, "answers: ")
	})
	if len(told) != 1 {
		t.Errorf("Dan is told %d times", len(told))
	}
}
