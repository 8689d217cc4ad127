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

// payments are the arguments of so many payments, each of another amount.
func payments(n int) []string {
	turn := make([]string, n)
	for i := range turn {
		turn[i] = fmt.Sprintf(`{"amount":%d,"to":"acme"}`, i+1)
	}
	return turn
}

// TestMoreThanAListNamesIsOneList: 30 calls of one turn wait for Dan, who is not in the channel, and a list names 20 of
// them at most. He is called once, and the list goes down with each of them that is decided, named or not.
func TestMoreThanAListNamesIsOneList(t *testing.T) {
	t.Parallel()
	const all = 30
	w := newOffice(t, namedPolicy{who: approvals.Approvers{Users: usersOf("U0BEN", "U0DAN")}},
		callsWith(payments(all)...), scripted.Say("Done."))
	dm := w.slack.DM("U0DAN")
	w.card(w.mention("U0ANN", "pay them all", ""), all)
	w.eventually("Dan is told", func() bool { return w.undelivered() == 0 && len(w.slack.Messages(dm)) > 0 })
	shown := w.slack.Messages(dm)
	if len(shown) != 1 || len(w.slack.Notifications("U0DAN")) != 1 {
		t.Fatalf("Dan has %d messages, and was called %d times", len(shown), len(w.slack.Notifications("U0DAN")))
	}
	for n, r := range w.pendingFor("U0BEN")[:3] { // those that have waited longest, which the list does not name
		if strings.Contains(texts(t, shown[0].Blocks), fmt.Sprintf("transfer_funds: %d, acme", n+1)) {
			t.Fatalf("the list names what it was to leave out: %s", shown[0].Blocks)
		}
		if _, err := w.engine.Decide(w.ctx(), approvals.Decision{
			Workspace: testWorkspace, Request: r.ID, By: user("U0BEN"), Verdict: approvals.Reject, Digest: r.Digest,
			Via: "cli",
		}); err != nil {
			t.Fatal(err)
		}
		w.eventually("the list goes down", func() bool {
			var m slackdev.Message
			m, _ = w.slack.Message(dm, shown[0].TS)
			return m.Text == wordsWaitingForYou(all-1-n)
		})
	}
}

// TestOneListAtATime: a reminder comes while cards could not be posted, and more waits for Dan than he is shown one by
// one. He has one list.
func TestOneListAtATime(t *testing.T) {
	t.Parallel()
	const all = 5
	w := newOffice(t, namedPolicy{
		who:  approvals.Approvers{Users: usersOf("U0DAN")},
		tune: func(q *approvals.Requirement) { q.RemindEvery = 2 * time.Second },
	}, pay("call_1"), scripted.Say("Done."))
	dm := w.slack.DM("U0DAN")
	w.slack.Fail(slackdev.Fault{Method: methodPost, Status: 500, Times: -1,
		Match: func(a map[string]any) bool { return a["channel"] == dm }})
	var threads []string
	for i := range all {
		threads = append(threads, w.mention("U0ANN", fmt.Sprintf("pay acme %d", i), ""))
	}
	for _, thread := range threads {
		w.noticeIn(thread, "Reminder: transfer_funds waits")
	}
	w.slack.ClearFaults()
	w.eventually("everything is shown", func() bool { return w.undelivered() == 0 })
	lists := slices.DeleteFunc(w.slack.Messages(dm), func(m slackdev.Message) bool {
		return m.Metadata == nil || m.Metadata.EventType != listEvent
	})
	if len(lists) != 1 {
		t.Errorf("%d lists", len(lists))
	}
}
