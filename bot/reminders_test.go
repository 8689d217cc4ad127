package bot

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

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
		n.Attempts, n.Begun = n.Attempts+1, true // what the first came to is not known
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
		"transfer_funds waits for approval.", "2 people", "<@U0BEN>",
		"the members of a channel", "the members of #C0GENERAL",
		"It waits until ",
		"transfer_funds: 1200, acme · " + string(r.ID),
	} {
		if !strings.Contains(seen[0], words) {
			t.Errorf("it lacks %q: %s", words, seen[0])
		}
	}
	if strings.Contains(seen[0], "U0ANN") {
		t.Errorf("the requester, who may not decide, is mentioned: %s", seen[0])
	}
}

// TestReminderWhereNobodyIsLeft: it does not say that somebody is needed and leave open who.
func TestReminderWhereNobodyIsLeft(t *testing.T) {
	t.Parallel()
	s, r := waitingCard(t, setUp{})
	r.Requirement.Seats = approvals.Quorum(1, approvals.Approvers{Users: []approvals.UserID{r.Requester}})
	n := cardNotification(r)
	n.Kind, n.ID = approvals.NotifyReminder, "ntf_reminder"
	if _, err := s.bot.Notify(s.ctx(), n); err != nil {
		t.Fatal(err)
	}
	thread := s.slack.Thread(r.Place.Channel, r.Place.Thread)
	said := texts(t, thread[len(thread)-1].Blocks)
	if !strings.Contains(said, "Nobody can answer it now") || strings.Contains(said, "Still needed") {
		t.Errorf("the reminder says %s", said)
	}
}

// TestEscalation names the second set in the thread, and on the card before and after.
func TestEscalation(t *testing.T) {
	t.Parallel()
	s, r := waitingCard(t, setUp{})
	r.Requirement.Escalation = approvals.Escalation{
		After: time.Hour, To: approvals.Approvers{Users: []approvals.UserID{user("U0ANN"), user("U0DAN")}},
	}
	said := texts(t, encoded(t, newCard(r)))
	if !strings.Contains(said, "If it still waits then, others are asked too: ") || strings.Contains(said, "U0DAN") {
		t.Errorf("the card before: %s", said)
	}
	r.Escalated = r.Created.Add(time.Hour)
	if said := texts(t, encoded(t, newCard(r))); !strings.Contains(said, " also: @U0ANN, @U0DAN") {
		t.Errorf("the card afterwards: %s", said)
	}
	n := cardNotification(r)
	n.Kind, n.ID = approvals.NotifyEscalation, "ntf_escalation"
	if _, err := s.bot.Notify(s.ctx(), n); err != nil {
		t.Fatal(err)
	}
	found := false
	for _, m := range s.slack.Thread(r.Place.Channel, r.Place.Thread) {
		if m.Metadata == nil || m.Metadata.EventType != noticeEvent {
			continue
		}
		found = true
		if !strings.Contains(m.Text, "From now on these may answer too: <@U0DAN>.") ||
			strings.Contains(m.Text, "U0ANN") {
			t.Errorf("it says %s", m.Text)
		}
	}
	if !found {
		t.Error("nothing is told")
	}
}

// encoded are a card's blocks as Slack takes them.
func encoded(t *testing.T, c card) json.RawMessage {
	t.Helper()
	raw, err := encodeBlocks(c.blocks)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// TestNoticeForAChannel posts what is for a channel there, without the call's arguments, and nowhere else when that
// fails.
func TestNoticeForAChannel(t *testing.T) {
	t.Parallel()
	s, r := waitingCard(t, setUp{})
	n := &approvals.Notification{
		Workspace: r.Workspace, ID: "ntf_alarm", Kind: approvals.NotifyNotice, Run: r.Run, Created: time.Now(),
		Place: approvals.Place{Surface: "slack", Channel: "C0GENERAL"}, Copy: "channel:C0GENERAL",
		By: user("U0BEN"), Text: "broke the glass: " + string(r.ID),
	}
	if _, err := s.bot.Notify(s.ctx(), n); err != nil {
		t.Fatal(err)
	}
	found := false
	for _, m := range s.slack.Messages("C0GENERAL") {
		if m.Metadata != nil && m.Metadata.EventType == noticeEvent {
			found = true
			said := texts(t, m.Blocks)
			if !strings.Contains(said, "broke the glass") || strings.Contains(said, "acme") {
				t.Errorf("it says %s", said)
			}
		}
	}
	if !found {
		t.Error("nothing is posted")
	}
	n.ID, n.Place.Channel, n.Copy = "ntf_lost", "C0NOWHERE", "channel:C0NOWHERE"
	if d, err := s.bot.Notify(s.ctx(), n); !errors.Is(err, approvals.ErrUndeliverable) {
		t.Errorf("delivered to %+v, %v", d, err)
	}
}
