package bot

import (
	"fmt"
	"strings"
	"testing"

	"countersign/agent"
	"countersign/agent/scripted"
	"countersign/approvals"
	"countersign/internal/slackdev"
)

// TestManyAnswersTogetherAreTold: Slack drops an acknowledgement of 20 KiB or more without a word. What came of many
// answers is longer, and the person reads it all the same.
func TestManyAnswersTogetherAreTold(t *testing.T) {
	t.Parallel()
	users := slackdev.DefaultUsers()
	var named approvals.Approvers
	for i := range 10 {
		id := fmt.Sprintf("U0APPROVER%d", i)
		users = append(users, slackdev.User{ID: id, Name: fmt.Sprintf("approver%d", i)})
		named.Users = append(named.Users, user(id))
	}
	p := demands(func(_ *approvals.Request, q *approvals.Requirement) {
		q.Seats, q.DenyQuorum = approvals.Quorum(2, named), 2
	})
	var calls []agent.Item
	for i := range mostTogether {
		calls = append(calls, scripted.Call(fmt.Sprint("call_", i), "transfer_funds",
			fmt.Sprintf(`{"memo":%q,"to":%q}`, strings.Repeat("שלום ", 15)+fmt.Sprint(i), strings.Repeat("עולם ", 15))))
	}
	w := startWorld(t, &world{policy: p, with: slackdev.Config{Users: users},
		script: script{scripted.Calls(calls...), scripted.Say("Done.")}})
	thread := w.mention("U0ANN", "pay them", "")
	first := w.card(thread, 1)
	w.card(thread, mostTogether)
	form := w.opened("U0APPROVER0", first, "approve_all")
	var n int
	if _, err := fmt.Sscanf(form.SubmitLabel, "Approve %d", &n); err != nil || n < 10 {
		t.Fatalf("the window answers %q", form.SubmitLabel)
	}
	w.slack.LateAnswers(1)
	w.submits("U0APPROVER0", "approve_all", nil)
	w.eventually("the window says what came of all of them", func() bool {
		views := w.slack.Views("U0APPROVER0")
		return len(views) == 1 && strings.Count(views[0].Shown(), "Recorded: approved") == n
	})
	if words := w.modalOf("U0APPROVER0", viewWords); len(words.Blocks) < maxAck {
		t.Errorf("control: all of it is %d bytes, which an acknowledgement would have room for", len(words.Blocks))
	}
}
