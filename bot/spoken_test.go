package bot

import (
	"slices"
	"strings"
	"testing"

	"countersign/agent/scripted"
	"countersign/internal/slackdev"
)

// TestWordsDecideNothing: whoever answers a card in its thread, with a mention of the bot, reads that the message
// decides nothing, and which card has the buttons.
func TestWordsDecideNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, pay("call_1"), scripted.Say("Acme has its money."), scripted.Say("Nothing else to do."))
	thread := w.mention("U0ANN", "pay acme", "")
	card := w.card(thread, 1)
	w.mention("U0BEN", "yes, do it", thread)
	w.whispered("U0BEN", "taken up when it has ended")
	w.whispered("U0BEN", "No message decides about the call that waits here")
	w.whispered("U0BEN", requestOf(t, card))
	if !decidable(w.now(card)) || len(w.bank.payments()) != 0 {
		t.Error("a message has decided")
	}
	if err := w.click("U0BEN", card, "approve"); err != nil {
		t.Fatal(err)
	}
	w.said(thread, "Nothing else to do.")
}

// TestWordsWithoutAMention: in a group direct message the bot hears what is said without a mention. Who may decide and
// writes nothing but a decision in the thread of a card reads, once for the card, that it decides nothing.
func TestWordsWithoutAMention(t *testing.T) {
	t.Parallel()
	w := startWorld(t, &world{
		policy: everybody{}, script: script{pay("call_1"), scripted.Say("Acme has its money.")},
		with: slackdev.Config{Channels: []slackdev.Channel{
			{ID: "G0THREE", Group: true, Members: []string{"U0ANN", "U0BEN"}, BotMember: true},
		}},
	})
	post := func(user, text, thread string) string {
		t.Helper()
		ts, err := w.slack.Post(w.ctx(), user, "G0THREE", text, thread)
		if err != nil {
			t.Fatal(err)
		}
		return ts
	}
	thread := post("U0ANN", "<@U0BOT> pay acme", "")
	w.eventually("a card", func() bool { return len(w.cardsIn("G0THREE")) == 1 })
	told := func(user string) (n int) {
		for _, m := range w.slack.Ephemerals(user) {
			if strings.Contains(m.Text, "No message decides") {
				n++
			}
		}
		return n
	}
	post("U0BEN", "approve the other one first?", thread) // no decision
	post("U0BEN", "approve", "")                          // not in the thread
	post("U0BEN", "Approve!", thread)
	w.eventually("Ben is told", func() bool { return told("U0BEN") == 1 })
	post("U0BEN", "yes, do it", thread)
	post("U0ANN", "<@U0BOT> and then?", thread)
	w.eventually("Ann is answered", func() bool {
		return slices.ContainsFunc(w.slack.Ephemerals("U0ANN"), func(m slackdev.Message) bool {
			return strings.Contains(m.Text, "taken up when it has ended")
		})
	})
	if err := w.stop(); err != nil { // which waits for what is under way
		t.Fatal(err)
	}
	if n := told("U0BEN"); n != 1 {
		t.Errorf("Ben is told %d times", n)
	}
	if len(w.bank.payments()) != 0 {
		t.Error("a message has decided")
	}
}

// TestDecides: only what is nothing but a decision is taken for one.
func TestDecides(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"approve": true, " Yes,  do it! ": true, "LGTM": true, "No.": true, ":+1:": true, "Don’t": true,
		"": false, "approve?": false, "approve the other one": false, "no idea": false, "yes but less": false,
	} {
		if got := decides(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// TestEverybodyWhoWritesADecisionIsTold: in a group direct message Ben writes that he approves, and so does Cleo. Each
// is told once that it decides nothing: nobody sees what is told to the other.
func TestEverybodyWhoWritesADecisionIsTold(t *testing.T) {
	t.Parallel()
	w := startWorld(t, &world{
		policy: everybody{}, script: script{pay("call_1"), scripted.Say("Acme has its money.")},
		with: slackdev.Config{Channels: []slackdev.Channel{
			{ID: "G0THREE", Group: true, Members: []string{"U0ANN", "U0BEN", "U0CLEO"}, BotMember: true},
		}},
	})
	thread, err := w.slack.Post(w.ctx(), "U0ANN", "G0THREE", "<@U0BOT> pay acme", "")
	if err != nil {
		t.Fatal(err)
	}
	w.copyIn("G0THREE")
	for _, who := range []string{"U0BEN", "U0CLEO"} {
		if _, err := w.slack.Post(w.ctx(), who, "G0THREE", "approve", thread); err != nil {
			t.Fatal(err)
		}
		w.whispered(who, "No message decides")
	}
}
