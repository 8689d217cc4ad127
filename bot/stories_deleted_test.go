package bot

import (
	"encoding/json"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"countersign/agent"
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

// TestStaleCardLeadsToTheCardThatIsThere: the card of the question that is asked now was deleted, and comes back with
// the reminder. The card before leads to where it is now.
func TestStaleCardLeadsToTheCardThatIsThere(t *testing.T) {
	t.Parallel()
	w, stale, asked := askedAnew(t)
	leads := func(to slackdev.Message) {
		t.Helper()
		link := "/archives/C0GENERAL/p" + strings.ReplaceAll(to.TS, ".", "")
		w.eventually("the stale card leads to "+link, func() bool {
			m, _ := w.slack.Message(stale.Channel, stale.TS)
			return strings.Contains(string(m.Blocks), link)
		})
	}
	leads(asked)
	before := w.lastBlockID(stale)
	if err := w.slack.Delete(w.ctx(), "U0ADM", asked.Channel, asked.TS); err != nil {
		t.Fatal(err)
	}
	leads(w.broughtBack(asked))
	if id := w.lastBlockID(stale); id == before {
		t.Errorf("the block that leads on has changed, and is still %q", id)
	}
}

// TestDeletedStaleCardStaysDeleted: nobody needs a card that asks nothing any more, and was deleted, only because the
// card of what is asked now is elsewhere.
func TestDeletedStaleCardStaysDeleted(t *testing.T) {
	t.Parallel()
	w, stale, asked := askedAnew(t)
	w.eventually("everything is shown", func() bool { return w.undelivered() == 0 })
	for _, m := range []slackdev.Message{stale, asked} {
		if err := w.slack.Delete(w.ctx(), "U0ADM", m.Channel, m.TS); err != nil {
			t.Fatal(err)
		}
	}
	again := w.broughtBack(asked)
	w.eventually("everything is shown again", func() bool { return w.undelivered() == 0 })
	for _, m := range w.cardsIn("C0GENERAL") {
		if m.TS != again.TS {
			t.Errorf("there is another card: %s", texts(t, m.Blocks))
		}
	}
}

// TestStaleCardThatCannotChangeIsPostedAnew: one that stands there as it was, with its buttons, is told apart from one
// that was deleted.
func TestStaleCardThatCannotChangeIsPostedAnew(t *testing.T) {
	t.Parallel()
	w, stale, asked := askedAnew(t)
	w.eventually("everything is shown", func() bool { return w.undelivered() == 0 })
	if err := w.slack.Delete(w.ctx(), "U0ADM", asked.Channel, asked.TS); err != nil {
		t.Fatal(err)
	}
	for range 10 { // the deleted card of what is asked now, and the stale one
		w.slack.Fail(slackdev.Fault{Method: methodUpdate, Error: "edit_window_closed"})
	}
	w.broughtBack(asked)
	w.broughtBack(stale)
}

// askedAnew is a call that was shown, changed, and is asked again, where an administrator may delete cards and a
// reminder comes soon.
func askedAnew(t *testing.T) (w *world, stale, asked slackdev.Message) {
	t.Helper()
	var contents atomic.Value
	contents.Store("aa")
	w = newOfficeOf(t, &world{
		policy: namedPolicy{
			who:  approvals.Approvers{Users: usersOf("U0BEN")},
			tune: func(q *approvals.Requirement) { q.RemindEvery = 2 * time.Second },
		},
		tools: []agent.Tool{patcher(&contents)}, script: reload(),
	})
	w.slack.SetUser(slackdev.User{ID: "U0ADM", Name: "adm", RealName: "Adm Inn", Admin: true})
	if err := w.slack.Join("C0GENERAL", "U0ADM"); err != nil {
		t.Fatal(err)
	}
	thread := w.mention("U0ANN", "reload", "")
	stale = w.card(thread, 1)
	contents.Store("bb")
	if err := w.click("U0BEN", stale, "approve"); err != nil {
		t.Fatal(err)
	}
	return w, stale, w.card(thread, 2)
}

// broughtBack waits for the card that a reminder brings in the place of one that was deleted.
func (w *world) broughtBack(deleted slackdev.Message) (again slackdev.Message) {
	w.t.Helper()
	request := requestOf(w.t, deleted)
	w.eventually("the card comes back", func() bool {
		for _, m := range w.cardsIn(deleted.Channel) {
			if requestOf(w.t, m) == request && m.TS != deleted.TS {
				again = m
				return true
			}
		}
		return false
	})
	return again
}

// lastBlockID is the id of the last block of a message.
func (w *world) lastBlockID(m slackdev.Message) string {
	w.t.Helper()
	m, _ = w.slack.Message(m.Channel, m.TS)
	var blocks []struct {
		ID string `json:"block_id"`
	}
	if err := json.Unmarshal(m.Blocks, &blocks); err != nil || len(blocks) == 0 {
		w.t.Fatalf("%d blocks, %v", len(blocks), err)
	}
	return blocks[len(blocks)-1].ID
}
