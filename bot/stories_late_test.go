package bot

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"countersign/agent"
	"countersign/agent/scripted"
	"countersign/approvals"
)

// TestTooLateIsNotAnswered: whoever answers what nobody has answered reads that it ended, how, and that nothing was
// recorded; not that somebody had answered. The control is what somebody has.
func TestTooLateIsNotAnswered(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		request *approvals.Request
		change  func(*approvals.Request)
		says    string
	}{
		"an expired question": {wonder(nil), func(r *approvals.Request) { r.Status = approvals.RequestExpired },
			"This answer came too late and was not recorded. Expired: ask_team, "},
		"an expired call": {transfer(`{}`), func(r *approvals.Request) {
			r.Status, r.Outcome = approvals.RequestExpired, approvals.OutcomeNotRun
		}, "This answer came too late and was not recorded. Expired: transfer_funds, "},
		"an unknown outcome": {transfer(`{}`), func(r *approvals.Request) {
			r.Kind, r.Status, r.Outcome = agent.OutcomeUnknown, approvals.RequestExpired, approvals.OutcomeUnknown
		}, "This answer came too late and was not recorded. Expired: transfer_funds, "},
		"a stale call": {transfer(`{}`), func(r *approvals.Request) { r.Status = approvals.RequestStale },
			"This answer came too late and was not recorded. Stale: transfer_funds, "},
		"the control": {wonder(nil), func(r *approvals.Request) {
			r.Status = approvals.RequestApproved
			r.Decisions = []approvals.Decision{{By: user("U0BEN"), Verdict: approvals.Answer}}
		}, "Already answered. Answered by "},
	} {
		c.request.Settled = c.request.Created.Add(time.Hour)
		c.change(c.request)
		if got := outcomeFor(c.request).fallback(); !strings.HasPrefix(got, c.says) {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestLateClickOnWhatWasCancelled: a press on a card whose run was cancelled meanwhile is no press after a decision.
func TestLateClickOnWhatWasCancelled(t *testing.T) {
	t.Parallel()
	w := newWorld(t, pay("call_1"), scripted.Say("Done."))
	thread := w.mention("U0ANN", "pay acme", "")
	card := w.card(thread, 1)
	press, ok := card.Press("U0BEN", "approve")
	if !ok {
		t.Fatal("nothing to press")
	}
	late, err := w.slack.Payload(press)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.engine.CancelRun(w.ctx(), testWorkspace, w.request(thread, 1).Run, user("U0ANN"), ""); err != nil {
		t.Fatal(err)
	}
	w.shown(card, "Cancelled by @U0ANN")
	if err := w.slack.ClickRaw(w.ctx(), late); err != nil {
		t.Fatal(err)
	}
	w.whispered("U0BEN", "This answer came too late and was not recorded. Cancelled by ")
}

// TestLateFormNamesTheLastQuestion: while Ben writes why he rejects a call, it is changed twice. He reads which request
// asks about it now, and not the one between, which nobody can answer either.
func TestLateFormNamesTheLastQuestion(t *testing.T) {
	t.Parallel()
	policy := reached(nil)
	policy.who.Users = usersOf("U0BEN", "U0CLEO", "U0DAN")
	w := newOffice(t, policy, pay("call_1"), scripted.Say("Done."))
	thread := w.mention("U0ANN", "pay acme", "")
	card := w.card(thread, 1)
	if err := w.click("U0BEN", card, "reject_with_reason"); err != nil {
		t.Fatal(err)
	}
	form := w.modalOf("U0BEN", "reject_with_reason")
	press, _ := card.Press("U0BEN", "approve")
	late, err := w.slack.Payload(press)
	if err != nil {
		t.Fatal(err)
	}
	for i, by := range []string{"U0DAN", "U0CLEO"} {
		r := w.request(thread, i+1)
		if _, err := w.engine.Decide(w.ctx(), approvals.Decision{
			Workspace: testWorkspace, Request: r.ID, By: user(by), Verdict: approvals.Edit, Digest: r.Digest,
			Arguments: fmt.Appendf(nil, `{"amount":%d,"to":"acme"}`, 400-i), Via: "cli",
		}); err != nil {
			t.Fatal(err)
		}
		w.card(thread, i+2)
	}
	if _, err := w.slack.Submit(w.ctx(), "U0BEN", form.ID, reasoned("no")); err != nil {
		t.Fatal(err)
	}
	said := w.modalOf("U0BEN", viewWords).Shown()
	between, last := requestOf(t, w.card(thread, 2)), requestOf(t, w.card(thread, 3))
	if !strings.Contains(said, last+" has taken the place") || strings.Contains(said, between) {
		t.Errorf("of %s and %s Ben reads %s", between, last, said)
	}
	if err := w.slack.ClickRaw(w.ctx(), late); err != nil {
		t.Fatal(err)
	}
	w.hears("U0BEN", last+" has taken the place")
}
