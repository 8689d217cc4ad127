package demo

import (
	"context"
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
	t.say("stage", "starting a workspace, a payments service, a model and the bot")
	if t.Stage, err = New(ctx, cfg); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	for _, step := range []struct {
		name string
		play func(context.Context) error
	}{
		{"mention", t.mention},
		{"crash", t.crash},
		{"guest", t.guest},
		{"reject", t.reject},
		{"approve", t.approve},
		{"answer", t.answer},
		{"transcript", t.transcript},
		{"store", t.records},
		{"audit", t.verify},
	} {
		if err := t.play(ctx, step.name, step.play); err != nil {
			return err
		}
	}
	return nil
}

// story is a play under way.
type story struct {
	*Stage
	cfg     Config
	started time.Time
	thread  string
	pay     slackdev.Message // the card that is approved
	refuse  slackdev.Message // the card that is rejected
}

func (t *story) play(ctx context.Context, name string, step func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	if err := step(ctx); err != nil {
		return fmt.Errorf("the demo failed at %q: %w\n%s", name, err, t.logTail())
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

// mention asks for two payments, and waits for a card for each.
func (t *story) mention(ctx context.Context) error {
	var err error
	t.say("mention", "Ann: @countersign pay both invoices")
	t.thread, err = t.workspace.Post(ctx, ann, channel, "<@"+t.workspace.Config().App.BotUserID+"> pay both invoices", "")
	if err != nil {
		return err
	}
	if err := t.until(ctx, "two cards", func() bool { return len(t.cards()) == 2 }); err != nil {
		return err
	}
	for _, card := range t.cards() {
		if strings.Contains(card.Shown(), "1042") {
			t.pay = card
		} else {
			t.refuse = card
		}
		t.say("card", "%s, buttons: %s", oneLine(card.Text), strings.Join(labels(card), ", "))
	}
	if t.pay.TS == "" || t.refuse.TS == "" {
		return errors.New("the cards do not show the two invoices")
	}
	return t.nothingMoved()
}

// cards are the messages of the thread that show a request.
func (t *story) cards() []slackdev.Message {
	return slices.DeleteFunc(t.workspace.Thread(channel, t.thread), func(m slackdev.Message) bool {
		return m.Metadata == nil || m.Metadata.EventType != "countersign_approval"
	})
}

func (t *story) nothingMoved() error {
	if ledger := t.payments.Ledger(); len(ledger) > 0 {
		return fmt.Errorf("money was moved without a decision: %+v", ledger)
	}
	return nil
}

// crash kills the bot without a warning and starts it again.
func (t *story) crash(ctx context.Context) error {
	pid := t.bot.cmd.Process.Pid
	t.bot.kill()
	t.say("crash", "kill -9 %d: the bot is gone, two people still have to answer", pid)
	if err := t.until(ctx, "the end of the connection", func() bool { return t.workspace.Connections() == 0 }); err != nil {
		return err
	}
	if err := t.startBot(ctx); err != nil {
		return err
	}
	t.say("crash", "started again as %d", t.bot.cmd.Process.Pid)
	return nil
}

// guest clicks and is refused.
func (t *story) guest(ctx context.Context) error {
	told := len(t.workspace.Ephemerals(gus))
	if err := t.click(ctx, gus, t.pay, "approve"); err != nil {
		return err
	}
	if err := t.until(ctx, "the refusal", func() bool { return len(t.workspace.Ephemerals(gus)) > told }); err != nil {
		return err
	}
	notes := t.workspace.Ephemerals(gus)
	t.say("guest", "Gus, a guest, clicks Approve and is told: %s", oneLine(notes[len(notes)-1].Shown()))
	if now, _ := t.workspace.Message(channel, t.pay.TS); len(now.Buttons()) == 0 {
		return errors.New("the guest's click ended the request")
	}
	return t.nothingMoved()
}

func (t *story) click(ctx context.Context, user string, card slackdev.Message, action string) error {
	return t.workspace.Click(ctx, slackdev.Click{User: user, Channel: channel, TS: card.TS, ActionID: action})
}

// reject answers one of the cards.
func (t *story) reject(ctx context.Context) error {
	if err := t.click(ctx, ben, t.refuse, "reject"); err != nil {
		return err
	}
	if err := t.settled(ctx, t.refuse, "Rejected"); err != nil {
		return err
	}
	t.say("reject", "Ben rejects the other one; its card now says: %s", t.lastLine(t.refuse))
	return t.nothingMoved()
}

// approve answers the other one. Only then money moves, once, and exactly as shown.
func (t *story) approve(ctx context.Context) error {
	if err := t.click(ctx, cleo, t.pay, "approve"); err != nil {
		return err
	}
	if err := t.settled(ctx, t.pay, "Approved"); err != nil {
		return err
	}
	t.say("approve", "Cleo approves invoice 1042; its card now says: %s", t.lastLine(t.pay))
	return nil
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

// answer waits for the end of the run.
func (t *story) answer(ctx context.Context) error {
	var last slackdev.Message
	err := t.until(ctx, "the answer", func() bool {
		thread := t.workspace.Thread(channel, t.thread)
		last = thread[len(thread)-1]
		return strings.Contains(last.Shown(), "TR-0001")
	})
	if err != nil {
		return err
	}
	ledger := t.payments.Ledger()
	if len(ledger) != 1 || ledger[0].Calls != 1 || ledger[0].Body != `{"amount":250,"memo":"Invoice 1042","to":"Acme Ltd"}` {
		return fmt.Errorf("the ledger is not what was approved: %+v", ledger)
	}
	t.say("answer", "%s", oneLine(last.Shown()))
	t.say("ledger", "%s: %.2f EUR to %s, called once, with key %s", ledger[0].Reference, ledger[0].Amount, ledger[0].To, ledger[0].Key)
	if err := t.bot.stop(); err != nil {
		return fmt.Errorf("the bot did not stop in order: %w", err)
	}
	t.say("stop", "the bot has stopped")
	return nil
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
