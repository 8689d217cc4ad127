package bot

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"countersign/agent"
	"countersign/agent/scripted"
	"countersign/approvals"
	"countersign/internal/slackdev"
)

// TestDetailsCompareForThoseWhoMaySee: the call before was made in a private channel, where Ben is not.
func TestDetailsCompareForThoseWhoMaySee(t *testing.T) {
	t.Parallel()
	w := newWorld(t,
		scripted.Calls(scripted.Call("call_1", "transfer_funds", `{"amount":4711,"to":"acme"}`)), scripted.Say("Paid."),
		pay("call_2"), scripted.Say("Paid again."))
	w.slack.SetChannel(slackdev.Channel{
		ID: "C0SECRET", Name: "secret", Private: true, BotMember: true, Members: []string{"U0ANN", "U0CLEO"},
	})
	first, err := w.slack.Post(w.ctx(), "U0ANN", "C0SECRET", "<@U0BOT> pay acme", "")
	if err != nil {
		t.Fatal(err)
	}
	var card slackdev.Message
	w.eventually("the card in the private channel", func() bool {
		for _, m := range w.slack.Thread("C0SECRET", first) {
			if slices.Contains(m.Actions(), "approve") {
				card = m
			}
		}
		return card.TS != ""
	})
	if err := w.click("U0CLEO", card, "approve"); err != nil {
		t.Fatal(err)
	}
	w.eventually("it has ended", func() bool {
		all := w.slack.Thread("C0SECRET", first)
		return strings.Contains(all[len(all)-1].Text, "Paid.")
	})
	second := w.card(w.mention("U0ANN", "pay acme again", ""), 1)
	for user, sees := range map[string]bool{"U0BEN": false, "U0CLEO": true} {
		if err := w.click(user, second, "show_details"); err != nil {
			t.Fatal(err)
		}
		shown := texts(t, w.modalOf(user, viewDetails).Blocks)
		if strings.Contains(shown, "Last approved") != sees {
			t.Errorf("%s reads %s", user, shown)
		}
	}
}

// TestDetailsCompareWithTheLastApprovedCall: the details say how the call differs from the one of its tool that people
// approved last, in another run too, with secret values masked.
func TestDetailsCompareWithTheLastApprovedCall(t *testing.T) {
	t.Parallel()
	b := &bank{}
	tool := b.tool()
	tool.Name, tool.Secret = "wire", []string{"pin"}
	tool.Parameters = json.RawMessage(`{"type":"object","properties":{"amount":{},"memo":{},"pin":{},"to":{}}}`)
	pays := func(id, arguments string) scripted.Step { return scripted.Calls(scripted.Call(id, "wire", arguments)) }
	w := newWorldOf(t, []agent.Tool{tool},
		pays("call_1", `{"amount":250,"pin":"canary-1","to":"acme"}`), scripted.Say("Paid."),
		pays("call_2", `{"amount":1200,"memo":"again","pin":"canary-2","to":"acme"}`), scripted.Say("Paid again."))
	first := w.mention("U0ANN", "pay acme", "")
	card := w.card(first, 1)
	if err := w.click("U0BEN", card, "show_details"); err != nil {
		t.Fatal(err)
	}
	if shown := texts(t, w.modalOf("U0BEN", viewDetails).Blocks); strings.Contains(shown, "Last approved") {
		t.Errorf("there was none before: %s", shown)
	}
	if err := w.click("U0CLEO", card, "approve"); err != nil {
		t.Fatal(err)
	}
	w.said(first, "Paid.")
	w.mention("U0ANN", "pay acme again", first)
	card = w.card(first, 2)
	if err := w.click("U0CLEO", card, "show_details"); err != nil {
		t.Fatal(err)
	}
	shown := texts(t, w.modalOf("U0CLEO", viewDetails).Blocks)
	for _, words := range []string{
		"Last approved call of this tool: @U0CLEO", "amount  250 → 1200", `memo  (nothing) → "again"`,
		"pin  ••• (8 characters) → ••• (8 characters)",
	} {
		if !strings.Contains(shown, words) {
			t.Errorf("the details lack %q: %s", words, shown)
		}
	}
	if strings.Contains(shown, "canary") || strings.Contains(shown, "to  ") {
		t.Errorf("the details say too much: %s", shown)
	}
}

// TestDetailsCompareBriefly: many changes are counted, none are said to be none, and what is settled is compared with
// nothing.
func TestDetailsCompareBriefly(t *testing.T) {
	t.Parallel()
	r := transfer(small)
	r.Before = &approvals.Precedent{Request: &transfer(small).RequestHead}
	said := func() string {
		raw, err := json.Marshal(precedentBlocks(r))
		if err != nil {
			t.Fatal(err)
		}
		return texts(t, raw)
	}
	if got := said(); !strings.Contains(got, wordsHadSameArguments) {
		t.Errorf("without a change: %s", got)
	}
	for i := range mostChanges + 3 {
		r.Before.Changes = append(r.Before.Changes, approvals.Change{Name: fmt.Sprintf("a%02d", i),
			Was: json.RawMessage(`1`), Is: json.RawMessage(`2`)})
	}
	got := said()
	if strings.Contains(got, wordsHadSameArguments) || strings.Count(got, "1 → 2") != mostChanges ||
		!strings.Contains(got, wordsMoreArgumentsDiffer(3)) {
		t.Errorf("with %d changes: %s", mostChanges+3, got)
	}
	b := &Bot{} // which would be asked
	settled := transfer(small)
	settled.Status = approvals.RequestApproved
	b.compare(t.Context(), settled, user("U0BEN"))
	if settled.Before != nil {
		t.Errorf("a settled call is compared with %+v", settled.Before)
	}
}
