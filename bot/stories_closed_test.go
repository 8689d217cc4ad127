package bot

import (
	"testing"
	"time"

	"countersign/agent/scripted"
	"countersign/approvals"
	"countersign/internal/slackdev"
)

// TestCardPostedAnewIsSettled: Slack lets nobody change Dan's card any more, so the reminder has brought him another
// one. That one shows what Ben has decided, though the first cannot.
func TestCardPostedAnewIsSettled(t *testing.T) {
	t.Parallel()
	w := newOffice(t, namedPolicy{
		who:  approvals.Approvers{Users: usersOf("U0BEN", "U0DAN")},
		tune: func(q *approvals.Requirement) { q.RemindEvery = 2 * time.Second },
	}, pay("call_1"), scripted.Say("Done."))
	dm := w.slack.DM("U0DAN")
	thread := w.mention("U0ANN", "pay acme", "")
	card, first := w.card(thread, 1), w.copyIn(dm)
	w.slack.Fail(slackdev.Fault{Method: methodUpdate, Error: "edit_window_closed", Times: -1,
		Match: func(a map[string]any) bool { return a["ts"] == first.TS }})
	w.eventually("another card", func() bool { return len(w.cardsIn(dm)) > 1 && w.undelivered() == 0 })
	again := w.cardsIn(dm)[1]
	if err := w.click("U0BEN", card, "approve"); err != nil {
		t.Fatal(err)
	}
	w.settledAt(card, "Approved by @U0BEN")
	w.settledAt(again, "Approved by @U0BEN")
}
