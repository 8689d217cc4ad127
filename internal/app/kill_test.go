package app_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"countersign/internal/openaidev"
	"countersign/internal/slackdev"
)

// killing is a world in which the program is killed.
type killing struct {
	*world
	story   story
	thread  string
	mid     bool // the model stops in the middle of its first answer
	release func()
}

func newKilling(t *testing.T, s story, faults ...openaidev.Fault) *killing {
	if s == "" {
		s = approving
	}
	policy := anybody
	switch s {
	case expiring:
		policy = "default_policy: { approvers: { channel_members: true }, expires_in: 1s }\n"
	case escalating:
		policy = "default_policy: { approvers: { channel_members: true }, expires_in: 2s, " +
			"escalate: { after: 1s, to: { users: [U0CLEO] } } }\n"
	}
	k := &killing{story: s, release: func() {}, mid: len(faults) > 0}
	k.world = newWorld(t, settings{policy: policy, slack: slackdev.Config{AckTimeout: time.Second}, faults: faults,
		hazards: true})
	if s == draining { // its end also signs a checkpoint
		private, _ := k.auditKeys("audit", 1)
		folder := filepath.Join(k.dir, "elsewhere")
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		k.extra = append(k.extra, "COUNTERSIGN_AUDIT_KEY="+private, "COUNTERSIGN_AUDIT_CHECKPOINTS="+folder)
	}
	return k
}

// unanswered reports whether the story's people answer nothing.
func (k *killing) unanswered() bool { return k.story == expiring || k.story == escalating }

// play does what people do, until the story has ended or the program is gone.
func (k *killing) play(bot *process) <-chan struct{} {
	done := make(chan struct{})
	if k.story == draining {
		k.release = k.effects.holdBack()
		k.t.Cleanup(k.release)
	}
	go func() {
		defer close(done)
		if k.wait(bot, func() bool { return k.slack.Connections() > 0 }) != nil {
			return
		}
		k.thread, _ = k.slack.Post(k.ctx, ann, general, "<@"+k.slack.Config().App.BotUserID+"> pay 40", "")
		if !k.unanswered() && !k.approve(bot) {
			return
		}
		if k.story == draining {
			select {
			case <-k.effects.came:
				bot.signal(syscall.SIGTERM)
			case <-bot.exited:
				return
			}
		}
		k.wait(bot, k.answered)
	}()
	return done
}

// approve clicks once there is a card, and reports whether the program took it.
func (k *killing) approve(bot *process) bool {
	if k.wait(bot, func() bool { return len(k.cards(k.thread)) > 0 }) != nil {
		return false
	}
	return k.click(ben, k.cards(k.thread)[0], "approve") == nil
}

var errGone = errors.New("the program is gone")

// wait is until for a program that may be killed meanwhile.
func (k *killing) wait(bot *process, cond func() bool) error {
	ctx, cancel := context.WithCancelCause(k.ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-bot.exited:
			cancel(errGone)
		case <-ctx.Done():
		}
	}()
	return k.slack.WaitFor(ctx, cond)
}

func (k *killing) answered() bool {
	return slices.ContainsFunc(k.said(k.thread), func(s string) bool { return strings.HasPrefix(s, "answer:") })
}

// goOn starts the program again, does what is left to do for people, and checks the invariants.
func (k *killing) goOn() {
	k.t.Helper()
	k.release()
	bot := k.start()
	k.resolve()
	k.check(bot)
}

// paid is what reaches the bank.
const paid = `{"amount":40,"memo":"` + secretMemo + `","to":"acct"}`

// check looks at everything from outside, and has the records judged.
func (k *killing) check(bot *process) {
	k.t.Helper()
	if calls := k.effects.all(); len(calls) > 1 || len(calls) == 1 && calls[0].body != paid {
		k.t.Errorf("at most once: %d effects, %q", len(calls), bodies(calls))
	}
	if n := k.answersWith(k.thread, "answer:"); n != 1 {
		k.t.Errorf("%d answers, want 1:\n%s", n, k.transcript())
	}
	k.judged(bot)
}

// resolve answers whatever is asked until the run has its answer.
func (k *killing) resolve() {
	k.t.Helper()
	for !k.answered() {
		var open slackdev.Message
		k.until("an answer or a question", func() bool {
			i := slices.IndexFunc(k.cards(k.thread), decidable)
			if i >= 0 {
				open = k.cards(k.thread)[i]
			}
			return k.answered() || i >= 0 && !k.unanswered()
		})
		if open.TS == "" {
			continue
		}
		if _, ok := open.Button("mark_done"); ok {
			k.foundOut(open)
		} else {
			_ = k.click(ben, open, "approve") // what is not taken is asked again
		}
		k.until("the card to be decided", func() bool {
			m, _ := k.slack.Message(general, open.TS)
			return !decidable(m)
		})
	}
}

// foundOut tells the program from the command line what became of a call, as a person does who has looked.
func (k *killing) foundOut(card slackdev.Message) {
	k.t.Helper()
	verdict, reason := "give-up", "it did not happen"
	if len(k.effects.all()) > 0 {
		verdict, reason = "mark-done", "it happened"
	}
	k.decides(ben, card, verdict, reason)
}

// TestKillAtRandom kills the program again and again, at moments nobody chose.
func TestKillAtRandom(t *testing.T) {
	if !*long {
		t.Skip("takes a minute; run with -long")
	}
	t.Parallel()
	for seed := range uint64(40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, 1))
			k := newKilling(t, approving)
			for range 4 {
				bot := k.spawn(binary(t), k.env(), "run")
				gone := k.meddle(bot)
				// What is tested is the moment itself, so there is no condition to wait for.
				<-time.After(time.Duration(random.IntN(250)) * time.Millisecond)
				bot.kill()
				<-gone
			}
			if k.thread == "" {
				k.thread = k.mention("pay 40")
			}
			k.goOn()
		})
	}
}

// meddle posts the mention once and clicks whatever asks, until the program is gone.
func (k *killing) meddle(bot *process) <-chan struct{} {
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		if k.thread == "" {
			if k.wait(bot, func() bool { return k.slack.Connections() > 0 }) != nil {
				return
			}
			k.thread, _ = k.slack.Post(k.ctx, ann, general, "<@"+k.slack.Config().App.BotUserID+"> pay 40", "")
		}
		for k.wait(bot, func() bool { return slices.ContainsFunc(k.cards(k.thread), approvable) }) == nil {
			i := slices.IndexFunc(k.cards(k.thread), approvable)
			if i < 0 {
				continue
			}
			_ = k.click(ben, k.cards(k.thread)[i], "approve") // the program may be gone
			if k.wait(bot, func() bool { return !slices.ContainsFunc(k.cards(k.thread), approvable) }) != nil {
				return
			}
		}
	}()
	return gone
}

func approvable(m slackdev.Message) bool {
	_, ok := m.Button("approve")
	return ok
}
