package bot

import (
	"slices"
	"strings"
	"testing"
	"time"

	"countersign/approvals"
	"countersign/internal/slackdev"
)

// TestFormFromAnotherWorkspace: the team of a form is that of whoever submits it, here of a stranger in a shared
// channel; the refusal takes the form's place.
func TestFormFromAnotherWorkspace(t *testing.T) {
	t.Parallel()
	users := append(slackdev.DefaultUsers(), slackdev.User{ID: "U0STRANGE", TeamID: "T0OTHER", Stranger: true})
	s := newStage(t, setUp{slack: slackdev.Config{Users: users}})
	r := transfer(small)
	card := s.show(r)
	if err := s.click("U0BEN", card, "reject_with_reason"); err != nil {
		t.Fatal(err)
	}
	form := s.modalOf("U0BEN", "reject_with_reason")
	for _, c := range []struct {
		why   string
		forge func(payload map[string]any)
		words string
	}{
		{"a form of another workspace's app", func(p map[string]any) {
			p["view"].(map[string]any)["app_installed_team_id"] = "T0OTHER"
		}, "another workspace"},
		{"a form of nobody knows what", func(p map[string]any) {
			p["view"].(map[string]any)["callback_id"] = "song"
		}, ""},
		{"a form whose request is lost", func(p map[string]any) {
			p["view"].(map[string]any)["private_metadata"] = "{"
		}, "cannot read this form"},
		{"a stranger's", func(p map[string]any) {
			p["team"] = map[string]any{"id": "T0OTHER"}
			p["user"] = map[string]any{"id": "U0STRANGE", "team_id": "T0OTHER"}
		}, "other organisations cannot decide"},
	} {
		payload := map[string]any{
			"type": "view_submission", "api_app_id": "A0DEV", "team": map[string]any{"id": "T0DEV"},
			"user": map[string]any{"id": "U0BEN", "team_id": "T0DEV"},
			"view": map[string]any{
				"id": form.ID, "type": "modal", "callback_id": form.CallbackID,
				"private_metadata":      form.PrivateMetadata,
				"app_installed_team_id": "T0DEV", "hash": form.Hash,
				"state": map[string]any{"values": map[string]any{
					inputBlock: map[string]any{inputAction: map[string]any{"value": "because"}},
				}},
			},
		}
		c.forge(payload)
		if err := s.slack.ClickRaw(s.ctx(), payload); err != nil {
			t.Errorf("%s: %v", c.why, err)
		}
		all := s.slack.Deliveries()
		ack := string(all[len(all)-1].AckPayload)
		if !strings.Contains(ack, c.words) || !strings.Contains(ack, "response_action") {
			t.Errorf("%s is acknowledged with %q, which closes it as if it had been taken", c.why, ack)
		}
	}
	if got := s.service.get(r.ID).Decisions; len(got) != 0 {
		t.Fatalf("decided: %+v", got)
	}
	// The control: a member of a workspace of the same organisation who is at home elsewhere would be judged by what
	// they are, and Ben's own form counts.
	if _, err := s.slack.Submit(s.ctx(), "U0BEN", form.ID, reasoned("no")); err != nil {
		t.Fatal(err)
	}
	if got := s.service.get(r.ID).Decisions; len(got) != 1 {
		t.Errorf("decisions: %+v", got)
	}
}

// TestMentionInAGroupMessage: Slack may say it twice, once, or in the other way; it is taken once.
func TestMentionInAGroupMessage(t *testing.T) {
	t.Parallel()
	for name, events := range map[string][]string{
		"both": {"app_mention", "message.mpim"}, "the message alone": {"message.mpim"}, "the mention": {"app_mention"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, setUp{slack: slackdev.Config{Events: events, Channels: []slackdev.Channel{
				{ID: "G0THREE", Group: true, Members: []string{"U0ANN", "U0BEN"}, BotMember: true},
			}}})
			for _, text := range []string{"what do you think, ben?", "<@U0BOT> pay acme"} {
				if _, err := s.slack.Post(s.ctx(), "U0ANN", "G0THREE", text, ""); err != nil {
					t.Fatal(err)
				}
			}
			s.acknowledged()
			got := s.service.submitted()
			if len(got) != 1 || got[0].Text != "pay acme" || got[0].Place.Direct || got[0].Place.Channel != "G0THREE" {
				t.Errorf("submissions: %+v", got)
			}
			for _, who := range []string{"U0BEN", "U0CLEO"} {
				in, err := s.bot.client.InChannel(s.ctx(), testWorkspace, "G0THREE", user(who), time.Now())
				if in != (who == "U0BEN") || err != nil {
					t.Errorf("%s in the group: %v, %v", who, in, err)
				}
			}
		})
	}
}

// acknowledged waits until every delivery is.
func (s *stage) acknowledged() {
	s.t.Helper()
	s.eventually("every delivery is acknowledged", func() bool {
		all := s.slack.Deliveries()
		return len(all) > 0 && !slices.ContainsFunc(all, func(d slackdev.Delivery) bool { return d.Acked.IsZero() })
	})
}

// TestEditedMentionStartsOneRun: an edit that adds a mention raises app_mention, and so does each edit after it.
func TestEditedMentionStartsOneRun(t *testing.T) {
	t.Parallel()
	s := newStage(t, setUp{})
	ts, err := s.slack.Post(s.ctx(), "U0ANN", "C0GENERAL", "pay acme", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"<@U0BOT> pay acme", "<@U0BOT> pay acme 500", "<@U0BOT> pay acme 600"} {
		if err := s.slack.Edit(s.ctx(), "U0ANN", "C0GENERAL", ts, text); err != nil {
			t.Fatal(err)
		}
		s.acknowledged()
	}
	if got := s.service.submitted(); len(got) != 1 || got[0].Text != "pay acme" {
		t.Errorf("submissions: %+v", got)
	}
	if n := len(s.slack.EventIDs("app_mention")); n != 3 {
		t.Errorf("%d events", n)
	}
	const words = "what you changed in your message afterwards"
	told := func(user string) (n int) {
		for _, m := range s.slack.Ephemerals(user) {
			n += strings.Count(m.Text, words)
		}
		return n
	}
	s.eventually("Ann is told of both edits", func() bool { return told("U0ANN") == 2 })
	for _, id := range s.slack.EventIDs("app_mention") {
		if err := s.slack.Redeliver(id); err != nil {
			t.Fatal(err)
		}
	}
	s.acknowledged()
	s.stop()
	if n := told("U0ANN"); n != 2 {
		t.Errorf("Ann is told %d times", n)
	}
}

// TestEditedDirectMessage: whoever changes what they have asked for reads that it stays as it was. What Slack adds to a
// message, and what the bot changes in its own, is no edit.
func TestEditedDirectMessage(t *testing.T) {
	t.Parallel()
	s := newStage(t, setUp{})
	const words = "what you changed in your message afterwards"
	ts, err := s.slack.Post(s.ctx(), "U0ANN", s.slack.DM("U0ANN"), "pay acme 500", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"pay acme 500", "pay acme 600"} {
		if err := s.slack.Edit(s.ctx(), "U0ANN", s.slack.DM("U0ANN"), ts, text); err != nil {
			t.Fatal(err)
		}
	}
	s.whispered("U0ANN", words)
	s.acknowledged()
	s.stop()
	if n := len(s.slack.Ephemerals("U0ANN")); n != 1 {
		t.Errorf("Ann is told %d times", n)
	}
	if got := s.service.submitted(); len(got) != 1 {
		t.Errorf("submissions: %+v", got)
	}
}

// TestOrganisationInstall: payloads name the organisation, and no team.
func TestOrganisationInstall(t *testing.T) {
	t.Parallel()
	s := newStage(t, setUp{slack: slackdev.Config{
		OrgInstall: true, Team: slackdev.Team{ID: "T0DEV", EnterpriseID: "E0DEV"},
	}})
	s.mention("U0ANN", "pay", "")
	s.eventually("the run is submitted", func() bool { return len(s.service.submitted()) == 1 })
	if got := s.service.submitted()[0]; got.Workspace != "E0DEV" || got.Requester != "E0DEV/U0ANN" {
		t.Errorf("submission: %+v", got)
	}
	if err := s.slack.Command(s.ctx(), "U0ANN", "C0GENERAL", slashCommand, "help"); err != nil {
		t.Fatal(err)
	}
	s.whispered("U0ANN", "one request in full")
	if err := s.slack.Shortcut(s.ctx(), "U0ANN", shortcutPending); err != nil {
		t.Fatal(err)
	}
	s.modalOf("U0ANN", viewList)
}

// TestEarlyClickIsJudgedByItsMessage: before the place of a card is recorded, another message with its buttons is none.
func TestEarlyClickIsJudgedByItsMessage(t *testing.T) {
	t.Parallel()
	type payload = map[string]any
	for why, forge := range map[string]func(message payload, p payload){
		"somebody else's message": func(m, _ payload) { m["user"], m["bot_id"] = "U0ROBOT", "B0ROBOT" },
		"no card":                 func(m, _ payload) { delete(m, "metadata") },
		"another request's card": func(m, _ payload) {
			m["metadata"].(payload)["event_payload"].(payload)["request"] = "req_01arz3ndektsv4rrffq69g5faa"
		},
		"another thread": func(m, p payload) { p["container"].(payload)["thread_ts"] = "1.000001" },
		"another channel": func(_, p payload) {
			p["container"].(payload)["channel_id"], p["channel"].(payload)["id"] = "C0OTHER", "C0OTHER"
		},
	} {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, setUp{})
			r := transfer(small)
			card := s.show(r)
			s.service.edit(r.ID, func(r *approvals.Request) { r.Cards = nil })
			click := slackdev.Click{User: "U0BEN", Channel: card.Channel, TS: card.TS, ActionID: "approve"}
			genuine, err := s.slack.Payload(click) // before a forged one has the card's buttons taken away
			if err != nil {
				t.Fatal(err)
			}
			for _, forged := range []bool{true, false} { // the second is the control
				p := genuine
				if forged {
					if p, err = s.slack.Payload(click); err != nil {
						t.Fatal(err)
					}
				}
				if forged {
					forge(p["message"].(payload), p)
				}
				if err := s.slack.ClickRaw(s.ctx(), p); err != nil {
					t.Fatal(err)
				}
				if got := s.service.get(r.ID).Decisions; (len(got) == 0) != forged {
					t.Errorf("forged: %v, decisions: %+v", forged, got)
				}
			}
		})
	}
}
