package bot

import (
	"fmt"
	"strings"
	"testing"

	"countersign/agent/scripted"
)

// TestQueuedMessagesAreToldTheirPlace: a call waits, and people write on in its thread. Only the first of them reads
// that theirs is taken up when the run has ended.
func TestQueuedMessagesAreToldTheirPlace(t *testing.T) {
	t.Parallel()
	w := newWorld(t, pay("call_1"), scripted.Say("Done."))
	thread := w.mention("U0ANN", "pay acme", "")
	w.card(thread, 1)
	for i, who := range []string{"U0BEN", "U0CLEO", "U0BEN", "U0ANN"} {
		before := len(w.slack.Ephemerals(who))
		w.mention(who, fmt.Sprintf("and number %d", i+1), thread)
		w.eventually("an answer to "+who, func() bool { return len(w.slack.Ephemerals(who)) > before })
		said := w.slack.Ephemerals(who)[before].Text
		want := "taken up when it has ended"
		switch {
		case i == 1:
			want = "1 message waits before yours"
		case i > 1:
			want = fmt.Sprintf("%d messages wait before yours", i)
		}
		if !strings.Contains(said, want) || i > 0 && strings.Contains(said, "next") {
			t.Errorf("message %d reads %q, want %q", i+1, said, want)
		}
	}
}
