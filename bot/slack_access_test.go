package bot

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"countersign/internal/slackdev"
)

// TestEndedTokenIsNoReadiness: a token can end while the bot runs.
func TestEndedTokenIsNoReadiness(t *testing.T) {
	t.Parallel()
	for _, word := range []string{
		"token_expired", "invalid_auth", "account_inactive", "token_revoked", "ekm_access_denied",
	} {
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
