package approvals_test

import (
	"encoding/json"
	"strings"
	"testing"

	"countersign/approvals"
)

// TestReadRunMasks: what a person has filled in for a secret argument is not in the record of the run.
func TestReadRunMasks(t *testing.T) {
	t.Parallel()
	for _, secret := range []bool{true, false} {
		b := newBench(t)
		tools := b.tools()
		tools[0].Parameters = json.RawMessage(
			`{"type":"object","properties":{"amount":{"type":"number"},"memo":{"type":"string"}}}`)
		tools[0].Fields = []string{"memo"}
		if secret {
			tools[0].Secret = tools[0].Fields
		}
		b.agent(asks(call("c1", "pay", `{"amount":5}`)), tools...)
		b.start()
		id := b.submit()
		r := b.question(id)
		if _, err := b.fill(r, bob, `{"memo":"`+canary+`"}`); err != nil {
			t.Fatal(err)
		}
		rec, err := approvals.ReadRun(t.Context(), b.store, ws, id)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(rec)
		if err != nil || strings.Contains(string(text), canary) == secret {
			t.Errorf("secret %t: %v, %s", secret, err, text)
		}
	}
}
