package bot

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"countersign/approvals"
	"countersign/internal/slackdev"
)

// TestNobodySeesEphemeralsOfAThreadThatIsNone: what is said about a first message has no thread yet.
func TestNobodySeesEphemeralsOfAThreadThatIsNone(t *testing.T) {
	t.Parallel()
	s := newStage(t, setUp{slack: slackdev.Config{Channels: []slackdev.Channel{
		{ID: "C0GENERAL", Name: "general", Members: []string{"U0ANN", "U0GUS"}, BotMember: true},
		{ID: "C0SHARED", Name: "shared", Members: []string{"U0ANN"}, BotMember: true, ExtShared: true},
	}}})
	if _, err := s.slack.Post(s.ctx(), "U0ANN", "C0SHARED", "<@U0BOT> tell them", ""); err != nil {
		t.Fatal(err)
	}
	s.whispered("U0ANN", "shared with another organisation")
	first := s.mention("U0ANN", "", "")
	s.whispered("U0ANN", "Tell me what to do")
	s.service.mu.Lock()
	s.service.fail = fmt.Errorf("submit: %w: a guest", approvals.ErrUnauthorized)
	s.service.mu.Unlock()
	s.mention("U0GUS", "pay", "")
	s.whispered("U0GUS", "Guests cannot start a run")
	s.mention("U0GUS", "pay", first) // a reply: now there is a thread, where it is said
	s.eventually("it is said in the thread", func() bool {
		return slices.ContainsFunc(s.slack.Ephemerals("U0GUS"), func(m slackdev.Message) bool { return m.ThreadTS == first })
	})
}

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
		}, "not one of mine"},
		{"a stranger's", func(p map[string]any) {
			p["team"] = map[string]any{"id": "T0OTHER"}
			p["user"] = map[string]any{"id": "U0STRANGE", "team_id": "T0OTHER"}
		}, "other organisations cannot decide"},
	} {
		payload := map[string]any{
			"type": "view_submission", "api_app_id": "A0DEV", "team": map[string]any{"id": "T0DEV"},
			"user": map[string]any{"id": "U0BEN", "team_id": "T0DEV"},
			"view": map[string]any{
				"id": form.ID, "type": "modal", "callback_id": form.CallbackID, "private_metadata": form.PrivateMetadata,
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

// TestDeletedMentionHasOneCard: Slack posts a reply to what was deleted into the channel. It is found there when its
// answer was lost, and what comes next stands with it.
func TestDeletedMentionHasOneCard(t *testing.T) {
	t.Parallel()
	s, r := waitingCard(t, setUp{})
	if err := s.slack.Delete(s.ctx(), "U0ANN", "C0GENERAL", r.Place.Thread); err != nil {
		t.Fatal(err)
	}
	s.slack.Fail(slackdev.Fault{Method: methodPost, Reset: true, AfterEffect: true})
	n := cardNotification(r)
	if d, err := s.bot.Notify(s.ctx(), n); err == nil {
		t.Fatalf("the fault did not show: %+v", d)
	}
	d, err := s.bot.Notify(s.ctx(), n)
	if err != nil {
		t.Fatal(err)
	}
	var cards []slackdev.Message
	for _, m := range s.slack.Messages("C0GENERAL") {
		if m.Metadata != nil && m.Metadata.EventType == cardEvent {
			cards = append(cards, m)
		}
	}
	if len(cards) != 1 || cards[0].TS != d.Message {
		t.Fatalf("%d cards; delivered %+v", len(cards), d)
	}
	answer := &approvals.Notification{
		Workspace: testWorkspace, ID: "ntf_a", Kind: approvals.NotifyAnswer, Place: r.Place, Text: "Paid.",
		Created: time.Now(),
	}
	if d, err = s.bot.Notify(s.ctx(), answer); err != nil {
		t.Fatal(err)
	}
	if m, _ := s.slack.Message(d.Channel, d.Message); m.ThreadTS != cards[0].TS {
		t.Errorf("the answer is in thread %q, the card is %s", m.ThreadTS, cards[0].TS)
	}
}

// TestRefusedThreadIsNoClosedChannel: the approvers are in the channel, the requester's direct messages are not.
func TestRefusedThreadIsNoClosedChannel(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"thread_not_found", "restricted_action_thread_locked"} {
		s, r := waitingCard(t, setUp{})
		s.slack.Fail(slackdev.Fault{Method: methodPost, Error: word, Match: func(args map[string]any) bool {
			return args["thread_ts"] != nil
		}})
		d, err := s.bot.Notify(s.ctx(), cardNotification(r))
		if err != nil || d.Channel != "C0GENERAL" {
			t.Errorf("%s: %+v, %v", word, d, err)
		}
	}
}

// TestDeletedRequestKeepsItsThread: with the card in it, the thread goes on without its first message.
func TestDeletedRequestKeepsItsThread(t *testing.T) {
	t.Parallel()
	s := newStage(t, setUp{})
	r := transfer(small)
	card := s.show(r)
	if err := s.slack.Delete(s.ctx(), "U0ANN", "C0GENERAL", card.ThreadTS); err != nil {
		t.Fatal(err)
	}
	if err := s.click("U0GUS", card, "approve"); err != nil {
		t.Fatal(err)
	}
	s.whispered("U0GUS", "Guests cannot decide")
	if err := s.click("U0BEN", card, "approve"); err != nil {
		t.Fatal(err)
	}
	done := s.service.get(r.ID)
	n := cardNotification(&done)
	n.ID = "ntf_done"
	if d, err := s.bot.Notify(s.ctx(), n); err != nil || d.Message != card.TS {
		t.Errorf("%+v, %v", d, err)
	}
}

// TestUnknownWordLeavesNoLiveButtons: Slack's words grow in number; one that nobody here knows is tried again, and then
// what was decided is said in another way.
func TestUnknownWordLeavesNoLiveButtons(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault     slackdev.Fault
		cards     int // afterwards
		unchanged bool
	}{
		"for a moment":   {slackdev.Fault{Error: "moon_phase", Times: 2}, 1, false},
		"of these words": {slackdev.Fault{Error: "moon_phase", Times: -1, Match: rich}, 1, false},
		"of all":         {slackdev.Fault{Error: "moon_phase", Times: -1}, 2, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, setUp{})
			r := transfer(small)
			card := s.show(r)
			if err := s.click("U0BEN", card, "approve"); err != nil {
				t.Fatal(err)
			}
			done := s.service.get(r.ID)
			c.fault.Method = methodUpdate
			s.slack.Fail(c.fault)
			n := cardNotification(&done)
			n.ID = "ntf_done"
			var err error
			for n.Attempts = 0; n.Attempts <= insistTries; n.Attempts++ {
				if _, err = s.bot.Notify(s.ctx(), n); err == nil {
					break
				}
				if errors.Is(err, approvals.ErrUndeliverable) {
					t.Fatalf("given up at once: %v", err)
				}
			}
			if err != nil {
				t.Fatal(err)
			}
			all := s.cards(&done)
			if len(all) != c.cards {
				t.Fatalf("%d cards", len(all))
			}
			if last := all[len(all)-1]; len(last.Buttons()) != 0 || !strings.Contains(last.Shown()+last.Text, "Approved") {
				t.Errorf("the last card: %s", last.Shown())
			}
		})
	}
}

// rich reports whether a message is more than one paragraph of words.
func rich(args map[string]any) bool {
	blocks, _ := args["blocks"].([]any)
	return len(blocks) > 1
}

// TestEndedTokenIsNoReadiness: a token can end while the bot runs.
func TestEndedTokenIsNoReadiness(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"token_expired", "invalid_auth", "account_inactive", "token_revoked", "ekm_access_denied"} {
		s, r := waitingCard(t, setUp{})
		s.slack.Fail(slackdev.Fault{Method: methodPost, Error: word})
		if _, err := s.bot.Notify(s.ctx(), cardNotification(r)); err == nil || isReady(s.bot.Ready()) {
			t.Errorf("%s: %v, ready: %v", word, err, isReady(s.bot.Ready()))
		}
		if log := s.logs.String(); strings.Count(log, "level=ERROR") != 1 || !strings.Contains(log, word) ||
			!strings.Contains(log, "SLACK_BOT_TOKEN") {
			t.Errorf("%s: the log says %s", word, log)
		}
		if _, err := s.bot.Notify(s.ctx(), cardNotification(r)); err != nil || !isReady(s.bot.Ready()) {
			t.Errorf("after %s was mended: %v, ready: %v", word, err, isReady(s.bot.Ready()))
		}
	}
	// The control: a refusal of one method says nothing about the token.
	s, r := waitingCard(t, setUp{})
	s.slack.Fail(slackdev.Fault{Method: methodPost, Error: "missing_scope"})
	if _, err := s.bot.Notify(s.ctx(), cardNotification(r)); err == nil || !isReady(s.bot.Ready()) {
		t.Errorf("missing_scope: %v", err)
	}
}

func TestRotatingTokensAreRefused(t *testing.T) {
	t.Parallel()
	for token, words := range map[string]string{
		"xoxe.xoxb-1-secret": "token rotation", "xoxe-1-secret": "token rotation", "xapp-secret": "starts with xoxb-",
	} {
		_, err := NewClient(ClientConfig{Token: token})
		if err == nil || !strings.Contains(err.Error(), "SLACK_BOT_TOKEN") || !strings.Contains(err.Error(), words) ||
			strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", token, err)
		}
	}
}

// TestClickInALargeChannelAsksAboutOnePerson: with the real rules, no click reads who is in the channel.
func TestClickInALargeChannelAsksAboutOnePerson(t *testing.T) {
	t.Parallel()
	w := newWorld(t, pay("call_1"))
	card := w.card(w.mention("U0ANN", "pay acme", ""), 1)
	users := []string{"U0ANN", "U0BEN"}
	for i := range 20_000 {
		users = append(users, fmt.Sprintf("U1%06d", i))
	}
	if err := w.slack.SetChannelMembers("C0GENERAL", users, true); err != nil {
		t.Fatal(err)
	}
	w.bot.client.members = newCache[[]string](directoryAge, 1_000)
	before := calls(w.stage, methodMembers)
	if err := w.click("U0BEN", card, "approve"); err != nil {
		t.Fatal(err)
	}
	if got := calls(w.stage, methodMembers) - before; got != 0 {
		t.Errorf("%d questions about 20,000 people", got)
	}
	w.shown(card, "Approved")
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
				{ID: "G0THREE", Name: "mpdm-ann--ben--bot-1", Group: true, Members: []string{"U0ANN", "U0BEN"}, BotMember: true},
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

// TestHomeSaysWhatBecameOfAClick: in the tab itself.
func TestHomeSaysWhatBecameOfAClick(t *testing.T) {
	t.Parallel()
	s := newStage(t, setUp{})
	r := transfer(small)
	s.service.put(r)
	if err := s.slack.OpenHome(s.ctx(), "U0BEN"); err != nil {
		t.Fatal(err)
	}
	s.eventually("a home tab", func() bool { return s.slack.HomeView("U0BEN") != nil })
	click := slackdev.Click{User: "U0BEN", ViewID: s.slack.HomeView("U0BEN").ID, ActionID: "approve"}
	if err := s.slack.Click(s.ctx(), click); err != nil {
		t.Fatal(err)
	}
	s.eventually("the tab says it", func() bool {
		return strings.Contains(s.slack.HomeView("U0BEN").Shown(), "Recorded: approve")
	})
	if err := s.stop(); err != nil {
		t.Fatal(err)
	}
	if got := s.slack.Messages(s.slack.DM("U0BEN")); len(got) != 0 || calls(s, methodOpenDM) != 0 {
		t.Errorf("a direct message came too: %+v", got)
	}
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
			for _, forged := range []bool{true, false} { // the second is the control
				p, err := s.slack.Payload(click)
				if err != nil {
					t.Fatal(err)
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

// TestOneAddressForEverything: an app may have one request URL, whichever of the three it is.
func TestOneAddressForEverything(t *testing.T) {
	t.Parallel()
	for _, path := range []string{PathEvents, PathInteractions, PathCommands} {
		s, base := newHTTPStage(t, setUp{})
		if err := s.slack.SetRequestURL(s.ctx(), slackdev.RequestURLs{Events: base + path}); err != nil {
			t.Fatal(err)
		}
		r := transfer(small)
		card := s.show(r) // by a mention
		if err := s.click("U0BEN", card, "approve"); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		if got := s.service.get(r.ID).Decisions; len(got) != 1 {
			t.Errorf("%s: %d decisions", path, len(got))
		}
		if err := s.slack.Command(s.ctx(), "U0BEN", "C0GENERAL", slashCommand, "help"); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		s.whispered("U0BEN", "one request in full")
		for _, body := range []string{`{"type":"event_callback"}`, url.Values{"payload": {"{}"}}.Encode()} {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+path, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != http.StatusUnauthorized {
				t.Errorf("%s, unsigned: HTTP %d", path, resp.StatusCode)
			}
		}
	}
}
