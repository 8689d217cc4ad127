package testrun

import "testing"

// TestCardSays reads what a card says of a call, and not what the call's arguments say.
func TestCardSays(t *testing.T) {
	t.Parallel()
	const card = "Pay 250, the call ran · unknown to Acme · <@U0ANN>\nRejected by <@U0BEN> 14:51 · not run\n" +
		"Show details\ntransfer_funds · 9ee6069268079fed · req_1"
	for _, c := range []struct {
		says       func(text, word string) bool
		word, text string
		want       bool
	}{
		{saysStatus, "rejected", card, true},
		{saysStatus, "approved", card, false},
		{saysOutcome, "not run", card, true},
		{saysOutcome, "ran", card, false}, // t-ran-sfer_funds
		{saysOutcome, "failed", card, false},
		{saysOutcome, "ran", "Approved by <@U0BEN> · unknown whether it ran", false},
		{saysOutcome, "unknown", "Approved by <@U0BEN> · unknown whether it ran", true},
		{saysOutcome, "ran", "Approved by <@U0BEN> 14:52 · ran 14:52", true},
		{saysOutcome, "ran", "Approved by <@U0BEN> · ran", true},
		{saysOutcome, "ran", "Approved by <@U0BEN> · ranted", false},
		{saysOutcome, "failed", "Approved by <@U0BEN> · failed 14:52: HTTP 500 (the agent was told)", true},
	} {
		if got := c.says(c.text, c.word); got != c.want {
			t.Errorf("%q in %q: %v", c.word, c.text, got)
		}
	}
}
