package slackdev_test

import (
	"context"
	"testing"
	"time"

	"github.com/slack-go/slack"
	"github.com/slack-go/slack/slackevents"
	"github.com/slack-go/slack/socketmode"

	"countersign/internal/slackdev"
)

// patience bounds what a test waits for. It is far beyond what anything takes,
// also on a busy machine.
const patience = time.Minute

// start opens a workspace that ends with the test.
func start(t *testing.T, cfg slackdev.Config) *slackdev.Workspace {
	t.Helper()
	w, err := slackdev.Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// client is slack-go pointed at the workspace.
func client(w *slackdev.Workspace) *slack.Client {
	cfg := w.Config()
	return slack.New(cfg.BotToken, slack.OptionAppLevelToken(cfg.AppToken), slack.OptionAPIURL(w.APIURL()))
}

// within is a context that fails the test instead of hanging it.
func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// serve runs a slack-go Socket Mode client and hands its events to handle. It
// returns once the connection said hello.
func serve(t *testing.T, w *slackdev.Workspace, handle func(*socketmode.Client, socketmode.Event)) *slack.Client {
	t.Helper()
	api := client(w)
	before := w.Connections()
	sock := socketmode.New(api)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		sock.RunContext(ctx)
	}()
	go func() {
		for {
			select {
			case ev := <-sock.Events:
				handle(sock, ev)
			case <-done:
				return
			}
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
	if err := w.WaitFor(within(t), func() bool { return w.Connections() > before }); err != nil {
		t.Fatal(err)
	}
	return api
}

func TestMentionCardClickModal(t *testing.T) {
	t.Parallel()
	w := start(t, slackdev.Config{})
	cfg := w.Config()
	ctx := within(t)
	serve(t, w, approvalBot(t, client(w)))

	ts, err := w.Post(ctx, "U0ANN", "C0GENERAL", "<@"+cfg.App.BotUserID+"> pay 5 &lt;now&gt;", "")
	if err != nil {
		t.Fatal(err)
	}
	var card slackdev.Message
	await(t, w, func() bool {
		for _, m := range w.Thread("C0GENERAL", ts) {
			if _, ok := m.Button("approve"); ok {
				card = m
				return true
			}
		}
		return false
	})
	click := slackdev.Click{User: "U0BEN", Channel: card.Channel, TS: card.TS, ActionID: "reject"}
	if err := w.Click(ctx, click); err != nil {
		t.Fatal(err)
	}
	await(t, w, func() bool { return len(w.Views("U0BEN")) == 1 })
	view := w.Views("U0BEN")[0]
	answer, err := w.Submit(ctx, "U0BEN", view.ID, map[string]map[string]any{"reason": {"text": "no"}})
	if err != nil || answer["response_action"] != "errors" {
		t.Fatalf("short reason: answer %v, error %v; want errors", answer, err)
	}
	answer, err = w.Submit(ctx, "U0BEN", view.ID, map[string]map[string]any{"reason": {"text": "not today"}})
	if err != nil || answer != nil {
		t.Fatalf("answer %v, error %v; want acceptance", answer, err)
	}
	if len(w.Views("U0BEN")) != 0 {
		t.Error("the modal is still open")
	}
	await(t, w, func() bool { m, _ := w.Message(card.Channel, card.TS); return m.Text == "rejected: not today" })
	if m, _ := w.Message(card.Channel, card.TS); len(m.Buttons()) != 0 {
		t.Errorf("decided card still has buttons %v", m.Buttons())
	}
	err = w.Click(ctx, slackdev.Click{User: "U0BEN", Channel: card.Channel, TS: card.TS, ActionID: "approve"})
	if err == nil {
		t.Error("a click on a removed button succeeded")
	}
}

// await waits until cond holds, as long as patience lasts.
func await(t *testing.T, w *slackdev.Workspace, cond func() bool) {
	t.Helper()
	if err := w.WaitFor(within(t), cond); err != nil {
		t.Fatal(err)
	}
}

// approvalBot is a small bot: a mention gives a card; reject asks for a reason
// of at least five characters; both end in an update of the card.
func approvalBot(t *testing.T, api *slack.Client) func(*socketmode.Client, socketmode.Event) {
	ctx := t.Context()
	return func(sock *socketmode.Client, ev socketmode.Event) {
		switch data := ev.Data.(type) {
		case slackevents.EventsAPIEvent:
			sock.Ack(*ev.Request)
			if m, ok := data.InnerEvent.Data.(*slackevents.AppMentionEvent); ok {
				postCard(ctx, t, api, m)
			}
		case slack.InteractionCallback:
			interact(ctx, t, api, sock, ev, data)
		}
	}
}

func postCard(ctx context.Context, t *testing.T, api *slack.Client, m *slackevents.AppMentionEvent) {
	button := func(id, label string) slack.BlockElement {
		return slack.NewButtonBlockElement(id, "req_1", slack.NewTextBlockObject("plain_text", label, false, false))
	}
	_, _, err := api.PostMessageContext(ctx, m.Channel, slack.MsgOptionTS(m.TimeStamp),
		slack.MsgOptionText("approval needed", false),
		slack.MsgOptionBlocks(
			slack.NewSectionBlock(slack.NewTextBlockObject("plain_text", m.Text, false, false), nil, nil),
			slack.NewActionBlock("", button("approve", "Approve"), button("reject", "Reject")),
		))
	if err != nil {
		t.Errorf("post card: %v", err)
	}
}

func interact(
	ctx context.Context, t *testing.T, api *slack.Client, sock *socketmode.Client,
	ev socketmode.Event, data slack.InteractionCallback,
) {
	switch data.Type {
	case slack.InteractionTypeBlockActions:
		sock.Ack(*ev.Request)
		input := slack.NewInputBlock("reason", slack.NewTextBlockObject("plain_text", "Reason", false, false), nil,
			slack.NewPlainTextInputBlockElement(nil, "text"))
		_, err := api.OpenViewContext(ctx, data.TriggerID, slack.ModalViewRequest{
			Type:            slack.VTModal,
			Title:           slack.NewTextBlockObject("plain_text", "Reject", false, false),
			Submit:          slack.NewTextBlockObject("plain_text", "Reject", false, false),
			Blocks:          slack.Blocks{BlockSet: []slack.Block{input}},
			PrivateMetadata: data.Container.ChannelID + " " + data.Container.MessageTs,
		})
		if err != nil {
			t.Errorf("open view: %v", err)
		}
	case slack.InteractionTypeViewSubmission:
		reason := data.View.State.Values["reason"]["text"].Value
		if len(reason) < 5 {
			sock.Ack(*ev.Request, slack.NewErrorsViewSubmissionResponse(map[string]string{"reason": "too short"}))
			return
		}
		sock.Ack(*ev.Request)
		channel, ts := data.View.PrivateMetadata[:9], data.View.PrivateMetadata[10:]
		_, _, _, err := api.UpdateMessageContext(ctx, channel, ts, slack.MsgOptionText("rejected: "+reason, true))
		if err != nil && ctx.Err() == nil {
			t.Errorf("update: %v", err)
		}
	}
}
