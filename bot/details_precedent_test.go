package bot

import (
	"encoding/json"
	"strings"
	"testing"

	"countersign/agent"
	"countersign/agent/scripted"
)

// TestDetailsCompareWithTheLastApprovedCall: the details say how the call differs from the one of its tool that people
// approved last, in another run too, with secret values masked, and only to somebody who may see that one.
func TestDetailsCompareWithTheLastApprovedCall(t *testing.T) {
	t.Parallel()
	b := &bank{}
	tool := b.tool()
	tool.Name, tool.Secret = "wire", []string{"pin"}
	tool.Parameters = json.RawMessage(`{"type":"object","properties":{"amount":{},"memo":{},"pin":{},"to":{}}}`)
	pays := func(id, arguments string) scripted.Step { return scripted.Calls(scripted.Call(id, "wire", arguments)) }
	w := newWorldOf(t, []agent.Tool{tool},
		pays("call_1", `{"amount":250,"pin":"canary-1","to":"acme"}`), scripted.Say("Paid."),
		pays("call_2", `{"amount":1200,"memo":"again","pin":"canary-2","to":"acme"}`), scripted.Say("Paid again."))
	first := w.mention("U0ANN", "pay acme", "")
	card := w.card(first, 1)
	if err := w.click("U0BEN", card, "show_details"); err != nil {
		t.Fatal(err)
	}
	if shown := texts(t, w.modalOf("U0BEN", viewDetails).Blocks); strings.Contains(shown, "Last approved") {
		t.Errorf("there was none before: %s", shown)
	}
	if err := w.click("U0CLEO", card, "approve"); err != nil {
		t.Fatal(err)
	}
	w.said(first, "Paid.")
	w.mention("U0ANN", "pay acme again", first)
	card = w.card(first, 2)
	if err := w.click("U0CLEO", card, "show_details"); err != nil {
		t.Fatal(err)
	}
	shown := texts(t, w.modalOf("U0CLEO", viewDetails).Blocks)
	for _, words := range []string{
		"Last approved call of this tool: @U0CLEO", "amount  250 → 1200", `memo  (nothing) → "again"`,
		"pin  ••• (8 characters) → ••• (8 characters)",
	} {
		if !strings.Contains(shown, words) {
			t.Errorf("the details lack %q: %s", words, shown)
		}
	}
	if strings.Contains(shown, "canary") || strings.Contains(shown, "to  ") {
		t.Errorf("the details say too much: %s", shown)
	}
}
