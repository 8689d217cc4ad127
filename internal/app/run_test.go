package app_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"countersign/internal/openaidev"
	"countersign/internal/slackdev"
)

// TestApprove follows one call from the mention to the answer.
func TestApprove(t *testing.T) {
	t.Parallel()
	for _, http := range []bool{false, true} {
		t.Run(fmt.Sprintf("http %v", http), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, settings{http: http})
			bot := w.start()
			thread := w.mention("please pay 250 reasonably")
			card := w.card(thread, 1)
			if text := card.Text; !strings.Contains(text, "pay") || strings.Contains(text, "250") {
				t.Errorf("text of the card: %q", text)
			}
			if shown := card.Shown(); !strings.Contains(shown, "\namount  250\nto  acct\n") {
				t.Errorf("the card does not show the arguments:\n%s", shown)
			}
			w.noEffect()
			asked := len(w.model.Requests())

			w.mustClick(ben, card, "approve")
			w.answer(thread, `answer: [{"reference":"R-1"}]`)
			w.settled(card, "Approved")
			w.onlyEffect(`{"amount":250,"to":"acct"}`)
			if n := len(w.model.Requests()); n != asked+1 {
				t.Errorf("the model was asked %d times after the approval, want once", n-asked)
			}
			if outputs := w.lastOutputs(); len(outputs) != 1 {
				t.Errorf("outputs: %q", outputs)
			}
			if said := w.said(thread); len(said) != 1 {
				t.Errorf("the bot said %q, want one answer", said)
			}
			if code := bot.stop(); code != 0 {
				t.Errorf("exit code %d after SIGTERM", code)
			}
			w.verified()
		})
	}
}

// TestAckAfterCommit reads the clicks that Slack saw acknowledged in the store.
func TestAckAfterCommit(t *testing.T) {
	t.Parallel()
	w := newWorld(t, settings{})
	bot := w.start()
	card := w.card(w.mention("pay 5"), 1)
	w.mustClick(ben, card, "reject")
	bot.kill() // right after the acknowledgement
	out, _, code := w.run("audit", "export")
	if code != 0 || !strings.Contains(out, `"decision.recorded"`) {
		t.Errorf("an acknowledged click is not in the store: %d\n%s", code, out)
	}
	// What follows the click is done by the next one, and judged then.
	defer func() { w.judged(w.start()) }()
	for _, d := range w.slack.Deliveries() {
		if d.Type != "app_mention" && d.Type != "block_actions" {
			continue // what the bot's own messages raise may be under way when it is killed
		}
		if took := d.Acked.Sub(d.Sent); d.Acked.IsZero() || took > 3*time.Second {
			t.Errorf("%s %s was acknowledged after %s: %s", d.Kind, d.Type, took, d.Error)
		}
	}
}

// TestUngated runs without asking what the gate lets through.
func TestUngated(t *testing.T) {
	t.Parallel()
	w := newWorld(t, settings{})
	w.start()
	thread := w.mention("pay 1")
	w.answer(thread, `R-1`)
	w.onlyEffect(`{"amount":1,"to":"acct"}`)
	if n := len(w.cards(thread)); n != 0 {
		t.Errorf("%d cards for a call that needs none", n)
	}
	w.answer(w.mention("what time is it"), "Europe/Berlin")
}

// TestReject tells the model, with the reason if there is one, and runs nothing.
func TestReject(t *testing.T) {
	t.Parallel()
	w := newWorld(t, settings{})
	w.start()
	thread := w.mention("pay 7")
	card := w.card(thread, 1)
	w.mustClick(ben, card, "reject")
	w.answer(thread, "not approved")
	w.settled(card, "Rejected")

	other := w.mention("pay 8")
	card = w.card(other, 1)
	w.mustClick(cleo, card, "reject_with_reason")
	w.until("the form", func() bool { v := w.slack.Views(cleo); return len(v) == 1 && len(inputs(v[0])) > 0 })
	view := w.slack.Views(cleo)[0]
	if _, err := w.slack.Submit(w.ctx, cleo, view.ID, map[string]map[string]any{
		inputs(view)[0].block: {inputs(view)[0].action: "the wrong account"},
	}); err != nil {
		t.Fatal(err)
	}
	w.answer(other, "the wrong account")
	w.settled(card, "the wrong account")
	w.noEffect()
}

// TestAlways approves the tool for the rest of the run, and not beyond it.
func TestAlways(t *testing.T) {
	t.Parallel()
	w := newWorld(t, settings{})
	w.start()
	thread := w.mention("pay 5 then 6")
	card := w.card(thread, 1)
	w.mustClick(ben, card, "always_approve")
	w.send(ben, "always_approve")
	w.answer(thread, "R-2")
	w.settled(card, "Approved")
	if n := len(w.cards(thread)); n != 1 {
		t.Errorf("%d cards in the run, want 1", n)
	}
	again := w.mention("pay 5")
	w.card(again, 1)
	if n := len(w.effects.all()); n != 2 {
		t.Errorf("%d effects, want 2", n)
	}
}

// TestTwoClicks lets two people click at once: one decides, the other is told who did.
func TestTwoClicks(t *testing.T) {
	t.Parallel()
	w := newWorld(t, settings{})
	w.start()
	thread := w.mention("pay 9")
	card := w.card(thread, 1)
	var both sync.WaitGroup
	both.Go(func() { w.click(ben, card, "approve") })
	both.Go(func() { w.click(cleo, card, "approve") })
	both.Wait()
	w.answer(thread, "R-1")
	w.settled(card, "Approved")
	told := func() bool { return len(w.slack.Ephemerals(ben))+len(w.slack.Ephemerals(cleo)) > 0 }
	w.until("the loser to be told", told)
	for loser, winner := range map[string]string{ben: cleo, cleo: ben} {
		for _, m := range w.slack.Ephemerals(loser) {
			if !strings.Contains(m.Shown(), winner) {
				t.Errorf("the loser is told %q, and not that it was %s", m.Shown(), winner)
			}
		}
	}
	w.onlyEffect(`{"amount":9,"to":"acct"}`)
	out, _, _ := w.run("audit", "export")
	if n := strings.Count(out, `"decision.recorded"`); n != 1 {
		t.Errorf("%d decisions, want 1", n)
	}
}

// TestThreeTimes delivers a mention and a click three times.
func TestThreeTimes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, settings{})
	w.start()
	thread := w.mention("pay 9")
	card := w.card(thread, 1)
	events := w.slack.EventIDs("app_mention")
	for range 2 {
		if err := w.slack.Redeliver(events[0]); err != nil {
			t.Fatal(err)
		}
	}
	payload, err := w.slack.Payload(slackdev.Click{User: ben, Channel: general, TS: card.TS, ActionID: "approve"})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := w.slack.ClickRaw(w.ctx, payload); err != nil {
			t.Error(err)
		}
	}
	w.answer(thread, "R-1")
	w.settled(card, "Approved")
	w.onlyEffect(`{"amount":9,"to":"acct"}`)
	if n := len(w.cards(thread)); n != 1 {
		t.Errorf("%d cards, want 1", n)
	}
	if said := w.said(thread); len(said) != 1 {
		t.Errorf("the bot said %q, want one answer", said)
	}
}

// TestWhoMayDecide refuses the requester and the guest.
func TestWhoMayDecide(t *testing.T) {
	t.Parallel()
	w := newWorld(t, settings{})
	w.start()
	thread := w.mention("pay 9")
	card := w.card(thread, 1)
	for _, user := range []string{ann, gus} {
		w.mustClick(user, card, "approve")
		w.until(user+" to be refused", func() bool { return len(w.slack.Ephemerals(user)) > 0 })
	}
	w.noEffect()
	w.mustClick(ben, card, "approve") // the control
	w.answer(thread, "R-1")
}

// TestUnusable lets the model read what is wrong with its calls; nobody is asked and nothing runs.
func TestUnusable(t *testing.T) {
	t.Parallel()
	w := newWorld(t, settings{})
	w.start()
	for _, words := range []string{"pay twofold", "pay brokenly", "pay words", "use magic"} {
		thread := w.mention(words)
		w.answer(thread, "answer: [")
		if n := len(w.cards(thread)); n != 0 {
			t.Errorf("%s: %d cards", words, n)
		}
	}
	w.noEffect()
}

// TestModelError ends the run with words, and the program stays up.
func TestModelError(t *testing.T) {
	t.Parallel()
	w := newWorld(t, settings{faults: []openaidev.Fault{
		{Status: 400, Code: "invalid_request", Message: "no"},
		{}, // answered
		{Status: 500}, {Reset: true},
	}})
	bot := w.start()
	for _, words := range []string{"pay 3", "stumble"} {
		thread := w.mention(words)
		w.until("an apology for "+words, func() bool { return len(w.said(thread)) == 1 })
	}
	thread := w.mention("what time is it") // two faults that pass
	w.answer(thread, "Europe/Berlin")
	w.judged(bot)
}

// TestSlackTrouble spoils calls of Slack's API and the connection; everything arrives in the end.
func TestSlackTrouble(t *testing.T) {
	t.Parallel()
	w := newWorld(t, settings{hazards: true})
	bot := w.start()
	for _, f := range []slackdev.Fault{
		{Method: "chat.postMessage", RetryAfter: time.Second},
		{Method: "chat.postMessage", Status: 500},
		{Method: "chat.postMessage", Reset: true, AfterEffect: true},
		{Method: "chat.update", Status: 503},
	} {
		w.slack.Fail(f)
	}
	thread := w.mention("pay 12")
	card := w.card(thread, 1)
	w.slack.DropConnections()
	w.clickAgain(ben, card, "approve")
	w.answer(thread, "R-1")
	w.settled(card, "Approved")
	w.slack.Disconnect("refresh_requested")
	w.answer(w.mention("what time is it"), "Europe/Berlin")
	w.oneOfEach(thread, 1)
	w.judged(bot)
}

// TestExpiry tells the model that nobody answered.
func TestExpiry(t *testing.T) {
	t.Parallel()
	w := newWorld(t, settings{policy: "default_policy: { approvers: { channel_members: true }, expires_in: 1s }\n"})
	w.start()
	thread := w.mention("pay 12")
	card := w.card(thread, 1)
	w.settled(card, "Expired")
	w.answer(thread, "answer: [")
	w.noEffect()
}
