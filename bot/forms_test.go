package bot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slack-go/slack"

	"countersign/agent"
	"countersign/agent/scripted"
	"countersign/approvals"
	"countersign/internal/slackdev"
)

// demands is a policy that asks the members of the channel, not the requester, and changes that.
type demands func(r *approvals.Request, q *approvals.Requirement)

func (d demands) Requirement(
	ctx context.Context, r *approvals.Request, known approvals.PolicyFacts,
) (approvals.Requirement, error) {
	q, err := everybody{}.Requirement(ctx, r, known)
	q.SelfApproval = false
	if d != nil {
		d(r, &q)
	}
	return q, err
}

// opened presses the action and returns the form.
func (w *world) opened(user string, card slackdev.Message, action string) slackdev.View {
	w.t.Helper()
	if err := w.click(user, card, action); err != nil {
		w.t.Fatal(err)
	}
	return w.modalOf(user, action)
}

// now returns a message as it is.
func (s *stage) now(m slackdev.Message) slackdev.Message {
	now, _ := s.slack.Message(m.Channel, m.TS)
	return now
}

// TestWhatStandsOpen: of a card's actions those that people press most are buttons, the others lines of one menu.
func TestWhatStandsOpen(t *testing.T) {
	t.Parallel()
	question := wonder([]string{"blue", "red"})
	several := wonder([]string{"a", "b", "c", "d", "e"})
	external, fields, unknown := deploy(), booking(), transfer(small)
	external.Callbacks = true
	unknown.Kind = agent.OutcomeUnknown
	together, risky := transfer(small), transfer(small)
	together.Beside = []approvals.RequestID{"req_2", "req_3"}
	risky.Requirement.Risk, risky.Requirement.Always = approvals.RiskHigh, nil
	risky.Beside = together.Beside
	large := transfer(`{"text":"` + strings.Repeat("all work and no play ", 3200) + `"}`)
	for name, tt := range map[string]struct {
		r          *approvals.Request
		open, more string
	}{
		"a call": {transfer(small), "approve reject show_details",
			"reject_with_reason always_approve always_reject edit_arguments cancel_run"},
		"a call among others": {together, "approve reject show_details approve_all reject_all",
			"reject_with_reason always_approve always_reject edit_arguments cancel_run"},
		"a call of high risk": {risky, "approve reject show_details",
			"reject_with_reason edit_arguments cancel_run"},
		"a call that is not shown whole": {large, "reject show_details",
			"reject_with_reason always_reject edit_arguments cancel_run"},
		"a call outside": {external, "provide_result reject show_details",
			"reject_with_reason show_callback cancel_run"},
		"missing values":   {fields, "provide_input reject show_details", "reject_with_reason cancel_run"},
		"an unknown end":   {unknown, "mark_done retry give_up show_details cancel_run", ""},
		"a question":       {question, "option_0 option_1 reject show_details", "reject_with_reason cancel_run"},
		"a large question": {several, "provide_input reject show_details", "reject_with_reason cancel_run"},
	} {
		var open, more []string
		for _, row := range cardButtons(tt.r, newCard(tt.r).whole) {
			for _, act := range actionNames(t, row) {
				if line, ok := strings.CutPrefix(act, "more/"); ok {
					more = append(more, line)
				} else {
					open = append(open, act)
				}
			}
		}
		if got := strings.Join(open, " "); got != tt.open {
			t.Errorf("%s: open stand %q, want %q", name, got, tt.open)
		}
		if got := strings.Join(more, " "); got != tt.more {
			t.Errorf("%s: the menu has %q, want %q", name, got, tt.more)
		}
	}
}

// TestEveryActionIsHandled: whatever a card, a list or the details offer can be pressed.
func TestEveryActionIsHandled(t *testing.T) {
	t.Parallel()
	for _, a := range []action{
		"approve", "reject", "always_approve", "always_reject", "reject_with_reason", "edit_arguments", "show_details",
		"details_next", "details_prev", "provide_input", "provide_result", "approve_all", "reject_all", "mark_done",
		"retry", "give_up", "cancel_run", "show_callback", "comment", "ask_back", "answer_back", "option_0", "option_3",
	} {
		direct, _, _ := actionOf(pressed{ActionID: string(a), Value: "req_1"})
		menu := pressed{ActionID: "more"}
		menu.Selected.Value = string(a) + ":req_1"
		chosen, request, _ := actionOf(menu)
		if _, ok := handlers[direct]; !ok {
			t.Errorf("%s is not handled", a)
		}
		if !strings.HasPrefix(string(a), "option_") && (chosen != direct || request != "req_1") {
			t.Errorf("%s in the menu is %s of %s", a, chosen, request)
		}
	}
	for _, bad := range []string{"option_", "option_x", "option_-1", "option_01", "more"} {
		if act, _, _ := actionOf(pressed{ActionID: bad}); handlers[act] != nil {
			t.Errorf("control: %q is handled as %s", bad, act)
		}
	}
}

// TestButtonsOfEarlierVersions: what stood open on cards then decides as it did, at once.
func TestButtonsOfEarlierVersions(t *testing.T) {
	t.Parallel()
	for name, verdict := range map[string]approvals.Verdict{
		"always_approve": approvals.AlwaysApprove, "always_reject": approvals.AlwaysReject,
	} {
		s := newStage(t, setUp{})
		r := transfer(small)
		card := s.show(r)
		p, err := s.slack.Payload(slackdev.Click{User: "U0BEN", Channel: card.Channel, TS: card.TS, ActionID: "reject"})
		if err != nil {
			t.Fatal(err)
		}
		p["actions"].([]any)[0].(map[string]any)["action_id"] = name
		if err := s.slack.ClickRaw(s.ctx(), p); err != nil {
			t.Fatal(err)
		}
		got := s.service.get(r.ID).Decisions
		if len(got) != 1 || got[0].Verdict != verdict || got[0].Grant != nil {
			t.Errorf("%s: decisions %+v", name, got)
		}
	}
}

// TestAWindowOpensBeforeTheStore: a trigger lives three seconds, so a window opens while the store is still asked.
func TestAWindowOpensBeforeTheStore(t *testing.T) {
	t.Parallel()
	for _, act := range []string{
		"reject_with_reason", "always_approve", "edit_arguments", "cancel_run", "approve_all", "show_details",
	} {
		s := newStage(t, setUp{})
		r := transfer(small)
		r.Beside = []approvals.RequestID{r.ID}
		card := s.show(r)
		release := make(chan struct{})
		s.service.read = func() { <-release }
		if err := s.click("U0BEN", card, act); err != nil {
			t.Fatal(err)
		}
		s.eventually(act+" opens a window that says to wait", func() bool {
			views := s.slack.Views("U0BEN")
			return len(views) == 1 && strings.Contains(views[0].Shown(), "One moment")
		})
		close(release)
		s.eventually(act+" fills it", func() bool {
			views := s.slack.Views("U0BEN")
			return len(views) == 1 && !strings.Contains(views[0].Shown(), "One moment")
		})
	}
}

// TestWhatWasTypedComesBack: recording a form took longer than Slack waits and then failed. The form is there again,
// with the words that were typed.
func TestWhatWasTypedComesBack(t *testing.T) {
	t.Parallel()
	s := newStage(t, setUp{})
	r := transfer(small)
	card := s.show(r)
	release := make(chan struct{})
	s.service.hold = func(string) { <-release }
	if err := s.click("U0BEN", card, "reject_with_reason"); err != nil {
		t.Fatal(err)
	}
	s.modalOf("U0BEN", "reject_with_reason")
	answer := s.submits("U0BEN", "reject_with_reason", map[string]any{"Why not?": "my long explanation"})
	if answer["response_action"] != "update" {
		t.Fatalf("the form answers %v", answer)
	}
	s.service.mu.Lock()
	s.service.fail = fmt.Errorf("%w: later", approvals.ErrUnavailable)
	s.service.mu.Unlock()
	close(release)
	again := s.modalOf("U0BEN", "reject_with_reason")
	if !strings.Contains(string(again.Blocks), `"initial_value":"my long explanation"`) ||
		!strings.Contains(texts(t, again.Blocks), "Not confirmed yet") {
		t.Errorf("the form holds %s", again.Blocks)
	}
	s.service.mu.Lock()
	s.service.fail = nil
	s.service.mu.Unlock()
	if answer := s.submits("U0BEN", "reject_with_reason", nil); answer != nil {
		t.Fatalf("the second time it answers %v", answer)
	}
	if got := s.service.get(r.ID).Decisions; len(got) != 1 || got[0].Reason != "my long explanation" {
		t.Errorf("decisions: %+v", got)
	}
}

// TestReadyMadeReasons rejects with a ready-made reason, alone and with words.
func TestReadyMadeReasons(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]string{"": "Not now", "wait for Cleo": "Not now: wait for Cleo"} {
		s := newStage(t, setUp{})
		r := transfer(small)
		card := s.show(r)
		if err := s.click("U0BEN", card, "reject_with_reason"); err != nil {
			t.Fatal(err)
		}
		s.modalOf("U0BEN", "reject_with_reason")
		values := map[string]any{"A ready-made": "Not now", "Why not?": typed}
		if answer := s.submits("U0BEN", "reject_with_reason", values); answer != nil {
			t.Fatalf("the form answers %v", answer)
		}
		if got := s.service.get(r.ID).Decisions; len(got) != 1 || got[0].Reason != want {
			t.Errorf("decisions: %+v, want %q", got, want)
		}
	}
}

// TestHighRiskIsRepeated: one press approves no call of high risk; the window that opens repeats all of it, and
// approves.
func TestHighRiskIsRepeated(t *testing.T) {
	t.Parallel()
	p := demands(func(_ *approvals.Request, q *approvals.Requirement) { q.Risk, q.Always = approvals.RiskHigh, nil })
	w := newWorldUnder(t, p, pay("call_1"), scripted.Say("Acme has its money."))
	thread := w.mention("U0ANN", "pay acme", "")
	card := w.card(thread, 1)
	form := w.opened("U0BEN", card, "approve")
	if shown := texts(t, form.Blocks); !strings.Contains(shown, "amount  1200\nto  acme") ||
		!strings.Contains(shown, "High risk") {
		t.Errorf("the window shows %s", shown)
	}
	if got := w.bank.payments(); len(got) != 0 || !slices.Contains(w.now(card).Actions(), "approve") {
		t.Fatalf("one press approved: %v", got)
	}
	if answer := w.submits("U0BEN", "approve", nil); answer != nil {
		t.Fatalf("the form answers %v", answer)
	}
	w.said(thread, "Acme has its money.")
	if got := w.bank.payments(); len(got) != 1 {
		t.Errorf("payments: %v", got)
	}
}

// TestApproveWithAComment has the words stand on the card.
func TestApproveWithAComment(t *testing.T) {
	t.Parallel()
	w := newWorldUnder(t, demands(nil), pay("call_1"), scripted.Say("Acme has its money."))
	thread := w.mention("U0ANN", "pay acme", "")
	card := w.card(thread, 1)
	if err := w.click("U0BEN", card, "show_details"); err != nil {
		t.Fatal(err)
	}
	if err := w.clickIn("U0BEN", w.modalOf("U0BEN", viewDetails), "comment"); err != nil {
		t.Fatal(err)
	}
	w.modalOf("U0BEN", "comment")
	answer := w.submits("U0BEN", "comment", map[string]any{"Your comment": " "})
	if answer["response_action"] != "errors" {
		t.Errorf("no comment: %v", answer)
	}
	if answer := w.submits("U0BEN", "comment", map[string]any{"Your comment": "Checked with Cleo."}); answer != nil {
		t.Fatalf("the form answers %v", answer)
	}
	w.said(thread, "Acme has its money.")
	w.shown(card, "Checked with Cleo.", "Approved by @U0BEN")
}

// TestAlwaysAsksHowFar: the form says in words what is allowed, until when, and which waiting calls it answers; the
// grant has the scope that was chosen.
func TestAlwaysAsksHowFar(t *testing.T) {
	t.Parallel()
	p := demands(func(_ *approvals.Request, q *approvals.Requirement) {
		q.MaxTTL = 2 * time.Hour
		q.Always = []approvals.Scope{approvals.ScopeChannel, approvals.ScopeRun, approvals.ScopeThread}
	})
	w := newWorldUnder(t, p, scripted.Calls(
		scripted.Call("call_1", "transfer_funds", `{"to":"acme","amount":1}`),
		scripted.Call("call_2", "transfer_funds", `{"to":"globex","amount":2}`),
	), scripted.Say("Both are paid."))
	thread := w.mention("U0ANN", "pay both", "")
	first := w.card(thread, 1)
	w.card(thread, 2)
	form := w.opened("U0BEN", first, "always_approve")
	shown := texts(t, form.Blocks) + strings.ReplaceAll(string(form.Blocks), `\"`, `"`)
	for _, words := range []string{
		"every later call of transfer_funds by the agent ops, as far as you choose below", "amount 2, to globex",
		"1 call that waits now", "Until this run ends", "For 2 h at most, for all runs in this channel",
		"amount  1\nto  acme",
	} {
		if !strings.Contains(shown, words) {
			t.Errorf("the form lacks %q: %s", words, shown)
		}
	}
	var scopes []string
	for _, v := range []string{"run", "thread", "channel", "workspace"} {
		if strings.Contains(string(form.Blocks), `"value":"`+v+`"`) {
			scopes = append(scopes, v)
		}
	}
	if got := strings.Join(scopes, " "); got != "run thread channel" {
		t.Errorf("the scopes are %s", got)
	}
	if answer := w.submits("U0BEN", "always_approve", map[string]any{"How far": "channel"}); answer != nil {
		t.Fatalf("the form answers %v", answer)
	}
	w.said(thread, "Both are paid.")
	grants, _, err := w.engine.GrantsFor(w.ctx(), user("U0BEN"), 10)
	if err != nil || len(grants) != 1 || grants[0].Scope != approvals.ScopeChannel || grants[0].Deny {
		t.Errorf("grants %+v, %v", grants, err)
	}
	if got := w.bank.payments(); len(got) != 2 {
		t.Errorf("payments: %v", got)
	}
}

// TestAFormIsJudgedWhenItIsSent: who may decide no more when the form is sent is told, and nothing is recorded.
func TestAFormIsJudgedWhenItIsSent(t *testing.T) {
	t.Parallel()
	w := newWorldUnder(t, rule{ofAGroup, 1}, pay("call_1"), scripted.Say("Done."))
	w.slack.SetUserGroup(finance("U0BEN", "U0CLEO"))
	thread := w.mention("U0ANN", "pay acme", "")
	card := w.card(thread, 1)
	form := w.opened("U0BEN", card, "always_reject")
	w.slack.SetUserGroup(finance("U0CLEO"))
	answer, err := w.slack.Submit(w.ctx(), "U0BEN", form.ID, nil)
	if err != nil || answer["response_action"] != "update" {
		t.Fatalf("the form answers %v, %v", answer, err)
	}
	if got := w.modalOf("U0BEN", viewWords).Shown(); !strings.Contains(got, "You cannot decide") {
		t.Errorf("the person reads %q", got)
	}
	if !slices.Contains(w.now(card).Actions(), "approve") {
		t.Error("something was decided")
	}
}

// TestCallbackIsShownToWhoMayProvide: the address and a token stand in a window of somebody who may provide the result,
// and nowhere else.
func TestCallbackIsShownToWhoMayProvide(t *testing.T) {
	t.Parallel()
	w := startWorld(t, &world{
		policy: demands(nil), tools: []agent.Tool{deployment()}, public: "https://bot.example",
		script: script{scripted.Calls(scripted.Call("call_1", "deploy", `{"ref":"v2"}`)), scripted.Say("It runs v2.")},
	})
	thread := w.mention("U0ANN", "deploy", "")
	card := w.card(thread, 1)
	token := func(user string) string {
		if err := w.click(user, card, "show_callback"); err != nil {
			t.Fatal(err)
		}
		shown := w.modalOf(user, viewCallback).Shown()
		_, rest, ok := strings.Cut(shown, "Authorization: Bearer ")
		if !ok || !strings.Contains(shown, "https://bot.example/callbacks/req_") {
			t.Fatalf("the window shows %q", shown)
		}
		return strings.Fields(rest)[0]
	}
	first := token("U0BEN")
	if err := w.click("U0GUS", card, "show_callback"); err != nil {
		t.Fatal(err)
	}
	w.eventually("the guest is refused", func() bool {
		return strings.Contains(texts(t, w.modalOf("U0GUS", viewWords).Blocks), "Guests cannot decide")
	})
	second := token("U0CLEO")
	if first == second {
		t.Error("the same token twice")
	}
	id := approvals.RequestID(requestOf(t, card))
	provide := func(token string) error {
		_, err := w.engine.ProvideResult(w.ctx(), approvals.CallbackResult{
			Workspace: testWorkspace, Request: id, Token: token, Result: "v2",
		})
		return err
	}
	if err := provide(first); err == nil {
		t.Error("the token that was replaced opens the request")
	}
	if err := provide(second); err != nil {
		t.Errorf("the token opens nothing: %v", err)
	}
	w.said(thread, "It runs v2.")
	for _, m := range w.slack.Thread("C0GENERAL", thread) {
		if strings.Contains(string(m.Blocks)+m.Text, second) {
			t.Error("the token stands in the thread")
		}
	}
	if errors.Is(provide(second), nil) {
		t.Error("the token is good twice")
	}
}

// actionNames lists what a row offers, the lines of a menu behind "more/".
func actionNames(t *testing.T, row []slack.BlockElement) (names []string) {
	t.Helper()
	for _, e := range row {
		switch e := e.(type) {
		case *slack.ButtonBlockElement:
			names = append(names, e.ActionID)
		case *slack.OverflowBlockElement:
			for _, line := range e.Options {
				name, _, _ := strings.Cut(line.Value, ":")
				names = append(names, e.ActionID+"/"+name)
			}
		default:
			t.Fatalf("an element of type %T", e)
		}
	}
	return names
}

// TestCancellingSaysWhatItDoesNotUndo: nobody cancels a run in the belief that a call that has begun is stopped by it,
// or that one that has run is undone.
func TestCancellingSaysWhatItDoesNotUndo(t *testing.T) {
	t.Parallel()
	shown := whole(t, formView(actCancelRun, transfer(small)).Blocks)
	for _, words := range []string{"What has run stays done", "a call that has begun may still finish"} {
		if !strings.Contains(shown, words) {
			t.Errorf("the form does not say %q: %s", words, shown)
		}
	}
}
