package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"countersign/approvals"
)

// withSecrets is a request with secret arguments, one of them nested, and a value that looks like a mask.
func withSecrets(r *approvals.Request) {
	r.Arguments = json.RawMessage(
		`{"amount":5,"card":{"memo":"x","pin":"canary-4711"},"memo":"canary-4711","to":"••• (11 characters)"}`)
	r.Original = json.RawMessage(`{"amount":4,"card":{"pin":"canary-4711"},"memo":"canary-4712"}`)
	r.Explanation = []string{"writes canary-4711"}
	r.Secret = []string{"memo", "card"}
	r.Decisions = []approvals.Decision{{
		By: "T1/U2", Verdict: approvals.ProvideInput, Input: json.RawMessage(`{"memo":"canary-4711"}`), At: asked,
	}}
}

// TestShowMasks: "approvals show" masks secret arguments in text and JSON, and prints what was revealed.
func TestShowMasks(t *testing.T) {
	t.Parallel()
	for _, asJSON := range []bool{false, true} {
		p, out, _ := capture()
		if err := (&showCommand{JSON: asJSON}).print(&p, newRequest("req_1", withSecrets)); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(out.String(), "canary") {
			t.Errorf("json %v: the value is printed:\n%s", asJSON, out)
		}
		want := []string{
			`    "memo": ••• (11 characters),` + "\n", `    "card": ••• (object, 32 characters),` + "\n",
			`    "to": "••• (11 characters)"`, "secret       memo, card (masked",
			"memo: ••• (11 characters), changed since → •••",
		}
		if asJSON {
			want = []string{`"memo": "••• (11 characters)"`, `"secret": [`, `"memo",` + "\n", `"id": "req_1"`}
		}
		for _, words := range want {
			if !strings.Contains(out.String(), words) {
				t.Errorf("json %v: no %q in\n%s", asJSON, words, out)
			}
		}
	}
	revealed := newRequest("req_1", withSecrets)
	revealed.Secret = nil // as Service.Reveal returns it
	p, out, _ := capture()
	if err := (&showCommand{}).print(&p, revealed); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), `    "memo": "canary-4711",`) || strings.Contains(out.String(), "masked") {
		t.Errorf("control: what was revealed:\n%s", out)
	}
}

// TestRevealNamesSomebody: --reveal and --as go together.
func TestRevealNamesSomebody(t *testing.T) {
	t.Parallel()
	for _, c := range []showCommand{{ID: "req_1", Reveal: true}, {ID: "req_1", As: "U2"}} {
		p, _, _ := capture()
		if err := c.Run(t.Context(), &p); err == nil || !strings.Contains(err.Error(), "--as") {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// TestDecidedIsMasked: the record that a decision prints as JSON is masked too.
func TestDecidedIsMasked(t *testing.T) {
	t.Parallel()
	p, out, _ := capture()
	if err := (&decideCommand{JSON: true}).say(&p, newRequest("req_1", withSecrets)); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "canary") || !strings.Contains(out.String(), "•••") {
		t.Error(out)
	}
}
