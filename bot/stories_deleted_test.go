package bot

import (
	"slices"
	"strings"
	"testing"
	"time"

	"countersign/agent/scripted"
	"countersign/approvals"
	"countersign/internal/slackdev"
)

// TestReminderBringsADeletedCardBack: an administrator has deleted the card of a call that waits. With the reminder
// comes a card, above it, to which it leads, as lists do; and the call is decided on it.
func TestReminderBringsADeletedCardBack(t *testing.T) {
	t.Parallel()
	w := newOffice(t, namedPolicy{
		who:  approvals.Approvers{Users: usersOf("U0BEN")},
		tune: func(q *approvals.Requirement) { q.RemindEvery = 2 * time.Second },
	}, pay("call_1"), scripted.Say("Done."))
	w.slack.SetUser(slackdev.User{ID: "U0ADM", Name: "adm", RealName: "Adm Inn", Admin: true})
	if err := w.slack.Join("C0GENERAL", "U0ADM"); err != nil {
		t.Fatal(err)
	}
	thread := w.mention("U0ANN", "pay acme", "")
	card := w.card(thread, 1)
	w.eventually("the card is recorded", func() bool { return w.undelivered() == 0 })
	if err := w.slack.Delete(w.ctx(), "U0ADM", card.Channel, card.TS); err != nil {
		t.Fatal(err)
	}
	reminder := w.noticeIn(thread, "Reminder: transfer_funds waits")
	again := w.card(thread, 1)
	if again.TS == card.TS || again.TS > reminder.TS {
		t.Fatalf("the card is %s, the reminder %s", again.TS, reminder.TS)
	}
	if got := w.pings(again); !slices.Contains(got, "U0BEN") {
		t.Errorf("the new card calls %v", got)
	}
	link := "/archives/C0GENERAL/p" + strings.ReplaceAll(again.TS, ".", "")
	if !strings.Contains(string(reminder.Blocks), link) {
		t.Errorf("the reminder does not lead to the card at %s: %s", again.TS, reminder.Blocks)
	}
	if m := w.command("U0BEN", ""); !strings.Contains(string(m.Blocks), link) {
		t.Errorf("the list does not lead to the card at %s: %s", again.TS, m.Blocks)
	}
	if err := w.click("U0BEN", again, "approve"); err != nil {
		t.Fatal(err)
	}
	w.settledAt(again, "Approved by @U0BEN")
	if all := w.cardsIn("C0GENERAL"); len(all) != 1 {
		t.Errorf("%d cards", len(all))
	}
}
