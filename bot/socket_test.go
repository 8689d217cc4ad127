package bot

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"
	"github.com/slack-go/slack"

	"countersign/internal/slackdev"
)

func TestSocketIsReplacedWithoutAGap(t *testing.T) {
	t.Parallel()
	for _, reason := range []string{"warning", "refresh_requested"} {
		synctest.Test(t, func(t *testing.T) {
			slowly := func(ws *websocket.Conn) { time.Sleep(3 * time.Second); hello(ws) }
			l := newLine(t, slowly)
			l.wait(4 * time.Second)
			for i := range 5 {
				l.wait(time.Minute)
				l.expect(reason+": before", i+1, 1, true)
				l.say(disconnect(reason))
				l.expect(reason+": while the new one is silent", i+2, 2, true)
				l.wait(4 * time.Second)
				l.expect(reason+": after hello, the old one may still carry acknowledgements", i+2, 2, true)
				l.wait(6 * time.Second)
				l.expect(reason+": the old one is gone", i+2, 1, true)
				l.say(mentionFrame(i))
				if got := len(l.service.submitted()); got != i+1 {
					t.Errorf("%s: %d of %d mentions arrived", reason, got, i+1)
				}
			}
		})
	}
}

// mentionFrame is an envelope with the n-th mention.
func mentionFrame(n int) []byte {
	return fmt.Appendf(nil, `{"type":"events_api","envelope_id":"e%d","payload":{`+
		`"type":"event_callback","team_id":"T0DEV","event_id":"Ev%[1]d",`+
		`"event":{"type":"app_mention","user":"U0ANN","text":"<@U0BOT> pay","channel":"C0GENERAL",`+
		`"ts":"1700000000.%06[1]d"}}}`, n)
}

func TestSocketComesBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLine(t, hello)
		for i := range 3 {
			l.wait(time.Minute)
			l.drop()
			l.expect("after a good connection broke", i+2, 1, true)
			l.say(mentionFrame(i))
			if got := len(l.service.submitted()); got != i+1 {
				t.Errorf("%d of %d mentions arrived", got, i+1)
			}
		}
		l.drop()
		l.expect("after a young connection broke", 4, 0, false)
		l.wait(time.Second)
		l.expect("a moment later", 5, 1, true)
	})
}

func TestSocketSwitchedOffIsTriedRarely(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLine(t, hello)
		l.wait(time.Minute)
		l.say(disconnect("link_disabled"))
		if !strings.Contains(l.logs.String(), "switched off in the app's settings") {
			t.Errorf("the log does not say why: %s", l.logs)
		}
		l.expect("switched off", 1, 1, false)
		l.wait(29 * time.Second)
		l.expect("half a minute later", 1, 1, false)
		l.wait(38 * time.Second)
		l.expect("a minute later", 2, 1, true)
	})
}

// TestDismissedConnectionIsNotReady: Slack leaves a connection open that it will never use again. While no other can be
// had, the bot hears nothing. After a warning, which is the control, it still does.
func TestDismissedConnectionIsNotReady(t *testing.T) {
	t.Parallel()
	for reason, ready := range map[string]bool{"warning": true, "link_disabled": false, "too_many_websockets": false} {
		synctest.Test(t, func(t *testing.T) {
			l := newLine(t, hello)
			l.wait(time.Minute)
			l.mu.Lock()
			l.refuse = errors.New("the network is down")
			l.mu.Unlock()
			l.say(disconnect(reason))
			l.wait(2 * time.Minute)
			if l.attempts() < 2 || isReady(l.bot.Ready()) != ready {
				t.Errorf("%s: %d addresses asked for, ready %v, want %v",
					reason, l.attempts(), isReady(l.bot.Ready()), ready)
			}
		})
	}
}

// TestSocketComesBackSoonWhenCrowded: waiting a minute for a place that is free again at once helps nobody, and asking
// without a pause helps nobody either.
func TestSocketComesBackSoonWhenCrowded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLine(t, hello)
		l.say(disconnect("too_many_websockets"))
		if !strings.Contains(l.logs.String(), "ten connections already") {
			t.Errorf("the log does not say why: %s", l.logs)
		}
		l.expect("sent away", 1, 1, false)
		l.wait(time.Second)
		l.expect("a second later, while the old one lingers", 2, 2, true)

		l.mu.Lock()
		l.greet = func(ws *websocket.Conn) {
			_ = ws.WriteMessage(websocket.TextMessage, disconnect("too_many_websockets"))
		}
		l.mu.Unlock()
		l.drop()
		l.wait(10 * time.Minute)
		if n := l.attempts(); n < 50 || n > 140 || isReady(l.bot.Ready()) {
			t.Errorf("%d attempts in ten minutes, ready %v", n, isReady(l.bot.Ready()))
		}
	})
}

// TestSocketBacksOffFromHelloAndGoodbye is the regression against clients that see a hello, take it for success, and
// dial again at once, thousands of times a second.
func TestSocketBacksOffFromHelloAndGoodbye(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLine(t, func(ws *websocket.Conn) {
			hello(ws)
			_ = ws.WriteMessage(websocket.TextMessage, disconnect("refresh_requested"))
		})
		l.wait(time.Minute)
		if n := l.attempts(); n < 6 || n > 20 {
			t.Errorf("%d connections in a minute", n)
		}
	})
}

// TestSocketWaitsAsLongAsSlackAsks: who asks again before that is sent away for longer.
func TestSocketWaitsAsLongAsSlackAsks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLine(t, hello)
		l.wait(time.Minute)
		l.mu.Lock()
		l.refuse = fmt.Errorf("call: %w", &slack.RateLimitedError{RetryAfter: 45 * time.Second})
		l.mu.Unlock()
		l.drop()
		l.expect("sent away", 2, 0, false)
		l.mu.Lock()
		l.refuse = nil
		l.mu.Unlock()
		l.wait(44 * time.Second)
		l.expect("before its time", 2, 0, false)
		l.wait(2 * time.Second)
		l.expect("in its time", 3, 1, true)
	})
}

func TestSilentConnectionIsDead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLine(t, deaf)
		l.wait(39 * time.Second)
		l.expect("silent for a while", 1, 1, true)
		l.meet(hello)
		l.wait(2 * time.Second)
		l.expect("silent for too long", 2, 1, true)
		l.wait(time.Hour)
		l.expect("the control, a connection that only answers pings", 2, 1, true)
	})
}

func TestBusyHandlersDoNotStopPings(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLine(t, hello)
		release := make(chan struct{})
		l.service.hold = func(string) { <-release }
		for i := range 20 {
			l.say(mentionFrame(i))
		}
		l.wait(5 * time.Minute) // longer than silence means death
		l.expect("while the service is busy", 1, 1, true)
		close(release)
		synctest.Wait()
		if got := len(l.service.submitted()); got != 20 {
			t.Errorf("%d of 20 mentions arrived", got)
		}
	})
}

// quick makes the waits between connections short. How long a connection may be silent or slow stays as it is.
func quick(b *Bot) {
	b.socket.clock.firstWait, b.socket.clock.mostWait = 10*time.Millisecond, 40*time.Millisecond
}

// TestSocketModeSurvivesLostConnections does over TCP, against the workspace, what TestSocketComesBack does in detail.
func TestSocketModeSurvivesLostConnections(t *testing.T) {
	t.Parallel()
	s := newStage(t, setUp{tune: quick})
	for i := range 3 {
		s.slack.DropConnections()
		s.eventually("another connection", func() bool {
			return calls(s, methodOpenSocket) >= i+2 && s.slack.Connections() > 0
		})
		s.mention("U0ANN", "pay", "")
		s.eventually("mentions arrive", func() bool { return len(s.service.submitted()) == i+1 })
	}
}

// TestSuspendedAccessEndsNoBot: what keeps a start from beginning is tried again by a bot that is at work.
func TestSuspendedAccessEndsNoBot(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"ekm_access_denied", "team_access_not_granted"} {
		s := newStage(t, setUp{tune: quick})
		s.slack.Fail(slackdev.Fault{Method: methodOpenSocket, Error: word, Times: 2})
		s.slack.DropConnections()
		s.eventually("another connection", func() bool {
			return calls(s, methodOpenSocket) >= 4 && s.slack.Connections() > 0
		})
	}
}

// lonely is a bot that talks to a server of the test's own.
func lonely(t *testing.T, base string) *Bot {
	t.Helper()
	client, err := NewClient(ClientConfig{Token: "xoxb-test", APIURL: base + "/api/"})
	if err != nil {
		t.Fatal(err)
	}
	b, err := New(Config{Client: client, Service: newFakeService(), AppToken: "xapp-test", DefaultAgent: "ops"})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestUnreadableEnvelopesAreAcknowledged(t *testing.T) {
	t.Parallel()
	s := newStage(t, setUp{})
	for _, payload := range []map[string]any{
		{"type": "block_actions", "actions": "none", "secret": "do not log me"},
		{"type": "martian", "user": map[string]any{"id": "U0ANN"}},
		{"type": "view_submission", "user": map[string]any{"id": "U0ANN"},
			"view": map[string]any{"callback_id": "give_up", "private_metadata": "{"}},
	} {
		if err := s.slack.ClickRaw(s.ctx(), payload); err != nil {
			t.Errorf("%v: %v", payload["type"], err)
		}
	}
	if strings.Contains(s.logs.String(), "do not log me") {
		t.Error("a payload was logged")
	}
}

func TestStoppingLetsHandlersFinish(t *testing.T) {
	t.Parallel()
	s := newStage(t, setUp{})
	r := transfer(small)
	card := s.show(r)
	reached, release := make(chan struct{}), make(chan struct{})
	s.service.hold = func(what string) {
		if what == "decide" {
			close(reached)
			<-release
		}
	}
	clicked := make(chan error, 1)
	go func() { clicked <- s.click("U0BEN", card, "approve") }()
	<-reached
	stopped := make(chan error, 1)
	go func() { stopped <- s.stop() }()
	close(release)
	if err := <-clicked; err != nil {
		t.Errorf("a click under way was not acknowledged: %v", err)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	if isReady(s.bot.Ready()) {
		t.Error("ready after the end")
	}
}

// TestLargeAnswerStillAcknowledges: Slack drops acknowledgements of 20 KiB and more without a word.
func TestLargeAnswerStillAcknowledges(t *testing.T) {
	t.Parallel()
	arrived := make(chan envelope, 1)
	s := newStage(t, setUp{tune: func(b *Bot) { b.socket.deliver = func(e envelope) { arrived <- e } }})
	clicked := make(chan error, 1)
	go func() { clicked <- s.slack.ClickRaw(s.ctx(), map[string]any{"type": "view_submission"}) }()
	e := <-arrived
	if err := s.bot.socket.ack(e.by, e.ID, map[string]string{"text": strings.Repeat("x", 20<<10)}); err != nil {
		t.Fatal(err)
	}
	if err := <-clicked; err != nil {
		t.Error(err)
	}
}

func TestCheckNamesTheVariable(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ method, word, variable string }{
		{methodAuthTest, "invalid_auth", "SLACK_BOT_TOKEN"},
		{methodAuthTest, "account_inactive", "SLACK_BOT_TOKEN"},
		{methodAuthTest, "team_access_not_granted", "SLACK_BOT_TOKEN"},
		{methodAuthTest, "ekm_access_denied", "SLACK_BOT_TOKEN"},
		{methodAuthTest, "two_factor_setup_required", "SLACK_BOT_TOKEN"},
		{methodAuthTest, "accesslimited", "SLACK_BOT_TOKEN"},
		{methodOpenSocket, "ekm_access_denied", "SLACK_APP_TOKEN"},
		{methodOpenSocket, "not_allowed_token_type", "SLACK_APP_TOKEN"},
		{methodOpenSocket, "missing_scope", "SLACK_APP_TOKEN"},
	} {
		ws, err := slackdev.Start(slackdev.Config{Scopes: neededScopes()})
		if err != nil {
			t.Fatal(err)
		}
		defer ws.Close()
		b := lonely(t, strings.TrimSuffix(ws.APIURL(), "/api/"))
		b.client.token, b.app = ws.Config().BotToken, ws.Config().AppToken
		ws.Fail(slackdev.Fault{Method: c.method, Error: c.word})
		err = b.Check(t.Context())
		var refused *TokenError
		if !errors.As(err, &refused) || refused.Word != c.word || refused.Variable != c.variable {
			t.Errorf("%s %s: %v", c.method, c.word, err)
		}
		if err := b.Check(t.Context()); err != nil {
			t.Errorf("the control, without a fault: %v", err)
		}
	}
}

func TestCheckComparesScopes(t *testing.T) {
	t.Parallel()
	ws, err := slackdev.Start(slackdev.Config{Scopes: []string{"chat:write", "commands"}})
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	b := lonely(t, strings.TrimSuffix(ws.APIURL(), "/api/"))
	b.client.token, b.app = ws.Config().BotToken, ws.Config().AppToken
	var lacks *ScopeError
	if err := b.Check(t.Context()); !errors.As(err, &lacks) || len(lacks.Missing) != len(neededScopes())-2 {
		t.Errorf("got %v", err)
	}
}

func TestRefusedAppTokenEndsRun(t *testing.T) {
	t.Parallel()
	ws, err := slackdev.Start(slackdev.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	b := lonely(t, strings.TrimSuffix(ws.APIURL(), "/api/"))
	ctx, cancel := context.WithTimeout(t.Context(), *patience)
	defer cancel()
	var refused *TokenError
	if err := b.Run(ctx); !errors.As(err, &refused) || refused.Variable != "SLACK_APP_TOKEN" {
		t.Errorf("Run returned %v", err)
	}
}

func TestSecretsStayOutOfErrorsAndLogs(t *testing.T) {
	t.Parallel()
	s := newStage(t, setUp{tune: quick})
	s.slack.Fail(slackdev.Fault{Method: "*", Reset: true, Times: 6})
	s.slack.DropConnections()
	r := transfer(small)
	_, err := s.bot.Notify(s.ctx(), cardNotification(r))
	s.eventually("a connection", func() bool { return s.slack.Connections() == 1 })
	if _, bad := s.slack.Post(s.ctx(), "U0ANN", "C0GENERAL", "<@U0BOT>", ""); bad != nil {
		t.Fatal(bad)
	}
	s.whispered("U0ANN", "Tell me")
	all := s.logs.String()
	if err != nil {
		all += err.Error()
	}
	for _, secret := range []string{"xoxb-", "xapp-", "ticket=", "dev-signing-secret", "acme"} {
		if strings.Contains(all, secret) {
			t.Errorf("%q in logs or errors", secret)
		}
	}
	if !strings.Contains(all, "socket mode") {
		t.Error("the log has nothing of the connection: the test proves nothing")
	}
}
