package bot

import (
	"testing"
	"time"

	"countersign/internal/slackdev"
)

// TestPostedUnderAWrongClock has the store's clock be ahead of ours and of Slack's, as that of a database on another
// machine can be: a post of which nobody knows whether it arrived is found all the same, by whoever tries next.
func TestPostedUnderAWrongClock(t *testing.T) {
	t.Parallel()
	for name, tries := range map[string]int{"the next process, which knows of no try": 0, "the same process": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, r := waitingCard(t, setUp{})
			n := cardNotification(r)
			n.Created = time.Now().Add(25 * time.Minute)
			s.slack.Fail(slackdev.Fault{Method: methodPost, AfterEffect: true, Reset: true})
			if d, err := s.bot.Notify(s.ctx(), n); err == nil {
				t.Fatalf("the fault did not show: %+v", d)
			}
			n.Begun = true
			if n.Attempts = tries; tries == 0 {
				s.bot.doubts.settle(n.ID)
			}
			d, err := s.bot.Notify(s.ctx(), n)
			if err != nil {
				t.Fatal(err)
			}
			if got := s.cards(r); len(got) != 1 || got[0].TS != d.Message {
				t.Errorf("%d cards; delivered %+v", len(got), d)
			}
		})
	}
}

// TestPostedBeforeTheClockWasSetBack has a process die over a post, alone with its store, while its clock is ahead. By
// the clock of the next one, which was set right, the notification is of a time to come: the post is found all the
// same.
func TestPostedBeforeTheClockWasSetBack(t *testing.T) {
	t.Parallel()
	s, r := waitingCard(t, setUp{tune: func(b *Bot) { b.alone = true }})
	n := cardNotification(r)
	n.Created = time.Now().Add(25 * time.Minute)
	s.slack.Fail(slackdev.Fault{Method: methodPost, AfterEffect: true, Reset: true})
	if d, err := s.bot.Notify(s.ctx(), n); err == nil {
		t.Fatalf("the fault did not show: %+v", d)
	}
	s.bot.doubts.settle(n.ID) // of which the next process knows nothing
	d, err := s.bot.Notify(s.ctx(), n)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.cards(r); len(got) != 1 || got[0].TS != d.Message {
		t.Errorf("%d cards; delivered %+v", len(got), d)
	}
}
