package bot

import (
	"encoding/json"
	"strings"
	"testing"

	"countersign/agent"
	"countersign/approvals"
)

// booking asks people for two values, one of which the model proposes.
func booking() *approvals.Request {
	r := transfer(`{"guests":2,"table":"t1"}`)
	r.Kind, r.Tool = agent.FieldsRequired, approvals.ToolSnapshot{Name: "book", Kind: agent.KindFunction}
	r.Fields = []approvals.InputField{
		{Name: "date", Type: "string", Required: true, Description: "When to come, <!channel> *or* not."},
		{Name: "guests", Type: "integer", Required: true, Proposal: json.RawMessage(`2`)},
		{Name: "where", Enum: []string{"inside", "out\u202eside"}},
	}
	return r
}

func filledIn(d approvals.Decision) approvals.Decision {
	d.Input = json.RawMessage(`{"date":"2026-12-01","memo":"<@U1>"}`)
	return d
}

// editedTransfer is a payment of which somebody has lowered the amount.
func editedTransfer() *approvals.Request {
	r := transfer(`{"amount":20,"memo":"invoice 17","to":"acme"}`)
	r.Original = json.RawMessage(`{"amount":1200,"memo":"invoice 17","to":"acme"}`)
	r.Supersedes, r.AskedDigest = "req_0", agent.Digest{7}
	r.Editors = []approvals.UserID{approvals.NewUserID("T1", "U0BEN")}
	before := r.Requirement
	before.Policy, before.Seats = "money", approvals.Quorum(2, approvals.Approvers{Groups: []string{"S0FINANCE"}})
	r.Inherited = []approvals.Requirement{before}
	return r
}

// shown is all that blocks say, as Slack is sent it.
func shown(t *testing.T, r *approvals.Request) string {
	t.Helper()
	raw, err := encodeBlocks(newCard(r).blocks)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// TestInputCard offers nothing that cannot answer the question, on card, list and details, and says what can.
func TestInputCard(t *testing.T) {
	t.Parallel()
	r := booking()
	for name, blocks := range map[string]any{
		"card": newCard(r).blocks, "list": listItem(r, true), "details": detailsView(r, 0, rights{decide: true}).Blocks,
	} {
		raw, err := json.Marshal(blocks)
		if err != nil {
			t.Fatal(err)
		}
		for _, wrong := range []action{actApprove, actAlwaysYes, actProvide, actMarkDone} {
			if strings.Contains(string(raw), `"action_id":"`+string(wrong)+`"`) {
				t.Errorf("%s offers %s", name, wrong)
			}
		}
		for _, want := range []string{
			`"action_id":"reject"`, `"action_id":"provide_input"`, "What the model proposes stands",
		} {
			if !strings.Contains(string(raw), want) {
				t.Errorf("%s lacks %s", name, want)
			}
		}
	}
	card := shown(t, r)
	for _, want := range []string{"date (string, required)", "proposed by the model: 2", `\\u{202E}`} {
		if !strings.Contains(card, want) {
			t.Errorf("the card lacks %s: %s", want, card)
		}
	}
	if strings.Contains(card, "mrkdwn") {
		t.Error("the card holds markup")
	}
	if control, _ := json.Marshal(newCard(transfer(`{"amount":1}`)).blocks); !strings.Contains(string(control),
		`"action_id":"approve"`) {
		t.Error("the control offers no approval")
	}
}

// TestEditedCard says who changed what, what else is demanded, and offers no answer for later calls.
func TestEditedCard(t *testing.T) {
	t.Parallel()
	r := editedTransfer()
	r.Requirement.Always = []approvals.Scope{approvals.ScopeRun}
	card := shown(t, r)
	for _, want := range []string{
		"1200 → 20", ", changed by ", "U0BEN", "S0FINANCE", "Also needs what it needed before", "req_0",
	} {
		if !strings.Contains(card, want) {
			t.Errorf("the card lacks %s: %s", want, card)
		}
	}
	if strings.Contains(card, string(actAlwaysYes)) {
		t.Error("the card offers an answer for later calls")
	}
	r.AskedDigest = agent.Digest{}
	if !strings.Contains(shown(t, r), string(actAlwaysYes)) {
		t.Error("the control offers none either")
	}
}
