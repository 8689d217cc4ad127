package bot

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"countersign/approvals"
)

// TestLateClickDoesNotTurnBackACard: Cleo has approved a call, and Ben presses Approve too. While his press has the
// card shown again, the call runs, and the outbox says so on the card before that arrives. The card goes on saying that
// it ran.
func TestLateClickDoesNotTurnBackACard(t *testing.T) {
	t.Parallel()
	var s *stage
	var begun atomic.Bool
	ran := func() {
		s.service.edit(transfer(small).ID, func(r *approvals.Request) {
			r.Outcome, r.OutcomeAt = approvals.OutcomeRan, time.Now()
		})
		now := s.service.get(transfer(small).ID)
		if _, err := s.bot.Notify(s.ctx(), cardNotification(&now)); err != nil {
			t.Error(err)
		}
	}
	s = newStage(t, setUp{tune: func(b *Bot) {
		direct := b.client.http.Transport
		b.client.http = &http.Client{Timeout: *patience, Transport: roundTrip(
			func(r *http.Request) (*http.Response, error) {
				if strings.HasSuffix(r.URL.Path, methodUpdate) && begun.CompareAndSwap(false, true) {
					ran()
				}
				return direct.RoundTrip(r)
			})}
	}})
	card := s.show(transfer(small))
	press, ok := card.Press("U0BEN", "approve")
	if !ok {
		t.Fatal("nothing to press")
	}
	s.service.edit(transfer(small).ID, func(r *approvals.Request) {
		r.Status, r.Settled = approvals.RequestApproved, time.Now()
		r.Decisions = []approvals.Decision{{By: user("U0CLEO"), Verdict: approvals.Approve, At: time.Now()}}
	})
	if err := s.slack.Click(s.ctx(), press); err != nil {
		t.Fatal(err)
	}
	s.whispered("U0BEN", "Already decided. Approved by <@U0CLEO>")
	s.eventually("the card is shown again", func() bool { return calls(s, methodUpdate) >= 2 })
	if err := s.stop(); err != nil { // which waits for what follows the click
		t.Fatal(err)
	}
	m, _ := s.slack.Message(card.Channel, card.TS)
	if got := texts(t, m.Blocks); !strings.Contains(got, wordsRan) || strings.Contains(got, wordsWaitsForTurn) {
		t.Errorf("the card says %s", got)
	}
}
