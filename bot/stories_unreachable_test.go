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

// given returns the notifications that were given up, once there are so many.
func (w *world) given(n int) []*approvals.Notification {
	w.t.Helper()
	var dead []*approvals.Notification
	w.eventually("what was given up", func() bool {
		var err error
		if dead, err = w.engine.DeadLetters(w.ctx(), testWorkspace, "", 0); err != nil {
			w.t.Fatal(err)
		}
		return len(dead) >= n
	})
	return dead
}

// closes refuses posts to the channels with the word.
func (w *world) closes(word string, match func(channel string) bool) {
	w.slack.Fail(slackdev.Fault{Method: methodPost, Error: word, Times: -1, Match: func(args map[string]any) bool {
		channel, _ := args["channel"].(string)
		return match(channel)
	}})
}

// TestNothingIsSentToWhereNothingArrives: neither the channel nor the requester's own conversation takes messages. The
// card is given up, and no notice about it follows it to the same place.
func TestNothingIsSentToWhereNothingArrives(t *testing.T) {
	t.Parallel()
	w := newWorld(t, pay("call_1"), scripted.Say("Done."))
	dm := w.slack.DM("U0ANN")
	w.closes("is_archived", func(channel string) bool { return channel == "C0GENERAL" || channel == dm })
	thread := w.mention("U0ANN", "pay acme", "")
	dead := w.given(1)
	// What is sent later to a place that works shows that nothing is under way any more.
	w.slack.ClearFaults()
	if _, err := w.engine.CancelRun(w.ctx(), testWorkspace, dead[0].Run, user("U0ANN"), ""); err != nil {
		t.Fatal(err)
	}
	w.notice(thread, "cancelled the run")
	if dead = w.given(1); len(dead) != 1 || dead[0].Kind != approvals.NotifyCard {
		last := dead[len(dead)-1]
		t.Errorf("%d notifications were given up, the last of kind %s: %s", len(dead), last.Kind, last.Text)
	}
	if slices.ContainsFunc(w.slack.Thread("C0GENERAL", thread), func(m slackdev.Message) bool {
		return strings.Contains(m.Text, "cannot be shown here")
	}) {
		t.Error("the notice went to the place where nothing arrived")
	}
}

// TestClosedChannelIsToldToTheRequester is the control: with the channel alone closed, the requester has the card.
func TestClosedChannelIsToldToTheRequester(t *testing.T) {
	t.Parallel()
	w := newWorld(t, pay("call_1"), scripted.Say("Done."))
	w.closes("is_archived", func(channel string) bool { return channel == "C0GENERAL" })
	w.mention("U0ANN", "pay acme", "")
	w.eventually("the card in Ann's own conversation", func() bool {
		return slices.ContainsFunc(w.slack.Messages(w.slack.DM("U0ANN")), func(m slackdev.Message) bool {
			return len(m.Buttons()) > 0
		})
	})
}

// TestCardThatSlackRefusesIsToldInItsThread is the other control: the card is what Slack refuses, not the place.
func TestCardThatSlackRefusesIsToldInItsThread(t *testing.T) {
	t.Parallel()
	w := newWorld(t, pay("call_1"), scripted.Say("Done."))
	isCard := func(args map[string]any) bool {
		text, _ := args["text"].(string)
		return strings.HasPrefix(text, "Approval needed")
	}
	w.slack.Fail(slackdev.Fault{Method: methodPost, Error: "invalid_blocks", Times: -1, Match: isCard})
	thread := w.mention("U0ANN", "pay acme", "")
	w.notice(thread, "cannot be shown here")
	if dead := w.given(1); len(dead) != 1 || time.Since(dead[0].Created) > time.Hour {
		t.Errorf("%d notifications were given up", len(dead))
	}
}
