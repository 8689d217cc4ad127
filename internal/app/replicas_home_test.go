package app_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"countersign/internal/slackdev"
)

// TestHomeOfAnotherReplica: a person has the Home tab open, of which Slack has told one replica. What others decide by
// clicks that come to either replica leaves the tab, with its buttons.
func TestHomeOfAnotherReplica(t *testing.T) {
	t.Parallel()
	const threads = 4
	r := newReplicas(t, settings{slack: slackdev.Config{AckTimeout: 20 * time.Second}})
	var cards []slackdev.Message
	for i := range threads {
		cards = append(cards, r.card(r.mention(fmt.Sprint("pay 1", i)), 1))
	}
	if err := r.slack.OpenHome(r.ctx, cleo); err != nil {
		t.Fatal(err)
	}
	home := func() string {
		if v := r.slack.HomeView(cleo); v != nil {
			return v.Shown()
		}
		return ""
	}
	r.until("the tab lists all", func() bool {
		for i := range threads {
			if !strings.Contains(home(), fmt.Sprint("pay: 1", i)) {
				return false
			}
		}
		return true
	})
	for _, card := range cards {
		r.mustClick(ben, card, "approve")
	}
	r.until("nothing waits on the tab", func() bool { return strings.Contains(home(), "Nothing waits") })
	by := map[int]int{}
	for _, d := range r.slack.Deliveries() {
		by[d.Conn]++
	}
	if len(by) != 2 {
		t.Errorf("control: everything came by one connection: %v", by)
	}
}
