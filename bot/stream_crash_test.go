package bot

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"countersign/agent"
	"countersign/agent/scripted"
	"countersign/approvals"
)

// another is one more bot on the same workspace and store, as another process would have it. It streams; what runs come
// to is delivered by w.bot. kill ends it in the middle of whatever it does.
func (w *world) another() (b *Bot, kill func()) {
	w.t.Helper()
	client, err := NewClient(ClientConfig{Token: w.slack.Config().BotToken, APIURL: w.slack.APIURL()})
	if err != nil {
		w.t.Fatal(err)
	}
	b, err = New(Config{
		Client: client, Service: w.engine, AppToken: w.slack.Config().AppToken, DefaultAgent: "ops",
		Logger: slog.New(slog.NewTextHandler(w.logs, nil)),
	})
	if err != nil {
		w.t.Fatal(err)
	}
	streamsSoon(b)
	ctx, cancel := context.WithCancel(context.Background())
	finish := b.work.start(ctx, 0)
	return b, func() { cancel(); finish() }
}

// TestHalfMessageOfAProcessThatDied: one process streams and dies; another one delivers what the run comes to. The
// half message becomes the answer, or says that it is none; there is one answer either way.
func TestHalfMessageOfAProcessThatDied(t *testing.T) {
	t.Parallel()
	asks := pay("call_1")
	asks.Items = append([]agent.Item{agent.AssistantMessage("I will pay.")}, asks.Items...)
	for name, c := range map[string]struct {
		script []scripted.Step
		ends   func(w *world, thread string)
	}{
		"answered": {[]scripted.Step{scripted.Say("One.\nTwo.")}, func(w *world, thread string) {
			all := w.answered(thread)
			if len(all) != 1 || all[0].Shown() != "One.\nTwo." || len(w.own("C0GENERAL", thread)) != 1 {
				w.t.Errorf("answers %v", all)
			}
		}},
		"failed": {[]scripted.Step{scripted.Fail(agent.ErrModelBehavior)}, func(w *world, thread string) {
			w.streamed(thread, wordsStreamUnfinished)
		}},
		"paused": {[]scripted.Step{asks, scripted.Say("Paid.")}, func(w *world, thread string) {
			card := w.card(thread, 1)
			w.streamed(thread, wordsStreamUnfinished)
			if err := w.click("U0BEN", card, "approve"); err != nil {
				w.t.Fatal(err)
			}
			if all := w.answered(thread); len(all) != 1 || all[0].TS < card.TS {
				w.t.Errorf("answers %v", all)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model := newTypist(c.script...)
			model.fails = name == "failed"
			follower := &handover{}
			w := startWorld(t, &world{policy: everybody{}, model: model, follower: follower})
			other, kill := w.another()
			follower.to = other
			thread := w.mention("U0ANN", "tell me", "")
			model.pieces <- "One.\n"
			half := w.streamed(thread, "One.")
			kill()
			if half, _ = w.slack.Message(half.Channel, half.TS); half.Streaming() != "in_progress" ||
				!strings.Contains(half.Shown(), wordsStreamLead) {
				t.Errorf("before anybody has noticed: %s, %q", half.Streaming(), half.Shown())
			}
			close(model.pieces)
			c.ends(w, thread)
			if left := w.half(thread); left != nil {
				t.Errorf("left: %q", left)
			}
		})
	}
}

// handover is a follower that is another bot.
type handover struct{ to *Bot }

func (h *handover) Follow(r approvals.FollowedRun, f *approvals.Feed) bool { return h.to.Follow(r, f) }

// TestStreamIsFinishedAfterARestart: the process that streamed stops between the model's answer and its delivery.
func TestStreamIsFinishedAfterARestart(t *testing.T) {
	t.Parallel()
	model := newTypist(scripted.Say("One.\nTwo."))
	w := startWorld(t, &world{policy: everybody{}, model: model, tune: streamsSoon})
	thread := w.mention("U0ANN", "tell me", "")
	model.pieces <- "One.\n"
	w.streamed(thread, "One.")
	w.restart()
	close(model.pieces) // the run may go on before the bot is ready to stream it
	all := w.answered(thread)
	if len(all) != 1 || all[0].Shown() != "One.\nTwo." {
		t.Errorf("answers %v", all)
	}
	if left := w.half(thread); left != nil {
		t.Errorf("left: %q", left)
	}
}

// TestHalfStreamsAreKnown: a stream that was cut off is told from everything else that the bot has posted, also one of
// a version that began streams with other words.
func TestHalfStreamsAreKnown(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		first, event string
		half         bool
	}{
		"a stream":                        {"What the agent did, step by step.", "", true},
		"a stream of an older version":    {wordsStreamLeadBefore, "", true},
		"a stream that says how it ended": {"What the agent did, step by step.", streamEvent, false},
		"words of somebody else":          {"What the agent did", "", false},
	} {
		raw, err := json.Marshal(map[string]any{
			"blocks": []any{map[string]any{
				"type": "context", "elements": []any{map[string]any{"type": "plain_text", "text": tt.first}},
			}},
			"metadata": map[string]any{"event_type": tt.event},
		})
		if err != nil {
			t.Fatal(err)
		}
		var m postedMessage
		if err := json.Unmarshal(raw, &m); err != nil {
			t.Fatal(err)
		}
		if got := m.halfStream(); got != tt.half {
			t.Errorf("%s: %v", name, got)
		}
	}
}
