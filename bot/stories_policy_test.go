package bot

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"countersign/agent/scripted"
	"countersign/approvals"
	"countersign/internal/slackdev"
)

// changing is a policy that an operator replaces while calls wait.
type changing struct {
	mu  sync.Mutex
	now approvals.Policy
}

func (p *changing) Requirement(
	ctx context.Context, r *approvals.Request, known approvals.PolicyFacts,
) (approvals.Requirement, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.now.Requirement(ctx, r, known)
}

func (p *changing) become(next approvals.Policy) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now = next
}

// underName is a rule under a name, in which the requester does not decide.
type underName struct {
	rule
	name string
}

func (p underName) Requirement(
	ctx context.Context, r *approvals.Request, known approvals.PolicyFacts,
) (approvals.Requirement, error) {
	q, err := p.rule.Requirement(ctx, r, known)
	q.Policy, q.SelfApproval = p.name, false
	return q, err
}

// shown waits until the message, as it stands, holds all the words, and none of those that begin with "not:".
func (s *stage) shown(m slackdev.Message, words ...string) {
	s.t.Helper()
	var last string
	s.eventually("the message says "+strings.Join(words, " … "), func() bool {
		now, _ := s.slack.Message(m.Channel, m.TS)
		last = texts(s.t, now.Blocks)
		for _, w := range words {
			without, negated := strings.CutPrefix(w, "not:")
			if strings.Contains(last, without) == negated {
				return false
			}
		}
		return true
	})
}

// TestPolicyThatBecameStricterIsSaid: a card waits for one member of the channel, and an operator asks for two of the
// finance group from now on. Whoever presses is told so, and the card says who is needed.
func TestPolicyThatBecameStricterIsSaid(t *testing.T) {
	t.Parallel()
	p := &changing{now: underName{rule{ofTheChannel, 1}, "default_policy"}}
	w := newWorldUnder(t, p, pay("call_1"), scripted.Say("Acme has its money."))
	w.slack.SetUserGroup(finance("U0BEN", "U0CLEO"))
	thread := w.mention("U0ANN", "pay acme", "")
	card := w.card(thread, 1)
	w.shown(card, "Needs 1 of the members of #C0GENERAL", "not:policy has changed")

	p.become(underName{rule{ofAGroup, 2}, "money"})
	if err := w.click("U0BEN", card, "approve"); err != nil {
		t.Fatal(err)
	}
	w.whispered("U0BEN", "The policy has changed since this was asked: "+
		"it now needs 2 of <!subteam^S0FINANCE>, not ")
	w.shown(card, "The policy has changed since this was asked", "2 of ", "@U0BEN approved",
		"Needs 1 more of ")
	if got := w.bank.payments(); len(got) != 0 {
		t.Fatalf("paid with one answer of two: %v", got)
	}
	if err := w.click("U0CLEO", card, "approve"); err != nil {
		t.Fatal(err)
	}
	w.said(thread, "Acme has its money.")
}

// TestRefusalUnderAStricterPolicySaysWhoDecidesNow: Ben could decide when the card was posted. He is refused in the
// words of the policy as it is now, and the card, to which no answer was added, says who is asked now.
func TestRefusalUnderAStricterPolicySaysWhoDecidesNow(t *testing.T) {
	t.Parallel()
	p := &changing{now: underName{rule{ofTheChannel, 1}, "default_policy"}}
	w := newWorldUnder(t, p, pay("call_1"), scripted.Say("Acme has its money."))
	w.slack.SetUserGroup(finance("U0CLEO"))
	thread := w.mention("U0ANN", "pay acme", "")
	card := w.card(thread, 1)
	p.become(underName{rule{ofAGroup, 1}, "money"})
	if err := w.click("U0BEN", card, "approve"); err != nil {
		t.Fatal(err)
	}
	w.whispered("U0BEN", "it now needs 1 of <!subteam^S0FINANCE>, not ")
	w.shown(card, "The policy has changed since this was asked", "not:approved")
	if err := w.click("U0CLEO", card, "approve"); err != nil {
		t.Fatal(err)
	}
	w.said(thread, "Acme has its money.")
}

// TestVoteThatCountsNoLongerIsSaid: Ben has approved when the policy stops asking him.
func TestVoteThatCountsNoLongerIsSaid(t *testing.T) {
	t.Parallel()
	p := &changing{now: underName{rule{ofTheChannel, 2}, "default_policy"}}
	w := newWorldUnder(t, p, pay("call_1"), scripted.Say("Acme has its money."))
	w.slack.SetUserGroup(finance("U0CLEO", "U0ANN"))
	thread := w.mention("U0ANN", "pay acme", "")
	card := w.card(thread, 1)
	if err := w.click("U0BEN", card, "approve"); err != nil {
		t.Fatal(err)
	}
	w.shown(card, "Needs 1 more of the members of #C0GENERAL", "(1 of 2: @U0BEN approved ")
	if err := w.click("U0BEN", card, "approve"); err != nil {
		t.Fatal(err)
	}
	w.whispered("U0BEN", "Your answer is recorded already: approved")
	w.whispered("U0BEN", "Needs 1 more of the members of a channel")
	p.become(underName{rule{ofAGroup, 2}, "money"})
	if err := w.click("U0BEN", card, "approve"); err != nil {
		t.Fatal(err)
	}
	w.shown(card, "and may not approve any more: it will not count", "2 of ")
}

// TestAlwaysOfTwo: with two people asked, the first one's always settles nothing. The dialogs and the card say what
// becomes of it, and a plain approval that drops it says so before and after.
func TestAlwaysOfTwo(t *testing.T) {
	t.Parallel()
	p := underName{rule{ofTheChannel, 2}, "two"}
	w := newWorldUnder(t, p, scripted.Calls(
		scripted.Call("call_1", "transfer_funds", `{"to":"acme","amount":1}`),
		scripted.Call("call_2", "transfer_funds", `{"to":"acme","amount":2}`),
	), scripted.Say("Done."))
	thread := w.mention("U0ANN", "pay acme twice", "")
	first, second := w.card(thread, 1), w.card(thread, 2)
	before := confirmationOf(t, w, first, "always_approve")
	if !strings.Contains(before, "1 more person answers always too") || strings.Contains(before, "It also answers") {
		t.Errorf("before the first of two: %s", before)
	}
	if got := confirmationOf(t, w, first, "approve"); got != "" {
		t.Errorf("approving asks back before anybody answered: %s", got)
	}
	w.always("U0BEN", first, "always_approve", "run")
	w.shown(first, "@U0BEN approved ", ", always; ", "only if everybody")
	w.shown(second, "not:approved")
	got := confirmationOf(t, w, first, "always_approve")
	if !strings.Contains(got, "It also answers 1 call that waits now") {
		t.Errorf("before the last of two: %s", got)
	}
	if got := confirmationOf(t, w, first, "approve"); !strings.Contains(got, "this call alone") {
		t.Errorf("before the approval that drops the always: %q", got)
	}
	if err := w.click("U0CLEO", first, "approve"); err != nil {
		t.Fatal(err)
	}
	w.shown(first, "Approved by @U0BEN and @U0CLEO", "For this call alone: @U0BEN answered always",
		"not:always, until this run ends")
	w.shown(second, "Needs 2 of ")
	got = confirmationOf(t, w, second, "always_approve")
	if !strings.Contains(got, "1 more person answers always too") {
		t.Errorf("on the other card: %s", got)
	}
	if err := w.click("U0BEN", second, "approve"); err != nil {
		t.Fatal(err)
	}
	w.always("U0CLEO", second, "always_approve", "run")
	w.said(thread, "Done.")
	w.shown(second, "For this call alone: @U0CLEO answered always", "not:always, until this run ends")
}

// confirmationOf returns what is asked back before the action: by the button itself, or by the form that the menu
// opens.
func confirmationOf(t *testing.T, w *world, card slackdev.Message, action string) string {
	t.Helper()
	m, _ := w.slack.Message(card.Channel, card.TS)
	c, found := m.Press("U0CLEO", action)
	if !found {
		t.Fatalf("no %s on %s", action, m.Blocks)
	}
	if c.ActionID != action { // of the menu
		if err := w.slack.Click(w.ctx(), c); err != nil {
			t.Fatal(err)
		}
		form := w.modalOf("U0CLEO", action)
		if err := w.slack.CloseView(w.ctx(), "U0CLEO", form.ID, true); err != nil {
			t.Fatal(err)
		}
		return texts(t, form.Blocks)
	}
	for _, b := range decodedBlocks(t, m.Blocks) {
		elements, _ := b["elements"].([]any)
		for _, e := range elements {
			b, _ := e.(map[string]any)
			if dialog, ok := b["confirm"].(map[string]any); ok && b["action_id"] == action {
				return dialog["text"].(map[string]any)["text"].(string)
			}
		}
	}
	return ""
}

func decodedBlocks(t *testing.T, raw json.RawMessage) []seenBlock {
	t.Helper()
	var blocks []seenBlock
	if err := json.Unmarshal(raw, &blocks); err != nil {
		t.Fatal(err)
	}
	return blocks
}

// TestEarlierAnswerThatDidNotCount: Ben has approved, left the channel, and come back to approve once more. The card
// does not say of one and the same Ben that he approved and that his answer did not count.
func TestEarlierAnswerThatDidNotCount(t *testing.T) {
	t.Parallel()
	w := newWorldUnder(t, underName{rule{ofTheChannel, 2}, "two"}, pay("call_1"), scripted.Say("Paid."))
	thread := w.mention("U0ANN", "pay acme", "")
	card := w.card(thread, 1)
	approve := func(user string) {
		t.Helper()
		if err := w.click(user, card, "approve"); err != nil {
			t.Fatal(err)
		}
	}
	approve("U0BEN")
	w.shown(card, "@U0BEN approved")
	if err := w.slack.Leave("C0GENERAL", "U0BEN"); err != nil {
		t.Fatal(err)
	}
	approve("U0CLEO")
	w.shown(card, "counts no longer")
	if err := w.slack.Join("C0GENERAL", "U0BEN"); err != nil {
		t.Fatal(err)
	}
	approve("U0BEN")
	w.said(thread, "Paid.")
	w.shown(card, "Approved by @U0CLEO and @U0BEN", "An earlier answer of @U0BEN did not count: ",
		"not:The answer of @U0BEN")
}
