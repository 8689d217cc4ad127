package bot

import (
	"strings"
	"testing"
	"time"

	"countersign/agent/scripted"
	"countersign/approvals"
	"countersign/internal/slackdev"
)

// shares makes #general a channel with people of another organisation, one of whom is there.
func (w *world) shares() {
	w.slack.SetUser(slackdev.User{ID: "U0EXT", Name: "ext", RealName: "Ext Ernal", TeamID: "T0OTHER", Stranger: true})
	w.slack.SetChannel(slackdev.Channel{
		ID: "C0GENERAL", Name: "general", ExtShared: true, BotMember: true,
		Members: []string{"U0ANN", "U0BEN", "U0CLEO", "U0GUS", "U0EXT"},
	})
}

// argumentsIn lists the messages of the conversation that hold what is called.
func (w *world) argumentsIn(channel string) (all []string) {
	for _, m := range w.slack.Messages(channel) {
		if m.User == "U0BOT" && strings.Contains(m.Text+string(m.Blocks), "acme") {
			all = append(all, m.Text)
		}
	}
	return all
}

// TestChannelThatBecomesSharedShowsNoArguments: the card is there with the call, and then people of another
// organisation are. The call disappears, Ben and Cleo, members who may decide, get it by themselves, nobody else
// decides, and how it ended is said without it.
func TestChannelThatBecomesSharedShowsNoArguments(t *testing.T) {
	t.Parallel()
	w := newOffice(t, everybody{}, pay("call_1"), scripted.Say("Done."))
	thread := w.mention("U0ANN", "pay acme", "")
	card := w.card(thread, 1)
	if len(w.argumentsIn("C0GENERAL")) == 0 {
		t.Fatal("the card shows no call before: this test shows nothing")
	}
	w.shares()
	w.eventually("the card says that the channel is shared", func() bool {
		m, _ := w.slack.Message(card.Channel, card.TS)
		return strings.Contains(texts(t, m.Blocks), "shared with people of another organisation")
	})
	if all := w.argumentsIn("C0GENERAL"); len(all) != 0 {
		t.Errorf("the call is still there: %q", all)
	}
	own := w.copyIn(w.slack.DM("U0BEN"))
	if !strings.Contains(texts(t, own.Blocks), "1200") {
		t.Errorf("Ben does not see what he is to decide: %s", own.Blocks)
	}
	for _, id := range []string{"U0GUS", "U0EXT"} {
		if n := len(w.cardsIn(w.slack.DM(id))); n != 0 {
			t.Errorf("%s is shown the call", id)
		}
	}
	if err := w.click("U0BEN", own, "approve"); err != nil {
		t.Fatal(err)
	}
	w.settledAt(own, "Approved by @U0BEN")
	w.settledAt(card, "Approved")
	if all := w.argumentsIn("C0GENERAL"); len(all) != 0 {
		t.Errorf("the settled card has the call: %q", all)
	}
}

// TestRunOfASharedChannelShowsNoArguments: the channel is shared after the mention and before the first card.
func TestRunOfASharedChannelShowsNoArguments(t *testing.T) {
	t.Parallel()
	w := newOffice(t, namedPolicy{
		who: approvals.Approvers{Users: usersOf("U0BEN")}, notify: approvals.Notify{Channel: "C0APPROVE"},
	}, pay("call_1"), scripted.Say("Done."))
	held := make(chan struct{})
	w.slack.Fail(slackdev.Fault{Method: methodPost, RetryAfter: time.Second, Match: func(a map[string]any) bool {
		if a["channel"] != "C0GENERAL" {
			return false
		}
		close(held)
		return true
	}})
	thread := w.mention("U0ANN", "pay acme", "")
	<-held // the card is on its way and has to wait, while the approvals channel has it
	w.shares()
	w.card(thread, 1)
	w.copyIn("C0APPROVE")
	w.copyIn(w.slack.DM("U0BEN"))
	if all := w.argumentsIn("C0GENERAL"); len(all) != 0 {
		t.Errorf("the call is there: %q", all)
	}
}

// TestSharedApprovalsChannelShowsNoArguments: neither does a channel of approvers that others read.
func TestSharedApprovalsChannelShowsNoArguments(t *testing.T) {
	t.Parallel()
	w := newOffice(t, namedPolicy{
		who: approvals.Approvers{Users: usersOf("U0BEN")}, notify: approvals.Notify{Channel: "C0PARTNERS"},
	}, pay("call_1"), scripted.Say("Done."))
	w.slack.SetChannel(slackdev.Channel{
		ID: "C0PARTNERS", Name: "partners", ExtShared: true, BotMember: true, Members: []string{"U0CLEO"},
	})
	w.mention("U0ANN", "pay acme", "")
	w.copyIn("C0PARTNERS")
	if all := w.argumentsIn("C0PARTNERS"); len(all) != 0 {
		t.Errorf("the call is there: %q", all)
	}
}

// TestAnswerOfASharedChannelGoesToWhoeverAsked: what the model writes may hold what the call did. The thread is told
// where the answer is, once, and holds no word of it.
func TestAnswerOfASharedChannelGoesToWhoeverAsked(t *testing.T) {
	t.Parallel()
	for _, allowed := range []bool{false, true} {
		w := newOffice(t, everybody{}, pay("call_1"), scripted.Say("Acme owes us canary-4711."))
		w.answersShared = allowed
		thread := w.mention("U0ANN", "what does acme owe?", "")
		w.card(thread, 1)
		w.shares()
		if err := w.click("U0BEN", w.copyIn(w.slack.DM("U0BEN")), "approve"); err != nil {
			t.Fatal(err)
		}
		if allowed {
			w.said(thread, "Acme owes us canary-4711.")
			continue
		}
		read := func(messages []slackdev.Message) (texts string) {
			for _, m := range messages {
				if m.User == "U0BOT" {
					texts += m.Text + "\n"
				}
			}
			return texts
		}
		w.eventually("the pointer", func() bool {
			said := read(w.slack.Thread("C0GENERAL", thread))
			return strings.Contains(said, wordsAnsweredToYou)
		})
		if in := read(w.slack.Messages(w.slack.DM("U0ANN"))); strings.Count(in, "canary-4711") != 1 {
			t.Errorf("Ann reads %s", in)
		}
		for _, m := range w.slack.Thread("C0GENERAL", thread) {
			if strings.Contains(m.Text+string(m.Blocks), "canary-4711") {
				t.Errorf("the shared thread reads %s", m.Text)
			}
		}
	}
}

// TestAskingBackInASharedChannelIsBetweenTheTwo: Ben's question quotes the call, and Ann's answer may. The thread is
// told that each of them was written to, and reads neither.
func TestAskingBackInASharedChannelIsBetweenTheTwo(t *testing.T) {
	t.Parallel()
	for _, allowed := range []bool{false, true} {
		w := newOffice(t, demands(nil), pay("call_1"), scripted.Say("Done."))
		w.answersShared = allowed
		thread := w.mention("U0ANN", "pay acme", "")
		w.card(thread, 1)
		w.shares()
		if err := w.click("U0BEN", w.copyIn(w.slack.DM("U0BEN")), "show_details"); err != nil {
			t.Fatal(err)
		}
		if err := w.clickIn("U0BEN", w.modalOf("U0BEN", viewDetails), "ask_back"); err != nil {
			t.Fatal(err)
		}
		w.modalOf("U0BEN", "ask_back")
		w.submits("U0BEN", "ask_back", map[string]any{"Your question": "Does canary-4711 get 1200?"})
		said := func(messages []slackdev.Message) (all string) {
			for _, m := range messages {
				if m.User == "U0BOT" && m.Metadata != nil && m.Metadata.EventType == noticeEvent {
					all += m.Text + texts(t, m.Blocks) + "\n"
				}
			}
			return all
		}
		inThread := func() string { return said(w.slack.Thread("C0GENERAL", thread)) }
		if allowed {
			w.eventually("the question in the thread", func() bool {
				return strings.Contains(inThread(), "canary-4711")
			})
			continue
		}
		w.eventually("the thread is told", func() bool { return strings.Contains(inThread(), "I have written to you") })
		if got := said(w.slack.Messages(w.slack.DM("U0ANN"))); !strings.Contains(got, "canary-4711") ||
			!strings.Contains(got, "Open the thread") {
			t.Errorf("Ann reads %s", got)
		}
		asked := w.slack.Messages(w.slack.DM("U0ANN"))
		if err := w.click("U0ANN", asked[len(asked)-1], "answer_back"); err != nil {
			t.Fatal(err)
		}
		if shown := w.modalOf("U0ANN", "answer_back").Shown(); !strings.Contains(shown, "canary-4711") ||
			!strings.Contains(shown, "amount") {
			t.Errorf("the form shows %s", shown)
		}
		w.submits("U0ANN", "answer_back", map[string]any{"Your answer": "It does."})
		w.eventually("Ben is told", func() bool {
			return strings.Contains(said(w.slack.Messages(w.slack.DM("U0BEN"))), "answers: “It does.”")
		})
		w.eventually("the thread is told that he was", func() bool {
			return strings.Count(inThread(), "I have written to you") > 3
		})
		if got := inThread(); strings.Contains(got, "canary-4711") {
			t.Errorf("the shared thread reads %s", got)
		}
	}
}
