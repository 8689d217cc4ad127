package bot

import (
	"encoding/json"
	"strings"
	"testing"

	"countersign/agent"
	"countersign/agent/scripted"
	"countersign/approvals"
	"countersign/internal/slackdev"
)

// deployment is a tool that somebody outside carries out.
func deployment() agent.Tool {
	return agent.Tool{
		Name: "deploy", Description: "Deployed by the pipeline.", Kind: agent.KindExternal, External: true,
		Parameters: json.RawMessage(`{"type":"object"}`), Validate: func(json.RawMessage) error { return nil },
	}
}

func deployWorld(t *testing.T) (*world, string) {
	w := newWorldOf(t, []agent.Tool{deployment()},
		scripted.Calls(scripted.Call("call_1", "deploy", `{"ref":"v2.4.1"}`)), scripted.Say("The shop runs v2.4.1."))
	return w, w.mention("U0ANN", "deploy the shop", "")
}

// provide fills in the form that the button opened.
func (w *world) provide(user, text string) map[string]any {
	w.t.Helper()
	form := w.modalOf(user, "provide_result")
	answer, err := w.slack.Submit(w.ctx(), user, form.ID, reasoned(text))
	if err != nil {
		w.t.Fatal(err)
	}
	return answer
}

func ids(m slackdev.Message) string {
	return strings.Join(m.Actions(), " ")
}

// TestResultIsProvidedInAForm takes the result from an approver, tells the model, and the late what came of it.
func TestResultIsProvidedInAForm(t *testing.T) {
	t.Parallel()
	w, thread := deployWorld(t)
	card := w.card(thread, 1)
	if got, want := ids(card), "provide_result reject show_details reject_with_reason cancel_run"; got != want {
		t.Errorf("the card has the buttons %s, want %s", got, want)
	}
	shown := texts(t, card.Blocks)
	if !strings.Contains(shown, "Result needed: deploy") || !strings.Contains(shown, "ref  v2.4.1") {
		t.Errorf("the card shows %s", shown)
	}
	if !strings.HasPrefix(card.Text, "A result is needed: deploy") || strings.Contains(card.Text, "v2.4.1") {
		t.Errorf("the fallback text is %q", card.Text)
	}
	m := w.command("U0BEN", "all")
	shown = texts(t, m.Blocks)
	if !strings.Contains(shown, "deploy") || !strings.Contains(shown, "pending, needs its result from") ||
		strings.Contains(ids(m), "approve") {
		t.Errorf("the list shows %s with %s", shown, ids(m))
	}

	for _, user := range []string{"U0GUS", "U0BEN", "U0CLEO"} {
		if err := w.click(user, card, "provide_result"); err != nil {
			t.Fatal(err)
		}
	}
	w.eventually("the guest is refused", func() bool {
		for _, v := range w.slack.Views("U0GUS") {
			if strings.Contains(texts(t, v.Blocks), "cannot decide") {
				return true
			}
		}
		return false
	})
	w.modalOf("U0BEN", "provide_result")
	w.modalOf("U0CLEO", "provide_result") // before Ben answers: nobody gets a form for what is answered
	if answer := w.provide("U0BEN", "   "); answer["response_action"] != "errors" {
		t.Errorf("a result of nothing was answered with %v", answer)
	}
	if answer := w.provide("U0BEN", "Build 4711.\nAll green."); answer["response_action"] != nil {
		t.Errorf("the result was answered with %v", answer)
	}
	w.said(thread, "The shop runs v2.4.1.")
	w.eventually("the card shows the result", func() bool {
		m, _ := w.slack.Message(card.Channel, card.TS)
		shown := texts(t, m.Blocks)
		return !decidable(m) && strings.Contains(shown, "result provided") &&
			strings.Contains(shown, "Approved by @U0BEN") &&
			strings.Contains(shown, "Build 4711. All green.")
	})
	late := w.provide("U0CLEO", "Build 4712.")
	raw, err := json.Marshal(late)
	if err != nil {
		t.Fatal(err)
	}
	if late["response_action"] != "update" || !strings.Contains(string(raw), "Already answered.") {
		t.Errorf("the late are told %s", raw)
	}
	again, _ := w.slack.Message(card.Channel, card.TS)
	if strings.Contains(texts(t, again.Blocks), "4712") {
		t.Error("the late result is on the card")
	}
}

// TestResultIsRejected ends the wait without a result.
func TestResultIsRejected(t *testing.T) {
	t.Parallel()
	w, thread := deployWorld(t)
	card := w.card(thread, 1)
	if err := w.click("U0BEN", card, "reject"); err != nil {
		t.Fatal(err)
	}
	w.said(thread, "The shop runs v2.4.1.") // the script says so whatever it is told
	w.eventually("the card shows the rejection", func() bool {
		m, _ := w.slack.Message(card.Channel, card.TS)
		return !decidable(m) && strings.Contains(texts(t, m.Blocks), "Rejected by @U0BEN")
	})
}

// TestForgedApprovalOfAResult gives an answer that the card of such a question never offers.
func TestForgedApprovalOfAResult(t *testing.T) {
	t.Parallel()
	w, thread := deployWorld(t)
	card := w.card(thread, 1)
	button, _ := card.Button("reject")
	id, ok := parseRequestID(button.Value)
	if !ok {
		t.Fatalf("button %+v", button)
	}
	r, err := w.bot.service.Request(w.ctx(), testWorkspace, id)
	if err != nil {
		t.Fatal(err)
	}
	d := approvals.Decision{
		ID: "dec_1", Workspace: testWorkspace, Request: id, Digest: r.Digest,
		By: user("U0BEN"), Verdict: approvals.Approve, Via: "button",
	}
	after, err := w.bot.service.DecideOn(w.ctx(), nil, d)
	words, known := refusedDecision(err, after, d.By)
	if !known || !strings.Contains(words.fallback(), "does not fit this request") {
		t.Errorf("%v: the person is told %q", err, words)
	}
	after, err = w.bot.service.Request(w.ctx(), testWorkspace, id)
	if err != nil || after.Status != approvals.RequestPending {
		t.Errorf("afterwards: %v, %v", after, err)
	}
}

// TestQuestionOfTomorrow offers no answer to a kind of question that this version does not know.
func TestQuestionOfTomorrow(t *testing.T) {
	t.Parallel()
	r := transfer(small)
	r.Kind = "riddle"
	for where, blocks := range map[string][]seenBlock{
		"card": decoded(t, newCard(r).blocks), "list": decoded(t, listItem(r, true)),
		"details": decoded(t, detailsView(r, 0, rights{decide: true, cancel: true}).Blocks.BlockSet),
	} {
		for act := range actions(blocks) {
			if act != "show_details" && act != "cancel_run" && act != "ask_back" {
				t.Errorf("%s: offers %s", where, act)
			}
		}
		for _, block := range blocks {
			if elements, _ := block["elements"].([]any); block["type"] == "actions" && len(elements) == 0 {
				t.Errorf("%s: a row without buttons, which Slack refuses", where)
			}
		}
	}
}
