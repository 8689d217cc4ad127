package app_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"countersign/internal/slackdev"
)

// story is what happens while the program is killed.
type story string

const (
	approving story = "a call is approved and runs"
	expiring  story = "nobody answers in time"
	draining  story = "the program is told to stop while a tool runs"
	// triggering has a test of its own, TestKillWhileTriggering.
	triggering story = "a call is sent to what carries it out"
)

// stories says for each crash point which story passes through it, where that is not approving.
var stories = map[string]story{
	"expire.claimed": expiring, "shutdown.drain": draining, "trigger.before_intent": triggering,
	"trigger.after_intent": triggering, "trigger.sent_before_record": triggering,
}

// quickPoints are killed at by default; the others with -long.
var quickPoints = []string{"click.in_tx", "effect.after_tool_before_commit", "card.after_post_before_ts"}

// TestKillAtCrashPoints kills the real program at every named point, starts it again, and looks from outside at what
// came of it.
func TestKillAtCrashPoints(t *testing.T) {
	t.Parallel()
	points := crashPoints(t)
	for _, want := range quickPoints {
		if !slices.Contains(points, want) {
			t.Errorf("crash point %s does not exist any more", want)
		}
	}
	for _, point := range points {
		if stories[point] == triggering {
			continue
		}
		passes := 1
		if *long {
			passes = 4
		} else if !slices.Contains(quickPoints, point) {
			continue
		}
		for nth := range passes {
			t.Run(fmt.Sprintf("%s/%d", point, nth+1), func(t *testing.T) {
				t.Parallel()
				killAt(t, point, nth+1)
			})
		}
	}
}

var (
	pointCall = regexp.MustCompile(`fault\.Point\((.*)\)`)
	pointName = regexp.MustCompile(`"([a-z_]+\.[a-z_]+)"`)
)

// crashPoints reads the names of all crash points from the source.
func crashPoints(t *testing.T) []string {
	t.Helper()
	var points []string
	for _, dir := range []string{"approvals", "bot", "store/boltstore", "internal/app"} {
		files, err := filepath.Glob(filepath.Join("..", "..", dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, call := range pointCall.FindAllSubmatch(source, -1) {
				for _, name := range pointName.FindAllSubmatch(call[1], -1) {
					points = append(points, string(name[1]))
				}
			}
		}
	}
	slices.Sort(points)
	points = slices.Compact(points)
	if len(points) < 10 {
		t.Fatalf("only %d crash points found: %q", len(points), points)
	}
	return points
}

// killAt plays the point's story with a program that stops there, kills it, and goes on with another one.
func killAt(t *testing.T, point string, nth int) {
	path, err := binaries.faults()
	if err != nil {
		t.Fatal(err)
	}
	k := newKilling(t, stories[point])
	bot := k.spawn(path, k.env(fmt.Sprintf("COUNTERSIGN_FAULT=%s:%d", point, nth)), "run")
	done := k.play(bot)
	select {
	case <-bot.reach:
		bot.kill()
		<-done
	case <-done:
		grace := 50 * time.Millisecond
		if nth == 1 {
			grace = patience // every story passes once through its points
		}
		select {
		case <-bot.reach: // behind the last thing the story waits for
			bot.kill()
		case <-time.After(grace):
			if nth == 1 {
				t.Fatalf("the story %q does not pass through %s", k.story, point)
			}
			return // it passes there less often
		}
	case <-time.After(patience):
		t.Fatal("neither the crash point nor the end of the story was reached")
	}
	k.goOn()
}

// killing is a world in which the program is killed.
type killing struct {
	*world
	story    story
	thread   string
	accepted bool // Slack saw the approval acknowledged
	release  func()
}

func newKilling(t *testing.T, s story) *killing {
	if s == "" {
		s = approving
	}
	policy := anybody
	if s == expiring {
		policy = "default_policy: { approvers: { channel_members: true }, expires_in: 1s }\n"
	}
	k := &killing{story: s, release: func() {}}
	k.world = newWorld(t, settings{policy: policy, slack: slackdev.Config{AckTimeout: time.Second}})
	return k
}

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
		if k.story != expiring && !k.approve(bot) {
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
	k.accepted = k.click(ben, k.cards(k.thread)[0], "approve") == nil
	return k.accepted
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
	if code := bot.stop(); code != 0 {
		k.t.Errorf("exit code %d after SIGTERM", code)
	}
	k.check()
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
			return k.answered() || i >= 0 && k.story != expiring
		})
		if open.TS == "" {
			continue
		}
		if _, ok := open.Button("mark_done"); ok {
			k.foundOut(open)
		} else if k.click(ben, open, "approve") == nil {
			k.accepted = true
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
	id := fmt.Sprint(card.Metadata.EventPayload["request"])
	verdict, reason := "--give-up", "it did not happen"
	if len(k.effects.all()) > 0 {
		verdict, reason = "--mark-done", "it happened"
	}
	if out, complaint, code := k.run("approvals", "decide", id, verdict, "--reason", reason, "--as", ben); code != 0 {
		k.t.Fatalf("decide %s: %d %s%s", id, code, out, complaint)
	}
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
			if k.click(ben, k.cards(k.thread)[i], "approve") == nil {
				k.accepted = true
			}
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
