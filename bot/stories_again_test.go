package bot

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"countersign/agent/scripted"
	"countersign/internal/slackdev"
)

// TestFormSentAgainWithOtherWords: what a form said was recorded, the acknowledgement got lost, and Ben, who sees
// Slack's warning, changes his words and sends the form again. He reads that the first ones stand.
func TestFormSentAgainWithOtherWords(t *testing.T) {
	t.Parallel()
	w := newWorld(t, pay("call_1"), scripted.Say("Not paid."))
	thread := w.mention("U0ANN", "pay acme", "")
	w.fill("U0BEN", w.card(thread, 1), "reject_with_reason", "the amount is wrong")
	w.said(thread, "Not paid.")
	sent := string(w.lastForm().Payload)
	for _, c := range []struct{ words, reads string }{
		{"the amount is wrong", ""}, // which closes the window
		{"the payee is wrong", "What you have changed since was not taken"},
	} {
		var payload map[string]any
		text := strings.ReplaceAll(sent, "the amount is wrong", c.words)
		if err := json.Unmarshal([]byte(text), &payload); err != nil {
			t.Fatal(err)
		}
		if err := w.slack.ClickRaw(w.ctx(), payload); err != nil {
			t.Fatal(err)
		}
		got := string(w.lastForm().AckPayload)
		if (c.reads == "") != (got == "") || !strings.Contains(got, c.reads) {
			t.Errorf("with the words %q the form answers %s", c.words, got)
		}
	}
}

// lastForm is the delivery of the last form that was sent.
func (w *world) lastForm() slackdev.Delivery {
	w.t.Helper()
	for _, d := range slices.Backward(w.slack.Deliveries()) {
		if d.Type == "view_submission" {
			return d
		}
	}
	w.t.Fatal("no form was sent")
	return slackdev.Delivery{}
}
