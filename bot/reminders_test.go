package bot

import (
	"strings"
	"testing"

	"countersign/approvals"
)

// TestReminder renders who is still missing and until when, mentions nobody who cannot answer, and holds arguments only
// in its blocks; delivered again, it is one message.
func TestReminder(t *testing.T) {
	t.Parallel()
	s, r := waitingCard(t, setUp{})
	r.Requirement.Seats = approvals.Quorum(2, approvals.Approvers{
		Users: []approvals.UserID{user("U0ANN"), user("U0BEN")}, ChannelMembers: true,
	})
	n := cardNotification(r)
	n.Kind, n.ID = approvals.NotifyReminder, "ntf_reminder"
	for range 2 {
		if _, err := s.bot.Notify(s.ctx(), n); err != nil {
			t.Fatal(err)
		}
		n.Attempts++ // what the first came to is not known
	}
	var seen []string
	for _, m := range s.slack.Thread(r.Place.Channel, r.Place.Thread) {
		if m.Metadata != nil && m.Metadata.EventType == noticeEvent {
			seen = append(seen, m.Text+"\n"+texts(t, m.Blocks))
			if strings.Contains(m.Text, "acme") {
				t.Errorf("a notification with arguments: %s", m.Text)
			}
		}
	}
	if len(seen) != 1 {
		t.Fatalf("%d reminders: %q", len(seen), seen)
	}
	for _, words := range []string{
		"transfer_funds waits for approval.", "2 people", "<@U0BEN>", "the members of this channel", "It waits until ",
		string(r.ID) + ": transfer_funds {",
	} {
		if !strings.Contains(seen[0], words) {
			t.Errorf("it lacks %q: %s", words, seen[0])
		}
	}
	if strings.Contains(seen[0], "U0ANN") {
		t.Errorf("the requester, who may not decide, is mentioned: %s", seen[0])
	}
}
