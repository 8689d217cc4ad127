package bot

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slack-go/slack"

	"countersign/internal/slackdev"
)

// patientLanding are waits for acknowledgements to land that are no shorter than what a test waits for.
func patientLanding() (waits []time.Duration) {
	for total, wait := time.Duration(0), 10*time.Millisecond; total < *patience; wait += wait / 2 {
		waits, total = append(waits, wait), total+wait
	}
	return waits
}

// TestWhatCameOfAFormIsShownLast: Slack may carry out updates before the acknowledgement of the form that they are
// about. What came of the form stands in the window all the same.
func TestWhatCameOfAFormIsShownLast(t *testing.T) {
	t.Parallel()
	for act, c := range map[string]struct {
		typed map[string]any
		comes string
	}{
		"cancel_run":         {comes: "You have cancelled the run"},
		"reject_with_reason": {typed: map[string]any{"Why not?": "twice"}, comes: "Recorded: rejected"},
	} {
		for _, updates := range []int{1, 3} {
			t.Run(fmt.Sprintf("%s after %d updates", act, updates), func(t *testing.T) {
				t.Parallel()
				s := newStage(t, setUp{})
				card := s.show(transfer(small))
				if err := s.click("U0BEN", card, act); err != nil {
					t.Fatal(err)
				}
				s.modalOf("U0BEN", act)
				// The store answers once the acknowledgement is on its way.
				released := make(chan struct{})
				release := sync.OnceFunc(func() { close(released) })
				defer release()
				s.service.slow = func() { <-released }
				s.service.hold = func(string) { <-released }
				s.slack.LateAnswers(updates)
				go func() {
					_ = s.slack.WaitFor(s.ctx(), func() bool {
						return slices.ContainsFunc(s.slack.Deliveries(), func(d slackdev.Delivery) bool {
							return d.Type == "view_submission" && !d.Acked.IsZero()
						})
					})
					release()
				}()
				if answer := s.submits("U0BEN", act, c.typed); answer["response_action"] != "update" {
					t.Fatalf("the form answers %v", answer)
				}
				s.eventually("the window says "+c.comes, func() bool {
					all := s.slack.Views("U0BEN")
					return len(all) == 1 && strings.Contains(all[0].Shown(), c.comes)
				})
			})
		}
	}
}

// TestAWindowIsReachedOnceItsAcknowledgementLands: until then Slack does not know its external id. One whose
// acknowledgement never landed still shows the form, and has its own id.
func TestAWindowIsReachedOnceItsAcknowledgementLands(t *testing.T) {
	unknown := slack.SlackErrorResponse{Err: "not_found"}
	refused := slack.SlackErrorResponse{Err: "view_too_large"}
	at := answeredView{view: "V1", external: "secret"}
	for name, c := range map[string]struct {
		lands time.Duration // when, negative for never
		fails error         // what an update comes to that has landed
		open  bool          // the form, where it never lands
		to    answeredView  // where the last update goes
		most  int           // updates
	}{
		"at once":        {to: answeredView{external: "secret"}, most: 1},
		"soon":           {lands: 40 * time.Millisecond, to: answeredView{external: "secret"}, most: 2},
		"after 3 s":      {lands: 3 * time.Second, to: answeredView{external: "secret"}, most: 8},
		"refused":        {fails: refused, to: answeredView{external: "secret"}, most: 1},
		"unknown":        {fails: errors.New("connection reset"), to: answeredView{external: "secret"}, most: 1},
		"never":          {lands: -1, open: true, to: answeredView{view: "V1"}, most: 9},
		"never, closed":  {lands: -1, fails: unknown, to: answeredView{view: "V1"}, most: 9},
		"landed, closed": {fails: unknown, to: answeredView{view: "V1"}, most: 9},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				var tried []answeredView
				err := onceLanded(t.Context(), untilLanded(), at, func(to answeredView) error {
					tried = append(tried, to)
					landed := c.lands >= 0 && time.Since(began) >= c.lands
					if landed || c.open && to.view != "" {
						return c.fails
					}
					return unknown
				})
				if fmt.Sprint(err) != fmt.Sprint(c.fails) {
					t.Errorf("it comes to %v, want %v", err, c.fails)
				}
				if last := tried[len(tried)-1]; last != c.to || len(tried) > c.most {
					t.Errorf("%d updates, the last to %+v; want at most %d, and %+v", len(tried), last, c.most, c.to)
				}
				if took := time.Since(began); took > 4*time.Second {
					t.Errorf("it takes %v", took)
				}
			})
		})
	}
}
