package bot

import (
	"strings"
	"testing"

	"countersign/agent/scripted"
	"countersign/internal/slackdev"
)

// TestOnlyAdminsPostInTheChannel: the bot may not post where it was asked. Whoever asked finds the card, and what came
// of it, in the conversation with the bot.
func TestOnlyAdminsPostInTheChannel(t *testing.T) {
	t.Parallel()
	users := slackdev.DefaultUsers()
	for i := range users {
		users[i].Admin = true
	}
	channels := slackdev.DefaultChannels(users)
	channels[0].AdminsPost = true
	w := startWorld(t, &world{
		policy: everybody{}, with: slackdev.Config{Users: users, Channels: channels},
		script: script{pay("call_1"), scripted.Say("Acme has its money.")},
	})
	w.mention("U0ANN", "pay acme", "")
	card := w.copyIn(w.slack.DM("U0ANN"))
	if err := w.click("U0ANN", card, "approve"); err != nil {
		t.Fatal(err)
	}
	w.hears("U0ANN", "Acme has its money.")
	if got := len(w.bank.payments()); got != 1 {
		t.Errorf("%d payments", got)
	}
}

// TestCommandWhoseChannelIsArchived: nothing can be said any more where the command was given. The answer comes as a
// direct message.
func TestCommandWhoseChannelIsArchived(t *testing.T) {
	t.Parallel()
	s := newStage(t, setUp{})
	r := transfer(small)
	s.show(r)
	s.slack.Fail(slackdev.Fault{Method: "response_url", Status: 410, Error: "channel_is_archived"})
	s.slack.Fail(slackdev.Fault{Method: "chat.postEphemeral", Error: "is_archived"})
	if err := s.slack.Command(s.ctx(), "U0BEN", "C0GENERAL", "/approvals", ""); err != nil {
		t.Fatal(err)
	}
	s.eventually("the list is in the conversation with the bot", func() bool {
		for _, m := range s.slack.Messages(s.slack.DM("U0BEN")) {
			if strings.Contains(texts(t, m.Blocks), "transfer_funds") {
				return true
			}
		}
		return false
	})
}
