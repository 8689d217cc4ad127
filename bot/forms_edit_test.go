package bot

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"countersign/agent"
	"countersign/agent/scripted"
	"countersign/approvals"
	"countersign/internal/slackdev"
)

// TestEditedByFields: an input for each argument holds its value; a mistake is said at its input and keeps what was
// typed; the changed call is asked about anew, and runs as it was changed.
func TestEditedByFields(t *testing.T) {
	t.Parallel()
	w := newWorldUnder(t, demands(nil), scripted.Calls(scripted.Call("call_1", "transfer_funds",
		`{"amount":250,"memo":"Invoice 1042\nplease","to":"acme","urgent":false}`)),
		scripted.Say("Acme has its money."))
	thread := w.mention("U0ANN", "pay acme", "")
	card := w.card(thread, 1)
	form := w.opened("U0BEN", card, "edit_arguments")
	for _, want := range []string{
		`"initial_value":"250"`, `"initial_value":"acme"`, `"initial_value":"Invoice 1042\nplease"`,
		`"type":"number_input"`, `"type":"radio_buttons"`, `"text":"amount"`, `"text":"urgent"`,
	} {
		if !strings.Contains(string(form.Blocks), want) {
			t.Errorf("the form lacks %s: %s", want, form.Blocks)
		}
	}
	_, err := w.slack.Submit(w.ctx(), "U0BEN", form.ID, labelled(t, form, map[string]any{"amount": "much"}))
	if !errors.Is(err, slackdev.ErrInvalidInput) {
		t.Errorf("Slack takes no words for a number, but: %v", err)
	}
	answer := w.submits("U0BEN", "edit_arguments", nil)
	if words := errorsOf(answer); len(words) != 1 || !strings.Contains(words[0], "arguments that the call has") {
		t.Errorf("nothing was changed: %v", answer)
	}
	changed := map[string]any{"amount": "400", "urgent": "true", "to": "acme & <co>"}
	answer = w.submits("U0BEN", "edit_arguments", changed)
	if answer != nil {
		t.Fatalf("the form answers %v", answer)
	}
	again := w.card(thread, 2)
	w.shown(card, "Stale")
	if err := w.click("U0BEN", again, "approve"); err != nil {
		t.Fatal(err)
	}
	w.whispered("U0BEN", "You changed") // as the editor
	if err := w.click("U0CLEO", again, "approve"); err != nil {
		t.Fatal(err)
	}
	w.said(thread, "Acme has its money.")
	want := `{"amount":400,"memo":"Invoice 1042\nplease","to":"acme & <co>","urgent":true}`
	if got := w.bank.payments(); len(got) != 1 || got[0] != want {
		t.Errorf("payments: %v", got)
	}
}

func errorsOf(answer map[string]any) (words []string) {
	all, _ := answer["errors"].(map[string]any)
	for _, v := range all {
		words = append(words, v.(string))
	}
	return words
}

// TestEditedAsJSON: arguments that are not flat, or hold what cannot be seen, stand in one text. Secret values are not
// in it, and stay.
func TestEditedAsJSON(t *testing.T) {
	t.Parallel()
	tool := agent.Tool{
		Name: "order", Description: "Orders.", NeedsApproval: agent.AlwaysAsk, Secret: []string{"card"},
		Parameters: json.RawMessage(`{"type":"object","properties":{"card":{"type":"string"}}}`),
		Validate:   noMoreThanTwo,
	}
	b := &bank{}
	tool.Invoke = b.tool().Invoke
	w := startWorld(t, &world{policy: demands(nil), tools: []agent.Tool{tool}, script: script{
		scripted.Calls(scripted.Call("call_1", "order",
			`{"card":"canary-4711","items":[{"n":1}],"note":"a\u202eb"}`)), scripted.Say("Ordered."),
	}})
	thread := w.mention("U0ANN", "order one", "")
	form := w.opened("U0BEN", w.card(thread, 1), "edit_arguments")
	if strings.Contains(string(form.Blocks), "canary") || strings.Contains(string(form.Blocks), "\u202e") {
		t.Fatalf("the form holds what it must not: %s", form.Blocks)
	}
	if !strings.Contains(string(form.Blocks), `\\u202e`) {
		t.Errorf("what cannot be seen is not written out: %s", form.Blocks)
	}
	for typed, words := range map[string]string{
		`{"items": [`: "unexpected end of JSON input", `[1]`: "must be a JSON object", "": "unexpected end",
		`{"items":[{"n":3}]}`: "no more than two", `{"a":1,"a":2}`: "a",
	} {
		values := labelled(t, form, map[string]any{"Arguments as JSON": typed})
		_, err := w.slack.Submit(w.ctx(), "U0BEN", form.ID, values)
		if typed == "" && errors.Is(err, slackdev.ErrInvalidInput) {
			continue // Slack itself takes no empty input
		}
		answer := w.submits("U0BEN", "edit_arguments", map[string]any{"Arguments as JSON": typed})
		if got := errorsOf(answer); len(got) != 1 || !strings.Contains(got[0], words) {
			t.Errorf("%s: %v, %v", typed, answer, err)
		}
	}
	typed := `{"items":[{"n":2}],"note":"x"}`
	answer := w.submits("U0BEN", "edit_arguments", map[string]any{"Arguments as JSON": typed})
	if answer != nil {
		t.Fatalf("the form answers %v", answer)
	}
	if err := w.click("U0CLEO", w.card(thread, 2), "approve"); err != nil {
		t.Fatal(err)
	}
	w.said(thread, "Ordered.")
	if got := b.payments(); len(got) != 1 || got[0] != `{"card":"canary-4711","items":[{"n":2}],"note":"x"}` {
		t.Errorf("ordered: %v", got)
	}
	for _, call := range w.slack.Calls() {
		if raw, _ := json.Marshal(call.Args); strings.Contains(string(raw), "canary") {
			t.Errorf("%s was sent the secret", call.Method)
		}
	}
}

func noMoreThanTwo(raw json.RawMessage) error {
	if strings.Contains(string(raw), `"n":3`) {
		return errors.New("items: no more than two")
	}
	return nil
}

// TestSecretFieldsAreNotPrefilled: a secret argument has an empty input, and keeps its value while nothing is typed.
func TestSecretFieldsAreNotPrefilled(t *testing.T) {
	t.Parallel()
	r := transfer(`{"amount":1200,"memo":"canary-4711","pin":4711}`)
	r.Secret = []string{"memo", "pin"}
	v := formView(actEdit, r)
	raw, err := json.Marshal(v)
	if err != nil || strings.Contains(string(raw), "4711") {
		t.Fatalf("the form holds the secret: %s, %v", raw, err)
	}
	d, bad := readEdited(r, values{"field.0": {Value: "7"}})
	if bad != nil || string(d.Arguments) != `{"amount":7,"memo":"canary-4711","pin":4711}` {
		t.Errorf("kept: %s, %v", d.Arguments, bad)
	}
	d, bad = readEdited(r, values{"field.0": {Value: "7"}, "secret.1": {Value: "new"}, "secret.2": {Value: "12"}})
	if bad != nil || string(d.Arguments) != `{"amount":7,"memo":"new","pin":12}` {
		t.Errorf("changed: %s, %v", d.Arguments, bad)
	}
	if _, bad = readEdited(r, values{"field.0": {Value: "7"}, "secret.2": {Value: "x"}}); bad["secret.2"] == "" {
		t.Errorf("a number of letters is taken: %v", bad)
	}
	refilled(v.Blocks.BlockSet, values{"secret.1": {Value: "typed-canary"}, "field.0": {Value: "77"}})
	raw, _ = json.Marshal(v)
	if strings.Contains(string(raw), "typed-canary") || !strings.Contains(string(raw), `"77"`) {
		t.Errorf("what comes back is %s", raw)
	}
}

// TestTooLongToEdit says where arguments can be changed that do not fit into a form.
func TestTooLongToEdit(t *testing.T) {
	t.Parallel()
	r := transfer(`{"text":"` + strings.Repeat("x", 4000) + `"}`)
	if _, _, refuse := formAs(actEdit, r); !strings.Contains(refuse.fallback(), "--edit JSON") {
		t.Errorf("the person reads %q", refuse.fallback())
	}
	if _, _, refuse := formAs(actEdit, transfer(small)); refuse != nil {
		t.Errorf("control: %q", refuse.fallback())
	}
}

// TestRefusalBesideAnInput: what stands beside an input is no markup, so that nothing in it is escaped.
func TestRefusalBesideAnInput(t *testing.T) {
	t.Parallel()
	s, r := waitingCard(t, setUp{})
	if _, err := s.bot.Notify(s.ctx(), cardNotification(r)); err != nil {
		t.Fatal(err)
	}
	if err := s.click("U0BEN", s.cards(r)[0], "edit_arguments"); err != nil {
		t.Fatal(err)
	}
	s.service.fail = &approvals.Refusal{Fact: approvals.ErrInvalid, Why: `"to": "AT&T" is no <bank>`}
	answer := s.submits("U0BEN", "edit_arguments", map[string]any{"to": "AT&T"})
	if said := fmt.Sprint(answer["errors"]); !strings.Contains(said, `"AT&T" is no <bank>`) {
		t.Errorf("a refusal is said as %s", said)
	}
}

// TestRefusalStandsAtItsField: a refusal is said at the input that it is about, by its rule or, where a tool says it in
// its own words, by the name in them.
func TestRefusalStandsAtItsField(t *testing.T) {
	t.Parallel()
	form, _ := formOf(actEdit)
	r := editable(`{"amount":5,"memo":"a","to":"acme"}`)
	for _, c := range []struct {
		refused approvals.Refusal
		want    string
	}{
		{approvals.Refusal{Rule: approvals.RuleField, About: "memo"}, fieldBlock + "1"},
		{approvals.Refusal{Rule: approvals.RuleField, About: "to", Why: `"amount" is fine`}, fieldBlock + "2"},
		{approvals.Refusal{Why: `"amount" must be a number`}, fieldBlock + "0"},
		{approvals.Refusal{Why: "/to: too long"}, fieldBlock + "2"},
		{approvals.Refusal{Rule: approvals.RuleApprover, Why: `"amount" is named by chance`}, ""},
		{approvals.Refusal{}, ""},
	} {
		if got := form.at(r, &c.refused); got != c.want {
			t.Errorf("%+v is said at %q, want %q", c.refused, got, c.want)
		}
	}
}
