package bot

import (
	"encoding/json"
	"strings"
	"testing"

	"countersign/agent"
	"countersign/approvals"
	"countersign/internal/slackdev"
)

const secretValue = "canary-4711"

// secretTransfer is a transfer with a secret memo.
func secretTransfer() *approvals.Request {
	r := transfer(`{"amount":1200,"memo":"` + secretValue + `","to":"••• (11 characters)"}`)
	r.Secret = []string{"memo"}
	r.Explanation = []string{"writes " + secretValue}
	return r
}

// encodedCard is everything of a card that Slack is sent.
func encodedCard(t *testing.T, c card) string {
	t.Helper()
	raw, err := json.Marshal(c.blocks)
	if err != nil {
		t.Fatal(err)
	}
	return c.text.fallback() + string(raw)
}

// TestSecretsAreNotOnCards: no state of a card, list or notice holds a secret value, which stands unquoted as a mask,
// apart from a value that looks like one.
func TestSecretsAreNotOnCards(t *testing.T) {
	t.Parallel()
	change := func(edit func(r *approvals.Request)) *approvals.Request {
		r := secretTransfer()
		edit(r)
		return r
	}
	for name, r := range map[string]*approvals.Request{
		"pending":  secretTransfer(),
		"unknown":  change(func(r *approvals.Request) { r.Kind = agent.OutcomeUnknown }),
		"result":   change(func(r *approvals.Request) { r.Kind = agent.ExternalResult }),
		"approved": change(func(r *approvals.Request) { r.Status = approvals.RequestApproved }),
		"stale":    change(func(r *approvals.Request) { r.Status = approvals.RequestStale }),
		"edited": change(func(r *approvals.Request) {
			r.Original = json.RawMessage(`{"amount":1,"memo":"` + secretValue + `2","to":"x"}`)
		}),
		"to fill in": change(func(r *approvals.Request) {
			r.Kind = agent.FieldsRequired
			r.Fields = []approvals.InputField{
				{Name: "memo", Proposal: json.RawMessage(`"` + secretValue + `"`), Secret: true},
			}
		}),
		"filled in": change(func(r *approvals.Request) {
			r.Kind, r.Status = agent.FieldsRequired, approvals.RequestApproved
			r.Decisions = []approvals.Decision{{By: user("U0BEN"), Verdict: approvals.ProvideInput,
				Input: json.RawMessage(`{"memo":"` + secretValue + `"}`)}}
		}),
		"reported": change(func(r *approvals.Request) {
			r.Kind, r.Status = agent.ExternalResult, approvals.RequestApproved
			r.Decisions = []approvals.Decision{{By: user("callback"), Verdict: approvals.ProvideResult,
				Via: approvals.ViaCallback, Reason: "paid for " + secretValue}}
		}),
		"large": change(func(r *approvals.Request) {
			long := strings.Repeat("all work ", 2000)
			r.Arguments = json.RawMessage(`{"memo":"` + secretValue + `","text":"` + long + `"}`)
		}),
	} {
		list, err := json.Marshal(listItem(r, true))
		if err != nil {
			t.Fatal(err)
		}
		details, err := json.Marshal(detailsView(r, 0, rights{decide: true}))
		if err != nil {
			t.Fatal(err)
		}
		card := encodedCard(t, newCard(r))
		for place, text := range map[string]string{
			"card": card, "list": string(list), "details": string(details), "notice": headline(r),
		} {
			if strings.Contains(text, secretValue) {
				t.Errorf("%s: the %s holds the value: %s", name, place, text)
			}
		}
		says := strings.Contains(card, "Secret, and not shown: ") && strings.Contains(card, "•••")
		if r.Status == approvals.RequestPending && !says {
			t.Errorf("%s: the card does not say that something is not shown: %s", name, card)
		}
		open := *r
		open.Secret = nil
		if r.Status == approvals.RequestPending && !strings.Contains(encodedCard(t, newCard(&open)), secretValue) {
			t.Errorf("%s: control: the value is not on a card without secrets", name)
		}
	}
	const want = `{"amount":1200,"memo":••• (11 characters),"to":"••• (11 characters)"}`
	details := detailsView(secretTransfer(), 0, rights{}).Blocks.BlockSet
	if got := boxes(decoded(t, details), wordsArguments); got != want {
		t.Errorf("the details show %s", got)
	}
}

// TestSecretsAreRevealed: somebody who may decide is shown the values in a window of theirs, page by page, and approves
// there what is of high risk; others are told why not.
func TestSecretsAreRevealed(t *testing.T) {
	t.Parallel()
	s := newStage(t, setUp{})
	r := secretTransfer()
	r.Requirement.Risk = approvals.RiskHigh
	r.Arguments = json.RawMessage(`{"memo":"` + secretValue + `","text":"` + strings.Repeat("all work ", 4000) + `"}`)
	card := s.show(r)
	if _, ok := card.Button("approve"); ok {
		t.Error("a card of high risk offers to approve what it does not show")
	}
	press := func(user string, view slackdev.View, action string) {
		t.Helper()
		if err := s.slack.Click(s.ctx(), slackdev.Click{User: user, ViewID: view.ID, ActionID: action}); err != nil {
			t.Fatal(err)
		}
	}
	shows := func(user, words string) (found slackdev.View) {
		t.Helper()
		s.eventually(words, func() bool {
			for _, v := range s.slack.Views(user) {
				if strings.Contains(texts(t, v.Blocks), words) {
					found = v
					return true
				}
			}
			return false
		})
		return found
	}
	if err := s.click("U0ANN", card, "show_details"); err != nil { // asked for it, and may not decide
		t.Fatal(err)
	}
	view := shows("U0ANN", "Secret, and not shown")
	if strings.Contains(string(view.Blocks), string(actReveal)) {
		t.Error("values are offered to somebody who may not decide")
	}
	if err := s.click("U0BEN", card, "show_details"); err != nil {
		t.Fatal(err)
	}
	view = shows("U0BEN", "Secret, and not shown")
	if strings.Contains(string(view.Blocks), secretValue) || strings.Contains(string(view.Blocks), `"approve"`) {
		t.Errorf("before they are revealed: %s", view.Blocks)
	}
	press("U0BEN", view, string(actReveal))
	view = shows("U0BEN", secretValue)
	for strings.Contains(string(view.Blocks), string(actDetailsNext)) {
		n, _ := readNote(view.PrivateMetadata)
		press("U0BEN", view, string(actDetailsNext))
		s.eventually("the next page", func() bool {
			view = s.modalOf("U0BEN", viewDetails)
			next, _ := readNote(view.PrivateMetadata)
			return next.Page == n.Page+1 && next.Revealed
		})
	}
	press("U0BEN", view, "approve")
	s.eventually("approved", func() bool { return s.service.get(r.ID).Status == approvals.RequestApproved })
	s.service.mu.Lock()
	defer s.service.mu.Unlock()
	for _, in := range s.service.revealed {
		if in.By != user("U0BEN") || in.Via != "modal" || in.Request != r.ID {
			t.Errorf("revealed %+v", in)
		}
	}
	if len(s.service.revealed) < 2 {
		t.Errorf("%d pages were asked for", len(s.service.revealed))
	}
}

// TestNotRevealedToWhoHasAnswered: somebody whose answer counts while others are waited for is told so, and not that
// all is decided.
func TestNotRevealedToWhoHasAnswered(t *testing.T) {
	t.Parallel()
	s := newStage(t, setUp{})
	r := secretTransfer()
	r.Requirement.Seats = approvals.Quorum(2, approvals.Approvers{ChannelMembers: true})
	r.Decisions = []approvals.Decision{{By: user("U0BEN"), Verdict: approvals.Approve, At: r.Created}}
	if err := s.click("U0BEN", s.show(r), "show_details"); err != nil {
		t.Fatal(err)
	}
	said := ""
	press := func(action, words string) {
		t.Helper()
		s.eventually(words, func() bool {
			for _, v := range s.slack.Views("U0BEN") {
				if said = texts(t, v.Blocks); action != "" && strings.Contains(string(v.Blocks), action) {
					return s.slack.Click(s.ctx(), slackdev.Click{User: "U0BEN", ViewID: v.ID, ActionID: action}) == nil
				}
				if action == "" && strings.Contains(said, words) {
					return true
				}
			}
			return false
		})
	}
	press(string(actReveal), "the button")
	press("", "Your answer is recorded already")
	if strings.Contains(said, "decided already") || strings.Contains(said, secretValue) {
		t.Errorf("told: %s", said)
	}
}
