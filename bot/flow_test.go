package bot

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"countersign/approvals"
	"countersign/internal/slackdev"
)

// stage is a workspace with a running bot.
type stage struct {
	t       *testing.T
	slack   *slackdev.Workspace
	service *fakeService
	bot     *Bot
	logs    *logs
	stop    func() error
}

// setUp changes the parts of a stage before it starts.
type setUp struct {
	slack slackdev.Config
	mode  Mode
	tune  func(*Bot)
}

// patience bounds what a test waits for. It is far beyond what anything takes, also on a busy machine, and is Slack's
// patience too where a test does not speak of it: no test fails because the machine was slow.
var patience = flag.Duration("patience", time.Minute, "how long a test waits for what must come")

// newStage starts a workspace and a bot, and stops both at the end of the test.
func newStage(t *testing.T, with setUp) *stage {
	t.Helper()
	if with.slack.Mode == "" {
		with.slack.Mode = slackdev.ModeSocket
	}
	with.slack.Scopes = neededScopes()
	if with.slack.Events == nil {
		with.slack.Events = slices.Sorted(maps.Keys(eventScopes)) // which manifest.yaml is compared with
	}
	if with.slack.RetryAfter == nil {
		with.slack.RetryAfter = []time.Duration{0}
	}
	if with.slack.AckTimeout == 0 {
		with.slack.AckTimeout = *patience
	}
	with.slack.TriggerLife = *patience
	ws, err := slackdev.Start(with.slack)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ws.Close() })
	s := &stage{t: t, slack: ws, service: newFakeService(), logs: &logs{}}
	t.Cleanup(func() {
		s.service.mu.Lock()
		defer s.service.mu.Unlock()
		if s.service.hurried {
			t.Error("a mention does not let clicks go first")
		}
		if s.service.undated {
			t.Error("an answer does not say when it arrived")
		}
	})
	logger := slog.New(slog.NewTextHandler(s.logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
	client, err := NewClient(ClientConfig{Token: ws.Config().BotToken, APIURL: ws.APIURL(), Logger: logger})
	if err != nil {
		t.Fatal(err)
	}
	s.service.directory = client
	s.bot, err = New(Config{
		Client: client, Service: s.service, Mode: with.mode, AppToken: ws.Config().AppToken,
		SigningSecret: ws.Config().SigningSecret, DefaultAgent: "ops", Logger: logger,
	})
	if err != nil {
		t.Fatal(err)
	}
	s.bot.landing = patientLanding()
	if with.tune != nil {
		with.tune(s.bot)
	}
	s.start()
	return s
}

// start runs the bot until stop.
func (s *stage) start() {
	s.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.bot.Run(ctx) }()
	var once sync.Once
	var result error
	s.stop = func() error {
		once.Do(func() { cancel(); result = <-done })
		return result
	}
	s.t.Cleanup(func() { s.stop() })
	s.eventually("the bot is ready", func() bool { return isReady(s.bot.Ready()) })
}

// ctx bounds everything a test waits for.
func (s *stage) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), *patience)
	s.t.Cleanup(cancel)
	return ctx
}

func (s *stage) eventually(what string, cond func() bool) {
	s.t.Helper()
	deadline := time.Now().Add(*patience)
	for !cond() {
		if time.Now().After(deadline) {
			s.t.Fatalf("waited in vain: %s\n%s", what, s.logs)
		}
		time.Sleep(time.Millisecond)
	}
}

// mention posts as the user and returns the ts.
func (s *stage) mention(user, text, thread string) string {
	s.t.Helper()
	ts, err := s.slack.Post(s.ctx(), user, "C0GENERAL", "<@U0BOT> "+text, thread)
	if err != nil {
		s.t.Fatal(err)
	}
	return ts
}

// show posts the card of the request in a thread of Ann's and records where it is.
func (s *stage) show(r *approvals.Request) slackdev.Message {
	s.t.Helper()
	ts := s.mention("U0ANN", "pay the invoice", "")
	s.eventually("the run is submitted", func() bool { return len(s.service.submitted()) > 0 })
	r.Place.Thread = ts
	s.service.put(r)
	d, err := s.bot.Notify(s.ctx(), cardNotification(r))
	if err != nil {
		s.t.Fatal(err)
	}
	s.service.edit(r.ID, func(r *approvals.Request) {
		r.Cards = []approvals.Card{{Channel: d.Channel, Message: d.Message}}
	})
	m, ok := s.slack.Message(d.Channel, d.Message)
	if !ok {
		s.t.Fatalf("the card is not where the delivery says: %+v", d)
	}
	return m
}

func cardNotification(r *approvals.Request) *approvals.Notification {
	own := *r // as a worker reads a record of its own for each notification
	return &approvals.Notification{
		Workspace: r.Workspace, ID: approvals.NotificationID("ntf_" + string(r.ID)), Kind: approvals.NotifyCard,
		Place: r.Place, Run: r.Run, Request: r.ID, Created: time.Now(), Card: &own,
	}
}

// click presses the button, or the line of the menu, that stands for the action.
func (s *stage) click(user string, card slackdev.Message, action string) error {
	c, ok := card.Press(user, action)
	if !ok {
		return fmt.Errorf("%w: %s", slackdev.ErrNoElement, action)
	}
	return s.slack.Click(s.ctx(), c)
}

// clickIn is click for the window that somebody has open.
func (s *stage) clickIn(user string, v slackdev.View, action string) error {
	c, ok := v.Press(user, action)
	if !ok {
		return fmt.Errorf("%w: %s", slackdev.ErrNoElement, action)
	}
	return s.slack.Click(s.ctx(), c)
}

// submits sends the form that an action has opened, with what stands in it but for the values, which are given by the
// labels of their inputs.
func (s *stage) submits(user, callback string, values map[string]any) map[string]any {
	s.t.Helper()
	form := s.modalOf(user, callback)
	answer, err := s.slack.Submit(s.ctx(), user, form.ID, labelled(s.t, form, values))
	if err != nil {
		s.t.Fatalf("submit %s: %v", callback, err)
	}
	return answer
}

// labelled finds the inputs whose labels begin with the names.
func labelled(t *testing.T, form slackdev.View, values map[string]any) map[string]map[string]any {
	t.Helper()
	var blocks []struct {
		ID    string `json:"block_id"`
		Label struct {
			Text string `json:"text"`
		} `json:"label"`
		Element struct {
			Action string `json:"action_id"`
		} `json:"element"`
	}
	if err := json.Unmarshal(form.Blocks, &blocks); err != nil {
		t.Fatal(err)
	}
	out := map[string]map[string]any{}
	for name, value := range values {
		for _, b := range blocks {
			if b.Label.Text != "" && strings.HasPrefix(b.Label.Text, name) && out[b.ID] == nil {
				out[b.ID] = map[string]any{b.Element.Action: value}
				break
			}
		}
	}
	if len(out) != len(values) {
		t.Fatalf("not all of %v are inputs of %s", values, form.Blocks)
	}
	return out
}

// reasoned is what a form holds in which somebody has written the text.
func reasoned(text string) map[string]map[string]any {
	return map[string]map[string]any{"reason": {"text": text}}
}

// whispered waits for an ephemeral message to the user that holds the words.
func (s *stage) whispered(user, words string) {
	s.t.Helper()
	s.eventually("an ephemeral to "+user+" with "+words, func() bool {
		for _, m := range s.slack.Ephemerals(user) {
			if strings.Contains(m.Text, words) {
				return true
			}
		}
		return false
	})
}

// modalOf waits for the user's modal with the callback id.
func (s *stage) modalOf(user, callback string) slackdev.View {
	s.t.Helper()
	var found slackdev.View
	s.eventually("a modal "+callback, func() bool {
		for _, v := range s.slack.Views(user) {
			if v.CallbackID == callback {
				found = v
				return true
			}
		}
		return false
	})
	return found
}

// logs collects log lines.
type logs struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// texts joins every text in blocks, in order.
func texts(t *testing.T, blocks json.RawMessage) string {
	t.Helper()
	var v any
	if err := json.Unmarshal(blocks, &v); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			if text, ok := v["text"].(string); ok {
				b.WriteString(text)
			}
			for _, key := range []string{"text", "elements"} {
				if _, plain := v[key].(string); !plain {
					walk(v[key])
				}
			}
			if v["type"] == "user" {
				b.WriteString("@" + v["user_id"].(string))
			}
			if v["type"] == "channel" {
				b.WriteString("#" + v["channel_id"].(string))
			}
		}
	}
	walk(v)
	return b.String()
}

func TestMentionCardClickAnswer(t *testing.T) {
	t.Parallel()
	s := newStage(t, setUp{})
	r := transfer(`{"amount":1200,"to":"acme"}`)
	card := s.show(r)

	in := s.service.submitted()[0]
	if in.Text != "pay the invoice" || in.Requester != user("U0ANN") ||
		in.Agent != "ops" || in.Place.Thread != r.Place.Thread {
		t.Errorf("submission: %+v", in)
	}
	if card.ThreadTS != r.Place.Thread || card.Metadata == nil || card.Metadata.EventType != cardEvent {
		t.Errorf("card is not in the thread or has no metadata: %+v", card)
	}
	if got := texts(t, card.Blocks); !strings.Contains(got, "amount  1200\nto  acme") {
		t.Errorf("the card does not show the arguments: %s", got)
	}
	if strings.Contains(card.Text, "acme") {
		t.Errorf("the fallback text shows argument values: %s", card.Text)
	}

	if err := s.click("U0BEN", card, "approve"); err != nil {
		t.Fatal(err)
	}
	decided := s.service.get(r.ID)
	if decided.Status != approvals.RequestApproved || decided.Decisions[0].By != user("U0BEN") ||
		decided.Decisions[0].Digest != r.Digest {
		t.Fatalf("after the click: %+v", decided)
	}
	if _, err := s.bot.Notify(s.ctx(), cardNotification(&decided)); err != nil {
		t.Fatal(err)
	}
	after, _ := s.slack.Message(card.Channel, card.TS)
	if decidable(after) || !strings.Contains(texts(t, after.Blocks), "Approved by @U0BEN") {
		t.Errorf("the decided card: %s", after.Blocks)
	}

	n := &approvals.Notification{
		Workspace: testWorkspace, ID: "ntf_answer", Kind: approvals.NotifyAnswer,
		Place: r.Place, Run: r.Run, Text: "Paid. <!channel>", Created: time.Now(),
	}
	for range 2 {
		n.Attempts, n.Begun = n.Attempts+1, true // as after a crash: it may be there already
		if _, err := s.bot.Notify(s.ctx(), n); err != nil {
			t.Fatal(err)
		}
	}
	answers := 0
	for _, m := range s.slack.Thread("C0GENERAL", r.Place.Thread) {
		if strings.Contains(m.Text, "Paid.") {
			answers++
			if strings.Contains(m.Text, "<!channel>") {
				t.Errorf("the answer's fallback has markup: %s", m.Text)
			}
		}
	}
	if answers != 1 {
		t.Errorf("%d answers, want 1", answers)
	}
}
