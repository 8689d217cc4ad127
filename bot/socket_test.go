package bot

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"countersign/internal/slackdev"
)

// quick makes the socket's clocks short.
func quick(b *Bot) {
	b.socket.clock = timing{
		hello: 500 * time.Millisecond, silence: 300 * time.Millisecond, ping: 50 * time.Millisecond, write: 200 * time.Millisecond,
		linger: 50 * time.Millisecond, lived: 20 * time.Millisecond,
		firstWait: 10 * time.Millisecond, mostWait: 40 * time.Millisecond, slowWait: 300 * time.Millisecond,
	}
}

func TestSocketIsReplacedWithoutAGap(t *testing.T) {
	t.Parallel()
	for _, reason := range []string{"warning", "refresh_requested"} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, setUp{tune: quick})
			for i := range 5 {
				time.Sleep(30 * time.Millisecond) // let the connection live long enough to count as a good one
				s.slack.Disconnect(reason)
				if !s.bot.Ready() {
					t.Error("not ready while the connection is replaced")
				}
				s.eventually("a new connection", func() bool { return strings.Count(s.logs.String(), "socket mode: connected") == i+2 })
				s.eventually("the old one is gone", func() bool { return s.slack.Connections() == 1 })
				s.mention("U0ANN", "pay", "")
				s.eventually("mentions arrive", func() bool { return len(s.service.submitted()) == i+1 })
			}
		})
	}
}

func TestSocketComesBack(t *testing.T) {
	t.Parallel()
	s := newStage(t, setUp{tune: quick})
	for i := range 3 {
		s.slack.DropConnections()
		s.eventually("a connection", func() bool {
			return strings.Count(s.logs.String(), "socket mode: connected") == i+2 && s.slack.Connections() == 1
		})
		s.mention("U0ANN", "pay", "")
		s.eventually("mentions arrive", func() bool { return len(s.service.submitted()) == i+1 })
	}
}

func TestSocketDoesNotStorm(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		reason, words string
	}{
		{"link_disabled", "switched off in the app's settings"},
		{"too_many_websockets", "ten connections already"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, setUp{tune: quick})
			before := calls(s, methodOpenSocket)
			s.slack.Disconnect(c.reason)
			s.eventually("the reason in words", func() bool { return strings.Contains(s.logs.String(), c.words) })
			if s.bot.Ready() {
				t.Error("ready without a connection")
			}
			time.Sleep(100 * time.Millisecond)
			if n := calls(s, methodOpenSocket) - before; n > 1 {
				t.Errorf("%d new connections at once", n)
			}
			s.slack.EnableSocketMode()
			s.eventually("it comes back by itself", s.bot.Ready)
		})
	}
}

// TestSocketComesBackSoonWhenCrowded: waiting a minute for a place that is free again at once helps nobody.
func TestSocketComesBackSoonWhenCrowded(t *testing.T) {
	t.Parallel()
	s := newStage(t, setUp{tune: func(b *Bot) { quick(b); b.socket.clock.slowWait = time.Hour }})
	s.slack.Disconnect("too_many_websockets")
	s.eventually("the reason in words", func() bool { return strings.Contains(s.logs.String(), "ten connections already") })
	s.eventually("another connection", func() bool { return strings.Count(s.logs.String(), "socket mode: connected") >= 2 })
}

// TestSocketBacksOffFromHelloAndGoodbye is the regression against clients that see a hello, take it for success, and
// dial again at once, thousands of times a second.
func TestSocketBacksOffFromHelloAndGoodbye(t *testing.T) {
	t.Parallel()
	var opened atomic.Int64
	up := websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, methodOpenSocket) {
			opened.Add(1)
			w.Write([]byte(`{"ok":true,"url":"ws://` + r.Host + `/link"}`))
			return
		}
		ws, err := up.Upgrade(w, r, nil)
		if err != nil {
			return
		}
		ws.WriteMessage(websocket.TextMessage, []byte(`{"type":"hello"}`))
		ws.WriteMessage(websocket.TextMessage, []byte(`{"type":"disconnect","reason":"refresh_requested"}`))
		ws.ReadMessage()
		ws.Close()
	}))
	defer server.Close()
	b := lonely(t, server.URL)
	b.socket.clock.firstWait, b.socket.clock.mostWait = 50*time.Millisecond, 400*time.Millisecond
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := b.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if n := opened.Load(); n < 2 || n > 12 {
		t.Errorf("%d connections in a second", n)
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

func TestSilentConnectionIsDead(t *testing.T) {
	t.Parallel()
	var dialled atomic.Int64
	up := websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}
	held := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, methodOpenSocket) {
			w.Write([]byte(`{"ok":true,"url":"ws://` + r.Host + `/link"}`))
			return
		}
		ws, err := up.Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer ws.Close()
		dialled.Add(1)
		ws.WriteMessage(websocket.TextMessage, []byte(`{"type":"hello"}`))
		<-held // neither reads, so that pings go unanswered, nor writes
	}))
	defer server.Close()
	defer close(held)
	b := lonely(t, server.URL)
	quick(b)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- b.Run(ctx) }()
	deadline := time.Now().Add(5 * time.Second)
	for dialled.Load() < 2 && time.Now().Before(deadline) {
		time.Sleep(5 * time.Millisecond)
	}
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if dialled.Load() < 2 {
		t.Error("a silent connection was kept")
	}
}

func TestBusyHandlersDoNotStopPings(t *testing.T) {
	t.Parallel()
	s := newStage(t, setUp{tune: quick, slack: slackdev.Config{PingEvery: 30 * time.Millisecond}})
	release := make(chan struct{})
	s.service.hold = func(string) { <-release }
	for range 20 {
		s.mention("U0ANN", "pay", "")
	}
	time.Sleep(700 * time.Millisecond) // longer than silence means death
	if got := calls(s, methodOpenSocket); got != 1 || !s.bot.Ready() {
		t.Errorf("%d connections, ready %v: a busy service broke the link", got, s.bot.Ready())
	}
	close(release)
	s.eventually("all arrive", func() bool { return len(s.service.submitted()) == 20 })
}

func TestUnreadableEnvelopesAreAcknowledged(t *testing.T) {
	t.Parallel()
	s := newStage(t, setUp{slack: slackdev.Config{AckTimeout: time.Second}})
	for _, payload := range []map[string]any{
		{"type": "block_actions", "actions": "none", "secret": "do not log me"},
		{"type": "martian", "user": map[string]any{"id": "U0ANN"}},
		{"type": "view_submission", "user": map[string]any{"id": "U0ANN"}, "view": map[string]any{"callback_id": "give_up", "private_metadata": "{"}},
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
	if s.bot.Ready() {
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
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
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
