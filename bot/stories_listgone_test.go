package bot

import (
	"slices"
	"testing"
	"time"

	"countersign/agent/scripted"
	"countersign/approvals"
	"countersign/internal/slackdev"
)

// TestReminderReplacesADeletedList: Dan had one list of five requests, which somebody has deleted; two of them wait
// still. With the reminder of each comes its card.
func TestReminderReplacesADeletedList(t *testing.T) {
	t.Parallel()
	w := newOffice(t, namedPolicy{
		who:  approvals.Approvers{Users: usersOf("U0BEN", "U0DAN")},
		tune: func(q *approvals.Requirement) { q.RemindEvery = 6 * time.Second },
	}, callsWith(payments(5)...), scripted.Say("Done."))
	dm := w.slack.DM("U0DAN")
	w.card(w.mention("U0ANN", "pay them all", ""), 5)
	w.eventually("Dan is told", func() bool { return w.undelivered() == 0 && len(w.slack.Messages(dm)) > 0 })
	list := w.slack.Messages(dm)
	if len(list) != 1 || len(w.cardsIn(dm)) != 0 {
		t.Fatalf("Dan has %d messages", len(list))
	}
	w.slack.Fail(slackdev.Fault{Method: methodUpdate, Error: "message_not_found", Times: -1,
		Match: func(a map[string]any) bool { return a["ts"] == list[0].TS }})
	for _, r := range w.pendingFor("U0BEN")[:3] {
		if _, err := w.engine.Decide(w.ctx(), approvals.Decision{
			Workspace: testWorkspace, Request: r.ID, By: user("U0BEN"), Verdict: approvals.Reject, Digest: r.Digest,
			Via: "cli",
		}); err != nil {
			t.Fatal(err)
		}
	}
	w.eventually("a card of each, and a reminder", func() bool {
		reminded := slices.ContainsFunc(w.slack.Messages(dm), func(m slackdev.Message) bool {
			return m.Metadata != nil && m.Metadata.EventType == noticeEvent
		})
		return reminded && len(w.cardsIn(dm)) == 2
	})
	cards := w.cardsIn(dm)
	if err := w.click("U0DAN", cards[0], "approve"); err != nil {
		t.Fatal(err)
	}
	w.settledAt(cards[0], "Approved by @U0DAN")
}
