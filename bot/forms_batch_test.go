package bot

import (
	"slices"
	"strings"
	"testing"

	"countersign/agent/scripted"
	"countersign/approvals"
	"countersign/internal/slackdev"
)

// fourWaiting is a world in which four calls of a run wait, of which the third is of high risk.
func fourWaiting(t *testing.T) (*world, string, []slackdev.Message) {
	t.Helper()
	p := demands(func(r *approvals.Request, q *approvals.Requirement) {
		if strings.Contains(string(r.Arguments), `"amount":3`) {
			q.Risk, q.Always = approvals.RiskHigh, nil
		}
	})
	w := newWorldUnder(t, p, scripted.Calls(
		scripted.Call("call_1", "transfer_funds", `{"amount":1,"to":"acme"}`),
		scripted.Call("call_2", "transfer_funds", `{"amount":2,"to":"acme"}`),
		scripted.Call("call_3", "transfer_funds", `{"amount":3,"to":"acme"}`),
		scripted.Call("call_4", "transfer_funds", `{"amount":4,"to":"acme"}`),
	), scripted.Say("Done."))
	thread := w.mention("U0ANN", "pay them", "")
	var cards []slackdev.Message
	for i := range 4 {
		cards = append(cards, w.card(thread, i+1))
	}
	return w, thread, cards
}

// TestApproveTogether: the window shows each call that it covers, whole, and those of high risk are not among them.
// What was decided meanwhile is said, and the others are approved.
func TestApproveTogether(t *testing.T) {
	t.Parallel()
	w, _, cards := fourWaiting(t)
	if slices.Contains(cards[2].Actions(), "approve_all") {
		t.Error("a card of high risk offers to approve others with it")
	}
	form := w.opened("U0BEN", cards[0], "approve_all")
	shown := form.Shown()
	for _, words := range []string{"amount  1\nto  acme", "amount  2\nto  acme", "amount  4\nto  acme"} {
		if !strings.Contains(shown, words) {
			t.Errorf("the window lacks %s: %s", words, shown)
		}
	}
	if strings.Contains(shown, "amount  3") || form.SubmitLabel != "Approve 3" {
		t.Errorf("the window covers the call of high risk: %q: %s", form.SubmitLabel, shown)
	}
	if got := w.bank.payments(); len(got) != 0 {
		t.Fatalf("ran before anybody approved: %v", got)
	}
	if err := w.click("U0CLEO", cards[1], "reject"); err != nil {
		t.Fatal(err)
	}
	w.shown(cards[1], "Rejected by @U0CLEO")
	answer := w.submits("U0BEN", "approve_all", nil)
	if answer["response_action"] != "update" {
		t.Fatalf("the window answers %v", answer)
	}
	said := w.modalOf("U0BEN", viewWords).Shown()
	if strings.Count(said, "Recorded: approved") != 2 || !strings.Contains(said, "Rejected by <@U0CLEO>") {
		t.Errorf("the window says %s", said)
	}
	w.eventually("two payments", func() bool { return len(w.bank.payments()) == 2 })
	w.shown(cards[0], "Approved by @U0BEN")
	w.shown(cards[3], "Approved by @U0BEN")
	if !slices.Contains(w.now(cards[2]).Actions(), "approve") {
		t.Error("the call of high risk was decided")
	}
}

// TestRejectTogether rejects with a reason for all of them.
func TestRejectTogether(t *testing.T) {
	t.Parallel()
	w, _, cards := fourWaiting(t)
	w.opened("U0BEN", cards[3], "reject_all")
	w.submits("U0BEN", "reject_all", map[string]any{"Why not?": "the budget is spent"})
	for _, i := range []int{0, 1, 3} {
		w.shown(cards[i], "Rejected by @U0BEN", "the budget is spent")
	}
	if got := w.bank.payments(); len(got) != 0 {
		t.Errorf("payments: %v", got)
	}
}

// TestTogetherIsForThoseWhoMayDecide: the window covers nothing for somebody who may decide nothing.
func TestTogetherIsForThoseWhoMayDecide(t *testing.T) {
	t.Parallel()
	w, _, cards := fourWaiting(t)
	if err := w.click("U0ANN", cards[0], "approve_all"); err != nil {
		t.Fatal(err)
	}
	w.eventually("the requester is told", func() bool {
		said := w.modalOf("U0ANN", viewWords).Shown()
		return strings.Contains(said, "None of these calls can be answered here") &&
			strings.Contains(said, "You asked for this")
	})
}
