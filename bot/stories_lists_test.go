package bot

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"countersign/agent/scripted"
	"countersign/approvals"
	"countersign/internal/slackdev"
)

// listsIn lists the messages of the conversation that list requests.
func (w *world) listsIn(channel string) (all []slackdev.Message) {
	for _, m := range w.slack.Messages(channel) {
		if m.Metadata != nil && m.Metadata.EventType == listEvent {
			all = append(all, m)
		}
	}
	return all
}

// rejectFor rejects requests in somebody's name, beside Slack.
func (w *world) rejectFor(id string, all ...*approvals.Request) {
	w.t.Helper()
	for _, r := range all {
		if _, err := w.engine.Decide(w.ctx(), approvals.Decision{
			Workspace: testWorkspace, Request: r.ID, By: user(id), Verdict: approvals.Reject, Digest: r.Digest,
			Via: "cli",
		}); err != nil {
			w.t.Fatal(err)
		}
	}
}

// TestOneListIsKeptUpToDate: Dan, for whom five requests wait, is reminded again and again by new lists. The earlier
// ones say so and show nothing that could become untrue; what is recorded, and what a decision costs, does not grow.
func TestOneListIsKeptUpToDate(t *testing.T) {
	t.Parallel()
	const all = 5
	w := newOfficeOf(t, &world{
		policy: namedPolicy{
			who:  approvals.Approvers{Users: usersOf("U0BEN", "U0DAN")},
			tune: func(q *approvals.Requirement) { q.RemindEvery = time.Second },
		},
		script: script{callsWith(payments(all)...), scripted.Say("Done.")},
		tune:   func(b *Bot) { b.lists.every = 0 },
	})
	dm := w.slack.DM("U0DAN")
	w.card(w.mention("U0ANN", "pay them all", ""), all)
	w.eventually("four lists", func() bool { return len(w.listsIn(dm)) >= 4 })
	waiting := w.pendingFor("U0BEN")
	w.rejectFor("U0BEN", waiting[0], waiting[1]) // three are left: no list comes for them
	w.eventually("one list of what is left", func() bool {
		lists := w.listsIn(dm)
		for i, m := range lists {
			said, last := m.Text+texts(t, m.Blocks), i == len(lists)-1
			if strings.Contains(said, wordsWaitingForYou(all-2)) != last || !last && len(m.Buttons()) > 0 ||
				strings.Contains(said, wordsListedAnew) == last {
				return false
			}
		}
		return true
	})
	for _, r := range waiting {
		r, err := w.engine.Request(w.ctx(), testWorkspace, r.ID)
		if err != nil {
			t.Fatal(err)
		}
		listed := slices.DeleteFunc(slices.Clone(r.Cards), func(c approvals.Card) bool { return !c.List })
		if len(listed) != 1 {
			t.Errorf("%d lists are recorded with %s", len(listed), r.ID)
		}
	}
}

// TestListNamesNothingForEver: a request that has a card of its own, and is named in an earlier list too, leaves that
// list when it is decided; and the list counts it before.
func TestListNamesNothingForEver(t *testing.T) {
	t.Parallel()
	w := newOffice(t, namedPolicy{who: approvals.Approvers{Users: usersOf("U0BEN", "U0DAN")}},
		pay("call_1"), scripted.Say("Done."))
	dm := w.slack.DM("U0DAN")
	waits := func(n int) {
		t.Helper()
		w.mention("U0ANN", "pay acme", "")
		w.eventually("the request is told", func() bool {
			return len(w.pendingFor("U0BEN")) == n && w.undelivered() == 0
		})
	}
	says := func(n int) {
		t.Helper()
		w.eventually(fmt.Sprintf("a list of %d", n), func() bool {
			lists := w.listsIn(dm)
			return len(lists) == 1 && strings.Contains(lists[0].Text, wordsWaitingForYou(n)) &&
				len(lists[0].Buttons()) == n
		})
	}
	for n := range 5 {
		waits(n + 1)
	}
	says(5)
	w.rejectFor("U0BEN", w.pendingFor("U0BEN")[2:]...)
	says(2)
	waits(3)
	if n := len(w.cardsIn(dm)); n != 4 {
		t.Fatalf("%d cards", n)
	}
	says(3)
	w.rejectFor("U0BEN", w.pendingFor("U0BEN")[2])
	w.settledAt(w.cardsIn(dm)[3], "Rejected by @U0BEN")
	says(2)
}
