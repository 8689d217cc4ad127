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

// TestEscalationReachesNewPeople: Eve, who may answer later, and sees nothing of the channel, gets the card then, and
// nobody else is called a second time.
func TestEscalationReachesNewPeople(t *testing.T) {
	t.Parallel()
	w := newOffice(t, namedPolicy{
		who: approvals.Approvers{Users: usersOf("U0BEN")},
		tune: func(q *approvals.Requirement) {
			q.Escalation = approvals.Escalation{
				After: time.Second, To: approvals.Approvers{Users: usersOf("U0EVE", "U0CLEO", "U0ANN")},
			}
		},
	}, pay("call_1"), scripted.Say("Done."))
	thread := w.mention("U0ANN", "pay acme", "")
	card := w.card(thread, 1)
	own := w.copyIn(w.slack.DM("U0EVE"))
	w.notice(thread, "From now on these may answer too")
	if got := w.pings(w.noticeIn(thread, "From now on")); !slices.Equal(got, []string{"U0CLEO"}) {
		t.Errorf("called in the thread: %v", got)
	}
	if err := w.click("U0EVE", own, "approve"); err != nil {
		t.Fatal(err)
	}
	w.settledAt(card, "Approved by @U0EVE")
	w.settledAt(own, "Approved by @U0EVE")
}

// noticeIn waits for the message with the words in the thread.
func (w *world) noticeIn(thread, words string) (found slackdev.Message) {
	w.t.Helper()
	w.eventually(words, func() bool {
		for _, m := range w.slack.Thread("C0GENERAL", thread) {
			if m.User == "U0BOT" && strings.Contains(m.Text+texts(w.t, m.Blocks), words) {
				found = m
				return true
			}
		}
		return false
	})
	return found
}

// TestRemindersGoWhereTheCardIs: Dan is reminded in his own conversation, Ben in the thread, and both read how long is
// left. Who has answered is reminded no more.
func TestRemindersGoWhereTheCardIs(t *testing.T) {
	t.Parallel()
	w := newOffice(t, namedPolicy{
		quorum: 2, who: approvals.Approvers{Users: usersOf("U0BEN", "U0DAN")},
		tune: func(q *approvals.Requirement) { q.RemindEvery = 2 * time.Second },
	}, pay("call_1"), scripted.Say("Done."))
	dm := w.slack.DM("U0DAN")
	thread := w.mention("U0ANN", "pay acme", "")
	own := w.copyIn(dm)
	there := w.noticeIn(thread, "Reminder: transfer_funds waits")
	if got := w.pings(there); !slices.Equal(got, []string{"U0BEN"}) {
		t.Errorf("reminded in the thread: %v", got)
	}
	reminders := func() (all []slackdev.Message) {
		for _, m := range w.slack.Messages(dm) {
			if strings.Contains(m.Text, "Reminder: ") {
				all = append(all, m)
			}
		}
		return all
	}
	w.eventually("Dan's reminder", func() bool { return len(reminders()) > 0 })
	for _, m := range []slackdev.Message{there, reminders()[0]} {
		if said := texts(t, m.Blocks); !strings.Contains(said, " min left") {
			t.Errorf("it does not say how long is left: %s", said)
		}
	}
	if err := w.click("U0DAN", own, "approve"); err != nil {
		t.Fatal(err)
	}
	w.eventually("his answer counts", func() bool { return len(w.pendingFor("U0DAN")) == 0 })
	w.eventually("nothing is left in the outbox", func() bool { return w.undelivered() == 0 })
	n, seen := len(reminders()), calls(w.stage, methodPost)
	w.eventually("the next reminder in the thread", func() bool { return calls(w.stage, methodPost) > seen+1 })
	if len(reminders()) != n {
		t.Error("Dan, who has answered, is reminded again")
	}
}

// TestHomeFollowsDecisionsMadeElsewhere: Ben has his Home open, and the request is decided by command.
func TestHomeFollowsDecisionsMadeElsewhere(t *testing.T) {
	t.Parallel()
	w := newOffice(t, everybody{}, pay("call_1"), scripted.Say("Done."))
	w.card(w.mention("U0ANN", "pay acme", ""), 1)
	if err := w.slack.OpenHome(w.ctx(), "U0BEN"); err != nil {
		t.Fatal(err)
	}
	home := func() string {
		v := w.slack.HomeView("U0BEN")
		if v == nil {
			return ""
		}
		return v.Shown()
	}
	w.eventually("Ben's Home lists it", func() bool { return strings.Contains(home(), "transfer_funds") })
	r := w.pendingFor("U0BEN")[0]
	w.eventually("it is a copy", func() bool {
		got, err := w.engine.Request(w.ctx(), testWorkspace, r.ID)
		return err == nil && slices.Contains(got.Called.Copies, "home:U0BEN")
	})
	if _, err := w.engine.Decide(w.ctx(), approvals.Decision{
		Workspace: testWorkspace, Request: r.ID, By: user("U0CLEO"), Verdict: approvals.Approve, Digest: r.Digest,
		Via: "cli",
	}); err != nil {
		t.Fatal(err)
	}
	w.eventually("Ben's Home has nothing any more", func() bool { return strings.Contains(home(), "Nothing waits") })
}

// TestGroupsAreNamedToThoseWhoListen: what is read out, and stands in a notification, calls a group what Slack does.
func TestGroupsAreNamedToThoseWhoListen(t *testing.T) {
	t.Parallel()
	w := newOffice(t, namedPolicy{who: approvals.Approvers{Groups: []string{"S0FIN"}}}, pay("call_1"),
		scripted.Say("Done."))
	thread := w.mention("U0ANN", "pay acme", "")
	if err := w.click("U0CLEO", w.card(thread, 1), "approve"); err != nil {
		t.Fatal(err)
	}
	w.whispered("U0CLEO", "You cannot decide: ")
	w.whispered("U0CLEO", " <!subteam^S0FIN> can: open the thread.")
}
