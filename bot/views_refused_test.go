package bot

import (
	"strings"
	"testing"
	"time"

	"countersign/internal/slackdev"
)

// TestNobodyIsLeftWaitingInAWindow: a window opens before it is known what it shows. Where Slack does not take that, it
// says so, and where a call got lost it is made again.
func TestNobodyIsLeftWaitingInAWindow(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault slackdev.Fault
		says  string
	}{
		"refused":   {slackdev.Fault{Error: "invalid_arguments"}, "Slack did not take what this window was to show"},
		"too large": {slackdev.Fault{Error: "view_too_large"}, "Nothing was recorded. Press the button again"},
		"lost":      {slackdev.Fault{Reset: true}, "amount"},
		"down":      {slackdev.Fault{Status: 503}, "amount"},
		"too often": {slackdev.Fault{RetryAfter: time.Second}, "amount"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, setUp{})
			card := s.show(transfer(small))
			c.fault.Method = methodUpdateView
			s.slack.Fail(c.fault)
			if err := s.click("U0BEN", card, "show_details"); err != nil {
				t.Fatal(err)
			}
			s.eventually("the window says "+c.says, func() bool {
				views := s.slack.Views("U0BEN")
				return len(views) == 1 && strings.Contains(views[0].Shown(), c.says)
			})
		})
	}
}

// TestAWindowThatTakesNothing: where Slack refuses also the words, the person reads them in a direct message.
func TestAWindowThatTakesNothing(t *testing.T) {
	t.Parallel()
	s := newStage(t, setUp{})
	card := s.show(transfer(small))
	s.slack.Fail(slackdev.Fault{Method: methodUpdateView, Error: "invalid_arguments", Times: -1})
	if err := s.click("U0BEN", card, "show_details"); err != nil {
		t.Fatal(err)
	}
	s.hears("U0BEN", "Slack did not take what this window was to show")
}
