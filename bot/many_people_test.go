package bot

import (
	"fmt"
	"testing"

	"countersign/agent/scripted"
	"countersign/internal/slackdev"
)

// TestManyPeopleMentionAtOnce: more people mention the bot than Slack says who they are within a minute. Each gets a
// card, nobody is told to try again, and somebody decides meanwhile.
func TestManyPeopleMentionAtOnce(t *testing.T) {
	t.Parallel()
	const channels, each = 50, 3
	var all []slackdev.Channel
	users := slackdev.DefaultUsers()
	known := len(users)
	for i := range channels {
		in := []string{"U0BEN"}
		for n := range each {
			id := fmt.Sprintf("U0MANY%02d%d", i, n)
			users, in = append(users, slackdev.User{ID: id}), append(in, id)
		}
		all = append(all, slackdev.Channel{ID: fmt.Sprintf("C%03d", i), Members: in, BotMember: true})
	}
	w := startWorld(t, &world{
		policy: everybody{}, script: script{pay("call_1"), scripted.Say("Paid.")},
		with: slackdev.Config{Channels: all, Users: users, RateLimits: true},
	})
	for n := range each {
		for i := range channels {
			who := users[known+i*each+n].ID
			if _, err := w.slack.Post(w.ctx(), who, all[i].ID, "<@U0BOT> pay acme", ""); err != nil {
				t.Fatal(err)
			}
		}
	}
	cards := func() (found []slackdev.Message) {
		for _, c := range all {
			for _, m := range w.slack.Messages(c.ID) {
				if m.Metadata != nil && m.Metadata.EventType == cardEvent {
					found = append(found, m)
				}
			}
		}
		return found
	}
	w.eventually("the first card", func() bool { return len(cards()) > 0 })
	if err := w.click("U0BEN", cards()[0], "approve"); err != nil {
		t.Errorf("somebody who decides meanwhile: %v", err)
	}
	w.eventually("a card for each of them", func() bool { return len(cards()) == channels*each })
	w.eventually("the payment", func() bool { return len(w.bank.payments()) == 1 })
	for _, u := range users {
		for _, m := range w.slack.Ephemerals(u.ID) {
			t.Errorf("%s is told %q", u.ID, m.Text)
		}
	}
	for _, c := range w.slack.Calls() {
		if c.Status == 429 && rations[c.Method] > 0 {
			t.Errorf("Slack refuses %s", c.Method)
		}
	}
}
