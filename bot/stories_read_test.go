package bot

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"countersign/agent"
	"countersign/agent/scripted"
	"countersign/approvals"
	"countersign/internal/slackdev"
)

// Each of these reads what everybody is shown of one story: in the thread, in the approvals channel, in a direct
// message, and in the text that notifications and screen readers have.

// payTwice has two payments wait at once.
func payTwice() scripted.Step {
	return scripted.Calls(
		scripted.Call("call_1", "transfer_funds", `{"to":"acme","amount":10}`),
		scripted.Call("call_2", "transfer_funds", `{"to":"globex","amount":20}`))
}

// reached is an office in which Ben decides in the channel and Dan by a card of his own, and #approvals has one too.
func reached(tune func(*approvals.Requirement)) namedPolicy {
	return namedPolicy{
		who: approvals.Approvers{Users: usersOf("U0BEN", "U0DAN")}, notify: approvals.Notify{Channel: "C0APPROVE"},
		tune: tune,
	}
}

// everyCopy returns all messages that show the request of the card, as they stand.
func (w *world) everyCopy(card slackdev.Message) (all []slackdev.Message) {
	w.t.Helper()
	id := requestOf(w.t, card)
	for _, channel := range []string{card.Channel, "C0APPROVE", w.slack.DM("U0DAN")} {
		for _, m := range w.cardsIn(channel) {
			if m.Metadata.EventPayload["request"] == id {
				all = append(all, m)
			}
		}
	}
	return all
}

// pointsNowhere fails where a message sends its reader up or down, where what it means may not be.
func (w *world) pointsNowhere(all []slackdev.Message) {
	w.t.Helper()
	for _, m := range all {
		for _, word := range []string{"above", "below"} {
			if said := texts(w.t, m.Blocks) + m.Text; strings.Contains(said, word) {
				w.t.Errorf("in %s: %s", m.Channel, said)
			}
		}
	}
}

// TestStandingAnswerIsNamedWhereverItIsRead: Ben answers always on the second card, which settles the first one too.
// Nobody is sent up from there, and nobody reads, or hears, that Ben has pressed the button of the first.
func TestStandingAnswerIsNamedWhereverItIsRead(t *testing.T) {
	t.Parallel()
	w := newOffice(t, reached(nil), payTwice(), scripted.Say("Both are paid."))
	thread := w.mention("U0ANN", "pay both", "")
	first, second := w.card(thread, 1), w.card(thread, 2)
	w.copyIn("C0APPROVE")
	w.copyIn(w.slack.DM("U0DAN"))
	w.always("U0BEN", second, "always_approve", "run")
	w.said(thread, "Both are paid.")
	for _, m := range w.everyCopy(first) {
		w.settledAt(m, "ran")
	}
	w.pointsNowhere(w.everyCopy(first))
	const whose = "’s “always”"
	for _, m := range w.everyCopy(first) {
		if !strings.Contains(m.Text, whose) || !strings.Contains(texts(t, m.Blocks), whose) {
			t.Errorf("in %s: %q, %q", m.Channel, m.Text, texts(t, m.Blocks))
		}
	}
	if said := texts(t, w.command("U0ANN", "history").Blocks); !strings.Contains(said, whose) {
		t.Errorf("the history says %s", said)
	}
}

// TestChangedCallIsFoundFromEveryCopy: Dan changes a call, and may not decide about the new one. What he reads on his
// card is true though no other card follows there, and stays so once that call is decided.
func TestChangedCallIsFoundFromEveryCopy(t *testing.T) {
	t.Parallel()
	w := newOffice(t, reached(nil), pay("call_1"), scripted.Say("Done."))
	thread := w.mention("U0ANN", "pay acme", "")
	card := w.card(thread, 1)
	w.copyIn("C0APPROVE")
	w.copyIn(w.slack.DM("U0DAN"))
	r := w.pendingFor("U0DAN")[0]
	if _, err := w.engine.Decide(w.ctx(), approvals.Decision{
		Workspace: testWorkspace, Request: r.ID, By: user("U0DAN"), Verdict: approvals.Edit, Digest: r.Digest,
		Arguments: json.RawMessage(`{"amount":400,"to":"acme"}`), Via: "cli",
	}); err != nil {
		t.Fatal(err)
	}
	next := w.card(thread, 2)
	if err := w.click("U0BEN", next, "approve"); err != nil {
		t.Fatal(err)
	}
	w.said(thread, "Done.")
	id := requestOf(t, next)
	for _, m := range w.everyCopy(card) {
		w.shown(m, "Stale", id)
	}
	all := w.everyCopy(card)
	w.pointsNowhere(all)
	for _, m := range all {
		said := texts(t, m.Blocks)
		if strings.Contains(said, "is asked now") || !strings.Contains(m.Text, "Stale") {
			t.Errorf("in %s: %q, %q", m.Channel, m.Text, said)
		}
	}
	if len(all) != 3 {
		t.Errorf("%d messages", len(all))
	}
}

// faltering is a tool that is not heard of the first time, and answers from then on.
func faltering() agent.Tool {
	var begun atomic.Int32
	tool := silent()
	lost := tool.Invoke
	tool.Invoke = func(ctx context.Context, call *agent.ToolCall) (agent.ToolOutput, error) {
		if begun.Add(1) == 1 {
			return lost(ctx, call)
		}
		return agent.ToolOutput{Text: "sent"}, nil
	}
	return tool
}

// TestTriedAgainIsNoSecondRun: nobody knows whether a call happened, and it is tried again, which works. The card of
// its approval does not say that it ran and no more: that was the second try, and of the first nothing is known.
func TestTriedAgainIsNoSecondRun(t *testing.T) {
	t.Parallel()
	w := newOfficeOf(t, &world{
		policy: reached(nil), tools: []agent.Tool{faltering()},
		script: script{scripted.Calls(scripted.Call("call_1", "wire", `{"amount":5}`)), scripted.Say("Wired.")},
	})
	thread := w.mention("U0ANN", "wire five", "")
	card := w.card(thread, 1)
	w.copyIn("C0APPROVE")
	w.copyIn(w.slack.DM("U0DAN"))
	if err := w.click("U0BEN", card, "approve"); err != nil {
		t.Fatal(err)
	}
	question := w.card(thread, 2)
	for _, m := range w.everyCopy(card) {
		w.shown(m, "unknown whether it ran")
	}
	w.pointsNowhere(w.everyCopy(card))
	if err := w.click("U0BEN", question, "retry"); err != nil {
		t.Fatal(err)
	}
	w.said(thread, "Wired.")
	w.shown(question, "to run again", " · ran ", "not:unknown")
	for _, m := range w.everyCopy(card) {
		w.shown(m, " · ran ", "when tried again; unknown whether it ran before")
		m, _ = w.slack.Message(m.Channel, m.TS)
		if !strings.Contains(m.Text, "another try") || !strings.Contains(m.Text, "unknown whether it ran before") {
			t.Errorf("in %s the text is %q", m.Channel, m.Text)
		}
	}
	if said := texts(t, w.command("U0ANN", "history").Blocks); !strings.Contains(said, "ran when tried again") {
		t.Errorf("the history says %s", said)
	}
}

// twoForMuch demands two people for calls with a large amount.
type twoForMuch struct{ namedPolicy }

func (p twoForMuch) Requirement(
	ctx context.Context, r *approvals.Request, known approvals.PolicyFacts,
) (approvals.Requirement, error) {
	if strings.Contains(string(r.Arguments), "globex") {
		p.quorum = 2
	}
	return p.namedPolicy.Requirement(ctx, r, known)
}

// TestOverruledAlwaysIsNotInForce: Ben approves all payments of the run, which does not do for the one that needs two.
// He and Cleo reject all of them with that one. The first card does not go on saying that they are approved.
func TestOverruledAlwaysIsNotInForce(t *testing.T) {
	t.Parallel()
	policy := reached(func(q *approvals.Requirement) { q.DenyQuorum = len(q.Seats) })
	policy.who.Users = usersOf("U0BEN", "U0CLEO", "U0DAN")
	w := newOfficeOf(t, &world{policy: twoForMuch{policy}, script: script{payTwice(), scripted.Say("One is paid.")}})
	thread := w.mention("U0ANN", "pay both", "")
	first, second := w.card(thread, 1), w.card(thread, 2)
	w.copyIn("C0APPROVE")
	w.copyIn(w.slack.DM("U0DAN"))
	w.always("U0BEN", first, "always_approve", "run")
	for _, m := range w.everyCopy(first) {
		w.shown(m, "always, until this run ends")
	}
	w.always("U0BEN", second, "always_reject", "run")
	w.always("U0CLEO", second, "always_reject", "run")
	w.said(thread, "One is paid.")
	for _, m := range w.everyCopy(first) {
		w.shown(m, "always, until a later answer took its place", "not:until this run ends")
	}
	w.shown(second, "Rejected by @U0BEN and @U0CLEO", "always, until this run ends")
}

// TestAlwaysOfTooFewIsExplained: two of two people have to reject, Ben rejects all payments, and with that nobody can
// approve this one. His answer is for this call alone, and nobody has set other conditions; his earlier one holds on,
// so that later calls do not ask again.
func TestAlwaysOfTooFewIsExplained(t *testing.T) {
	t.Parallel()
	w := newOfficeOf(t, &world{
		policy: twoForMuch{reached(func(q *approvals.Requirement) { q.DenyQuorum = len(q.Seats) })},
		script: script{payTwice(), scripted.Say("One is paid.")},
	})
	thread := w.mention("U0ANN", "pay both", "")
	first, second := w.card(thread, 1), w.card(thread, 2)
	w.always("U0BEN", first, "always_approve", "run")
	w.shown(first, "always, until this run ends")
	w.always("U0BEN", second, "always_reject", "run")
	w.said(thread, "One is paid.")
	w.shown(second, "For this call alone: @U0BEN answered always, and too few did for that",
		"not:conditions", "not:Later calls")
	w.shown(first, "always, until this run ends")
}

// TestRevokedGrantIsNotInForce: the card of an answer that gave a grant says what was done then, which is so also after
// the grant has been revoked, or its time is over.
func TestRevokedGrantIsNotInForce(t *testing.T) {
	t.Parallel()
	w := newOffice(t, reached(func(q *approvals.Requirement) {
		q.MaxTTL, q.Always = time.Hour, []approvals.Scope{approvals.ScopeThread}
	}), pay("call_1"), scripted.Say("Done."))
	thread := w.mention("U0ANN", "pay acme", "")
	card := w.card(thread, 1)
	w.copyIn("C0APPROVE")
	w.copyIn(w.slack.DM("U0DAN"))
	w.always("U0BEN", card, "always_approve", "thread")
	w.said(thread, "Done.")
	grants, _, err := w.engine.GrantsFor(w.ctx(), user("U0BEN"), 10)
	if err != nil || len(grants) != 1 {
		t.Fatalf("grants %+v, %v", grants, err)
	}
	w.command("U0BEN", "revoke "+string(grants[0].ID))
	for _, m := range w.everyCopy(card) {
		w.shown(m, "Approved by @U0BEN", "giving a grant for later calls", "not:later calls by a grant")
	}
}
