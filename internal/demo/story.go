package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"countersign/internal/slackdev"
)

// storyTimeout bounds the story, stepTimeout each of its steps.
const (
	storyTimeout = 28 * time.Second
	stepTimeout  = 10 * time.Second
)

// Play plays the story in a stage of its own, and checks and prints every step. It returns nil only if all of it held.
// The last line it prints is the result of verifying the audit trail.
func Play(ctx context.Context, cfg Config) (err error) {
	ctx, cancel := context.WithTimeout(ctx, storyTimeout)
	defer cancel()
	cfg.Scripted = true
	t := &story{cfg: cfg, started: time.Now()}
	t.say("stage", "starting a workspace, a model, what the agents work on, and the bot")
	if t.Stage, err = New(ctx, cfg); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	steps := append(t.example.steps(t), step{"stop", t.halt},
		step{"transcript", t.transcript}, step{"store", t.records}, step{"audit", t.verify})
	for _, s := range steps {
		if err := t.play(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// step is a part of a story that checks itself.
type step struct {
	name string
	play func(context.Context) error
}

// story is a play under way.
type story struct {
	*Stage
	cfg     Config
	started time.Time
	thread  string
}

func (t *story) play(ctx context.Context, s step) error {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	if err := s.play(ctx); err != nil {
		return fmt.Errorf("the demo failed at %q: %w\n%s", s.name, err, t.program().LogTail())
	}
	return nil
}

// say prints a line of progress.
func (t *story) say(step, format string, args ...any) {
	fmt.Fprintf(t.cfg.Out, "%6.2fs  %-10s %s\n", time.Since(t.started).Seconds(), step, fmt.Sprintf(format, args...))
}

// until waits for a condition on the workspace.
func (t *story) until(ctx context.Context, what string, cond func() bool) error {
	if err := t.workspace.WaitFor(ctx, cond); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// mention has Ann ask for something; the second time, in the same thread.
func (t *story) mention(ctx context.Context, words string) error {
	t.say("mention", "Ann: @countersign %s", words)
	ts, err := t.workspace.Post(ctx, ann, channel, "<@"+t.workspace.Config().App.BotUserID+"> "+words, t.thread)
	if t.thread == "" {
		t.thread = ts
	}
	return err
}

// card waits until the thread has n cards and returns the last.
func (t *story) card(ctx context.Context, n int) (slackdev.Message, error) {
	if err := t.until(ctx, fmt.Sprintf("card %d", n), func() bool { return len(t.cards()) >= n }); err != nil {
		return slackdev.Message{}, err
	}
	cards := t.cards()
	if len(cards) != n {
		return slackdev.Message{}, fmt.Errorf("the thread has %d cards, not %d", len(cards), n)
	}
	card := cards[n-1]
	t.say("card", "%s, buttons: %s", oneLine(card.Text), strings.Join(labels(card), ", "))
	return card, nil
}

// decide has somebody click, and waits until the card says so.
func (t *story) decide(ctx context.Context, user string, card slackdev.Message, action, word string) error {
	if err := t.click(ctx, user, card, action); err != nil {
		return err
	}
	return t.settled(ctx, card, word)
}

// fill writes the text into the only field of the form that a button of a card opens, and submits it.
func (t *story) fill(ctx context.Context, user string, card slackdev.Message, action, text string) error {
	if err := t.click(ctx, user, card, action); err != nil {
		return err
	}
	var form slackdev.View
	var values map[string]map[string]any
	err := t.until(ctx, "the form", func() bool {
		for _, form = range t.workspace.Views(user) {
			if values = filledIn(form, text); len(values) == 1 {
				return true
			}
		}
		return false
	})
	if err != nil {
		return err
	}
	refused, err := t.workspace.Submit(ctx, user, form.ID, values)
	if err == nil && refused != nil {
		err = fmt.Errorf("the form was not taken: %v", refused)
	}
	return err
}

// filledIn is the text as the value of every field of the form.
func filledIn(form slackdev.View, text string) map[string]map[string]any {
	var blocks []struct {
		Type    string `json:"type"`
		ID      string `json:"block_id"`
		Element struct {
			Action string `json:"action_id"`
		} `json:"element"`
	}
	if json.Unmarshal(form.Blocks, &blocks) != nil {
		return nil
	}
	values := make(map[string]map[string]any)
	for _, b := range blocks {
		if b.Type == "input" {
			values[b.ID] = map[string]any{b.Element.Action: text}
		}
	}
	return values
}

// answer waits for a message of the bot that is no card and holds the text, and returns it.
func (t *story) answer(ctx context.Context, text string) (string, error) {
	var found string
	err := t.until(ctx, "the answer", func() bool {
		for _, m := range t.workspace.Thread(channel, t.thread) {
			if !isCard(m) && m.User == t.workspace.Config().App.BotUserID && strings.Contains(m.Shown(), text) {
				found = m.Shown()
				return true
			}
		}
		return false
	})
	return found, err
}

// halt stops the bot in order.
func (t *story) halt(context.Context) error {
	if err := t.bot.Stop(); err != nil {
		return fmt.Errorf("the bot did not stop in order: %w", err)
	}
	t.say("stop", "the bot has stopped")
	return nil
}

// cards are the messages of the thread that show a request.
func (t *story) cards() []slackdev.Message {
	return slices.DeleteFunc(t.workspace.Thread(channel, t.thread), func(m slackdev.Message) bool { return !isCard(m) })
}

func isCard(m slackdev.Message) bool {
	return m.Metadata != nil && m.Metadata.EventType == "countersign_approval"
}

// crash kills the bot without a warning and starts it again.
func (t *story) crash(ctx context.Context) error {
	pid := t.bot.Pid()
	t.bot.Kill()
	t.say("crash", "kill -9 %d: the bot is gone, people still have to answer", pid)
	err := t.until(ctx, "the end of the connection", func() bool { return t.workspace.Connections() == 0 })
	if err != nil {
		return err
	}
	if err := t.startBot(ctx); err != nil {
		return err
	}
	t.say("crash", "started again as %d", t.bot.Pid())
	return nil
}

func (t *story) click(ctx context.Context, user string, card slackdev.Message, action string) error {
	c, ok := card.Press(user, action)
	if !ok {
		return fmt.Errorf("the card offers no %s", action)
	}
	return t.workspace.Click(ctx, c)
}

// settled waits until the card shows the word and has no button left to decide with.
func (t *story) settled(ctx context.Context, card slackdev.Message, word string) error {
	return t.until(ctx, "the decided card", func() bool {
		m, ok := t.workspace.Message(channel, card.TS)
		if !ok || !strings.Contains(m.Shown(), word) {
			return false
		}
		_, approve := m.Button("approve")
		_, reject := m.Button("reject")
		return !approve && !reject
	})
}

func (t *story) lastLine(card slackdev.Message) string {
	m, _ := t.workspace.Message(channel, card.TS)
	lines := strings.Split(strings.TrimSpace(m.Shown()), "\n")
	for _, line := range slices.Backward(lines) {
		if strings.Contains(line, "Approved") || strings.Contains(line, "Rejected") {
			return oneLine(line)
		}
	}
	return oneLine(lines[len(lines)-1])
}

func labels(m slackdev.Message) []string {
	var words []string
	for _, b := range m.Buttons() {
		words = append(words, b.Text)
	}
	return words
}

// oneLine joins the lines of a text and cuts it.
func oneLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > 160 {
		s = string(r[:160]) + "…"
	}
	return s
}
