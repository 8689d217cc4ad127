package bot

import (
	"strings"
	"testing"
	"time"

	"countersign/agent/scripted"
	"countersign/approvals"
)

// alwaysWorld has two payments to acme wait, of which the policy lets grants last two hours.
func alwaysWorld(t *testing.T) (w *world, thread string) {
	t.Helper()
	p := demands(func(_ *approvals.Request, q *approvals.Requirement) {
		q.MaxTTL = 2 * time.Hour
		q.Always = []approvals.Scope{approvals.ScopeRun, approvals.ScopeThread}
	})
	w = newWorldUnder(t, p, scripted.Calls(
		scripted.Call("call_1", "transfer_funds", `{"to":"acme","amount":10}`),
		scripted.Call("call_2", "transfer_funds", `{"to":"acme","amount":20}`),
	), scripted.Say("Both are paid."))
	return w, w.mention("U0ANN", "pay both", "")
}

// TestAlwaysOnTerms: what a standing answer is bound to is chosen in the form, as with the command line's --same,
// --at-most, --ttl and --uses. A waiting call that the terms do not cover goes on waiting.
func TestAlwaysOnTerms(t *testing.T) {
	t.Parallel()
	w, thread := alwaysWorld(t)
	first, second := w.card(thread, 1), w.card(thread, 2)
	form := w.opened("U0BEN", first, "always_approve")
	shown := texts(t, form.Blocks) + string(form.Blocks)
	for _, words := range []string{"amount: at most 10", "to: acme", "The policy allows 2 h at most"} {
		if !strings.Contains(shown, words) {
			t.Errorf("the form lacks %q: %s", words, shown)
		}
	}
	answer := w.submits("U0BEN", "always_approve", map[string]any{
		"How far": "thread", "Only while these stay the same": []string{"to", "amount"},
		"Only while these do not grow": []string{"amount"},
	})
	if answer["response_action"] != "errors" || !strings.Contains(wrongWords(t, answer), "stay the same already") {
		t.Errorf("an argument chosen twice: %v", answer)
	}
	answer = w.submits("U0BEN", "always_approve", map[string]any{
		"How far": "thread", "Only while these stay the same": []string{"to"},
		"Only while these do not grow": []string{"amount"},
		"Until when":                   "1h0m0s", "For how many": "3",
	})
	if answer != nil {
		t.Fatalf("the form answers %v", answer)
	}
	w.shown(first, "Approved by @U0BEN")
	grants, _, err := w.engine.GrantsFor(w.ctx(), user("U0BEN"), 10)
	if err != nil || len(grants) != 1 {
		t.Fatalf("grants %+v, %v", grants, err)
	}
	g := grants[0]
	var bound []string
	for i := range g.Condition {
		bound = append(bound, g.Condition[i].String())
	}
	if got := strings.Join(bound, "; "); got != `amount at most 10; to = "acme"` ||
		g.Uses != 3 || g.Expires.Sub(g.Created) != time.Hour {
		t.Errorf("the grant is bound to %s, %d uses, lasts %s", got, g.Uses, g.Expires.Sub(g.Created))
	}
	if r := w.request(thread, 2); r.Status != approvals.RequestPending {
		t.Errorf("the call of 20 is %s", r.Status)
	}
	if err := w.click("U0BEN", second, "approve"); err != nil {
		t.Fatal(err)
	}
	w.said(thread, "Both are paid.")
}

// TestAlwaysTermsStayWithinThePolicy: what the policy does not allow is said at its input, and what was chosen stays.
func TestAlwaysTermsStayWithinThePolicy(t *testing.T) {
	t.Parallel()
	r := transfer(`{"amount":10,"memo":"hush","to":"acme"}`)
	r.Secret, r.Order = []string{"memo"}, []string{"amount", "to", "memo", "reference"}
	r.Requirement.MaxTTL = 2 * time.Hour
	form := alwaysForm(true)
	asked, refuse := form.ask(r)
	if refuse != nil {
		t.Fatal(refuse)
	}
	raw, err := encodeBlocks(asked)
	if err != nil {
		t.Fatal(err)
	}
	for _, not := range []string{"hush", `"value":"memo"`, `"value":"8h0m0s"`} {
		if strings.Contains(string(raw), not) {
			t.Errorf("the form has %s", not)
		}
	}
	if !strings.Contains(string(raw), `"value":"reference"`) {
		t.Error("the form does not offer that an argument stays left out")
	}
	one := func(value string) (e entered) { e.Option.Value = value; return e }
	for block, typed := range map[string]entered{
		lastsBlock: one("3h0m0s"), usesBlock: {Value: "0.5"},
	} {
		_, bad := form.read(r, values{scopeBlock: one("run"), block: typed})
		if bad[block] == "" || len(bad) != 1 {
			t.Errorf("%s: %v", block, bad)
		}
	}
	d, bad := form.read(r, values{scopeBlock: one("run")})
	if bad != nil || d.Grant != nil {
		t.Errorf("an answer without terms: %+v, %v", d, bad)
	}
	d, bad = form.read(r, values{scopeBlock: one("run"), usesBlock: {Value: "2"}})
	if bad != nil || d.Grant == nil || d.Grant.Uses != 2 || d.Grant.Scope != approvals.ScopeRun {
		t.Errorf("for two calls of the run: %+v, %v", d, bad)
	}
	var chosen entered
	chosen.Options = append(chosen.Options, one("reference").Option)
	d, bad = form.read(r, values{scopeBlock: one("run"), withoutBlock: chosen})
	if bad != nil || d.Grant == nil || len(d.Grant.Without) != 1 || d.Grant.Without[0] != "reference" {
		t.Errorf("without an argument: %+v, %v", d, bad)
	}
	for rule, block := range map[approvals.Rule]string{
		approvals.RuleWithout: withoutBlock, approvals.RuleAtMost: atMostBlock, approvals.RuleSame: sameBlock,
		approvals.RuleLasts: lastsBlock, approvals.RuleUses: usesBlock, "": "", approvals.RuleApprover: "",
	} {
		if got := form.at(r, &approvals.Refusal{Rule: rule}); got != block {
			t.Errorf("a refusal by the rule %q is said at %q, not at %q", rule, got, block)
		}
	}
}

func wrongWords(t *testing.T, answer map[string]any) string {
	t.Helper()
	var all []string
	for _, e := range answer["errors"].(map[string]any) {
		all = append(all, e.(string))
	}
	return strings.Join(all, " ")
}
