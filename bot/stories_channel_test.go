package bot

import (
	"slices"
	"strings"
	"testing"

	"countersign/agent/scripted"
	"countersign/internal/slackdev"
)

// private is a channel that the bot was invited to.
func private() slackdev.Channel {
	return slackdev.Channel{
		ID: "C0PRIVATE", Name: "vault", Private: true, BotMember: true, Members: []string{"U0ANN", "U0BEN"},
	}
}

// askedIn has Ann ask in the channel, and waits for the card there.
func (w *world) askedIn(channel string) (thread string, card slackdev.Message) {
	w.t.Helper()
	thread, err := w.slack.Post(w.ctx(), "U0ANN", channel, "<@U0BOT> pay acme", "")
	if err != nil {
		w.t.Fatal(err)
	}
	w.eventually("the card", func() bool {
		for _, m := range w.slack.Thread(channel, thread) {
			if m.Metadata != nil && m.Metadata.EventType == cardEvent {
				card = m
				return true
			}
		}
		return false
	})
	return thread, card
}

// hears waits until the user is told the words, wherever.
func (s *stage) hears(user string, words ...string) {
	s.t.Helper()
	heard := func() []slackdev.Message {
		return append(s.slack.Ephemerals(user), s.slack.Messages(s.slack.DM(user))...)
	}
	s.eventually(user+" hears: "+strings.Join(words, " … "), func() bool {
		return slices.ContainsFunc(heard(), func(m slackdev.Message) bool {
			return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(m.Text, w) })
		})
	})
}

// TestRemovedFromItsChannelTheBotSaysSo: the members of a private channel decide, and the bot is removed from it. It
// cannot know who they are any more, and says that, and what helps. Nobody reads that they are no approver.
func TestRemovedFromItsChannelTheBotSaysSo(t *testing.T) {
	t.Parallel()
	w := newWorld(t, pay("call_1"), scripted.Say("Acme has its money."))
	w.slack.SetChannel(private())
	thread, card := w.askedIn("C0PRIVATE")
	if err := w.slack.Leave("C0PRIVATE", "U0BOT"); err != nil {
		t.Fatal(err)
	}
	words := []string{"I am not in the channel", "Nothing was recorded", "Invite me"}
	for _, button := range []string{"approve", "reject_with_reason", "show_details"} {
		if err := w.click("U0BEN", card, button); err != nil {
			t.Fatal(err)
		}
		if button == "approve" {
			w.hears("U0BEN", words...)
			continue
		}
		view := w.modalOf("U0BEN", viewWords)
		w.eventually("the window of "+button+" says why", func() bool {
			view = w.modalOf("U0BEN", viewWords)
			return strings.Contains(texts(t, view.Blocks), "I am not in the channel")
		})
		if err := w.slack.CloseView(w.ctx(), "U0BEN", view.ID, true); err != nil {
			t.Fatal(err)
		}
	}
	for _, m := range append(w.slack.Ephemerals("U0BEN"), w.slack.Messages(w.slack.DM("U0BEN"))...) {
		if strings.Contains(m.Text, "not an approver") {
			t.Errorf("Ben reads %q", m.Text)
		}
	}
	if got := w.bank.payments(); len(got) != 0 {
		t.Fatalf("paid: %v", got)
	}

	// Who is no member reads the same as ever while the bot is there, and once it is back the members decide.
	if err := w.slack.Join("C0PRIVATE", "U0BOT", "U0CLEO"); err != nil {
		t.Fatal(err)
	}
	press := slackdev.Click{User: "U0CLEO", Channel: card.Channel, TS: card.TS, ActionID: "approve"}
	leaver, err := w.slack.Payload(press)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.slack.Leave("C0PRIVATE", "U0CLEO"); err != nil {
		t.Fatal(err)
	}
	if err := w.slack.ClickRaw(w.ctx(), leaver); err != nil {
		t.Fatal(err)
	}
	w.hears("U0CLEO", "You cannot decide: not an approver under")
	if err := w.click("U0BEN", card, "approve"); err != nil {
		t.Fatal(err)
	}
	w.eventually("the answer", func() bool {
		return slices.ContainsFunc(w.slack.Thread("C0PRIVATE", thread), func(m slackdev.Message) bool {
			return strings.Contains(m.Text, "Acme has its money.")
		})
	})
}
