package bot

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestCardSaysWhyItAsks: the expressions that had the call asked about stand on the card beside the policy's name; what
// is long, or speaks of a secret argument, stands in the details alone.
func TestCardSaysWhyItAsks(t *testing.T) {
	t.Parallel()
	long := "amount > 100 and " + strings.Repeat("to != \"nowhere\" and ", 10) + "true"
	for name, c := range map[string]struct {
		gate, policy, when string
		secret             []string
		card               string
		details            []string
	}{
		"gate": {gate: "amount > 100", card: "asked because amount > 100\n",
			details: []string{"amount > 100"}},
		"policy": {policy: "money", when: "amount > 1000", card: "asked by policy money, for amount > 1000\n"},
		"both": {"amount > 100", "money", "amount > 1000", nil,
			"asked because amount > 100 · policy money, for amount > 1000\n", nil},
		"default policy": {policy: "default_policy", card: "asked by the default policy\n"},
		"gate and default policy": {gate: "amount > 100", policy: "default_policy",
			card: "asked because amount > 100\n"},
		"long": {gate: long, policy: "money", card: "asked by policy money\n", details: []string{long}},
		"secret": {`memo == "hush"`, "money", `memo != ""`, []string{"memo"}, "asked by policy money\n",
			[]string{`memo == "hush"`, `memo != ""`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := transfer(`{"amount":1200,"memo":"hush","to":"acme"}`)
			r.Secret, r.Because = c.secret, c.gate
			r.Requirement.Policy, r.Requirement.Because = c.policy, c.when
			lines := askers(r)
			if got := lines[1].fallback() + "\n"; !strings.HasSuffix(got, escape(c.card)) {
				t.Errorf("the card says %q, want %q at its end", got, c.card)
			}
			raw, err := json.Marshal(detailsView(r, 0, rights{}).Blocks)
			if err != nil {
				t.Fatal(err)
			}
			shown := texts(t, raw)
			for _, words := range c.details {
				if !strings.Contains(shown, words) {
					t.Errorf("the details lack %q:\n%s", words, shown)
				}
			}
		})
	}
}

// TestSendsLineHasNoHeaders: that a call carries a header is no news to whoever approves it. The details name it.
func TestSendsLineHasNoHeaders(t *testing.T) {
	t.Parallel()
	r := transfer(`{"amount":1200}`)
	card, err := json.Marshal(newCard(r).blocks)
	if err != nil {
		t.Fatal(err)
	}
	details, err := json.Marshal(detailsView(r, 0, rights{}).Blocks)
	if err != nil {
		t.Fatal(err)
	}
	shown := texts(t, card)
	if strings.Contains(shown, "Authorization") || !strings.Contains(shown, r.Tool.Binding[1]) {
		t.Errorf("the card: %s", shown)
	}
	if shown := texts(t, details); !strings.Contains(shown, "With the headers Authorization") {
		t.Errorf("the details: %s", shown)
	}
}
