package app_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"
	"time"

	"countersign/internal/openaidev"
)

var (
	iterations = flag.Int("iterations", 0, "how often TestKillLoop kills the program; 0: not at all")
	firstSeed  = flag.Uint64("seed", 1, "the seed of the first of them")
)

// quickPoints are killed at by default; the others with -long.
var quickPoints = []string{"click.in_tx", "effect.after_tool_before_commit", "card.after_post_before_ts", sealing}

// TestKillAtCrashPoints kills the real program at every named point, starts it again, and looks from outside at what
// came of it.
func TestKillAtCrashPoints(t *testing.T) {
	t.Parallel()
	points := loopPoints(t)
	for _, want := range quickPoints {
		if want != sealing && !slices.Contains(points, want) {
			t.Errorf("crash point %s does not exist any more", want)
		}
	}
	for _, point := range points {
		passes := 1
		if *long {
			passes = 3
		} else if !slices.Contains(quickPoints, point) {
			continue
		}
		for nth := range passes {
			t.Run(fmt.Sprintf("%s/%d", point, nth+1), func(t *testing.T) {
				t.Parallel()
				strike(t, blow{point: point, nth: nth + 1, action: "kill"})
			})
		}
	}
}

// loopPoints are the points that the loops strike at.
func loopPoints(t *testing.T) []string {
	t.Helper()
	return slices.DeleteFunc(append(crashPoints(t), seenOutside...), func(point string) bool {
		s := stories[point]
		return s == triggering || s == migrating || point == sealing && *onStore != "postgres"
	})
}

// TestKillLoop strikes the real program at every point in turn, in ways that the seed chooses: mostly it is killed,
// often once more while it recovers, sometimes frozen, slowed down or failed.
func TestKillLoop(t *testing.T) {
	if *iterations == 0 {
		t.Skip("takes minutes; run with -iterations 500")
	}
	t.Parallel()
	points, began := loopPoints(t), time.Now()
	t.Run("seeds", func(t *testing.T) {
		for i := range uint64(*iterations) {
			seed := *firstSeed + i
			b := chosen(points, seed)
			t.Run(fmt.Sprintf("%d/%s", seed, b), func(t *testing.T) {
				t.Parallel()
				defer func() {
					if t.Failed() {
						t.Logf("again: go test ./internal/app -run TestKillLoop -iterations 1 -seed %d", seed)
					}
				}()
				strike(t, b)
			})
		}
	})
	t.Logf("%d iterations in %s", *iterations, time.Since(began).Round(time.Second))
}

// failing are the points where an ordered error leaves the run with an end that the stories know.
var failing = []string{"event.before_store", "click.before_tx", "click.in_tx", "audit.head", "card.before_post",
	"effect.before_intent", "escalate.claimed", "checkpoint.sign"}

// blow is what is done to the program.
type blow struct {
	point  string
	nth    int
	action string
	again  string // where the next process is killed; empty: nowhere
}

func (b blow) String() string {
	name := fmt.Sprintf("%s:%d:%s", b.point, b.nth, b.action)
	if b.again != "" {
		name += "+" + b.again
	}
	return name
}

func chosen(points []string, seed uint64) blow {
	random := rand.New(rand.NewPCG(seed, 2))
	n := uint64(len(points))
	b := blow{point: points[seed%n], nth: 1 + random.IntN(1+int(seed/n)%4), action: "kill"}
	outside := slices.Contains(seenOutside, b.point)
	switch roll := random.IntN(10); {
	case outside || roll < 6:
		if random.IntN(2) == 0 {
			b.again = points[random.IntN(len(points))]
		}
	case roll == 6 && slices.Contains(failing, b.point):
		b.action = "error"
	case roll <= 7:
		b.action = "freeze"
	case roll == 8:
		b.action = fmt.Sprintf("sleep=%dms", 1+random.IntN(1500))
	}
	return b
}

// strike plays the point's story with a program to which the blow is dealt, and goes on with another one.
func strike(t *testing.T, b blow) {
	path, err := binaries.faults()
	if err != nil {
		t.Fatal(err)
	}
	var faults []openaidev.Fault
	if b.point == "model.mid_stream" {
		faults = []openaidev.Fault{{HangAfter: 40}}
	}
	k := newKilling(t, stories[b.point], faults...)
	bot := k.spawn(path, k.env("COUNTERSIGN_FAULT="+fmt.Sprintf("%s:%d:%s", b.point, b.nth, b.action)), "run")
	if b.point == "effect.in_tool" {
		k.release = k.effects.holdBack()
		t.Cleanup(k.release)
	}
	reached := k.reached(b.point, bot)
	done := k.play(bot)
	select {
	case <-reached:
		k.deal(b, bot, done)
	case <-done:
		grace := 50 * time.Millisecond
		if b.nth == 1 && b.action == "kill" {
			grace = patience // every story passes once through its points
		}
		select {
		case <-reached: // behind the last thing the story waits for
			k.deal(b, bot, done)
		case <-bot.exited:
		case <-time.After(grace):
			if b.nth == 1 && b.action == "kill" {
				t.Fatalf("the story %q does not pass through %s", k.story, b.point)
			}
			bot.kill() // it passes there less often, or was only slowed down
		}
	case <-time.After(patience):
		t.Fatal("neither the crash point nor the end of the story was reached")
	}
	k.release()
	if b.again != "" {
		k.killAgain(path, b.again)
	}
	k.goOn()
}

// reached returns a channel that tells when the program has come to the point.
func (k *killing) reached(point string, bot *process) <-chan string {
	if !slices.Contains(seenOutside, point) {
		return bot.reach
	}
	told := make(chan string, 1)
	go func() {
		if point == "effect.in_tool" {
			select {
			case <-k.effects.came:
				told <- point
			case <-bot.exited:
			}
			return
		}
		if k.wait(bot, func() bool { return len(k.model.Requests()) > 0 }) == nil {
			told <- point
		}
	}()
	return told
}

// deal does to a program that has come to the point what belongs to the blow there.
func (k *killing) deal(b blow, bot *process, done <-chan struct{}) {
	if b.action == "freeze" {
		<-time.After(300 * time.Millisecond) // nothing says when a frozen process has been frozen for long enough
		bot.signal(syscall.SIGCONT)
		select {
		case <-done:
		case <-time.After(patience):
			k.t.Fatal("the story does not end after the program was frozen")
		}
	}
	bot.kill()
	<-done
}

// killAgain starts the program once more and kills it, at the point or soon.
func (k *killing) killAgain(path, point string) {
	bot := k.spawn(path, k.env("COUNTERSIGN_FAULT="+point), "run")
	select {
	case <-bot.reach:
	case <-bot.exited:
	case <-time.After(400 * time.Millisecond): // it does not pass there while it recovers
	}
	bot.kill()
}
