package app_test

import (
	"errors"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"countersign/internal/slackdev"
)

// TestFrozenBeforeTheTool: a replica freezes between the record that a call begins and the call. Somebody has it tried
// again by another replica. The one that thaws finds that its lease is over, and does not call too.
func TestFrozenBeforeTheTool(t *testing.T) {
	t.Parallel()
	path, err := binaries.faults()
	if err != nil {
		t.Fatal(err)
	}
	r := &replicas{world: newWorld(t, settings{postgres: true, hazards: true,
		slack: slackdev.Config{AckTimeout: 20 * time.Second}})}
	victim := r.spawn(path, r.env("COUNTERSIGN_FAULT=effect.after_intent:1:freeze"), "run")
	victim.says("msg=ready")
	thread := r.mention("pay 5")
	clickAndFreeze(r.world, r.card(thread, 1))
	select {
	case <-victim.reach:
	case <-r.ctx.Done():
		t.Fatal("the point was not reached")
	}
	other := r.start()
	var question slackdev.Message
	r.until("the question what became of the call", func() bool {
		cards := r.cards(thread)
		i := slices.IndexFunc(cards, func(m slackdev.Message) bool { return slices.Contains(m.Actions(), "mark_done") })
		if i >= 0 {
			question = cards[i]
		}
		return i >= 0
	})
	r.noEffect()
	r.decides(ben, question, "retry")
	r.answer(thread, "answer:")
	victim.signal(syscall.SIGCONT)
	victim.signal(syscall.SIGTERM) // a tool that had begun would have its time
	victim.wait()
	r.onlyCall("pay")
	r.oneOfEach(thread, 2)
	r.judged(other)
}

// clickAndFreeze approves what has a replica freeze once it is committed: the acknowledgement may come before that.
func clickAndFreeze(w *world, card slackdev.Message) {
	w.t.Helper()
	if err := w.click(ben, card, "approve"); err != nil && !errors.Is(err, slackdev.ErrTrouble) {
		w.t.Fatal(err)
	}
}

// TestFrozenBeforeTheTrigger: a replica freezes between the record that a call is being sent and the sending. Another
// one asks people. The one that thaws finds that its lease is over, sends nothing, and says so.
func TestFrozenBeforeTheTrigger(t *testing.T) {
	t.Parallel()
	path, err := binaries.faults()
	if err != nil {
		t.Fatal(err)
	}
	w := triggerWorld(t, settings{postgres: true, slack: slackdev.Config{AckTimeout: 20 * time.Second}})
	victim := w.spawn(path, w.env("COUNTERSIGN_FAULT=trigger.after_intent:1:freeze"), "run")
	victim.says("msg=ready")
	thread := w.mention("deploy")
	clickAndFreeze(w, w.card(thread, 1))
	select {
	case <-victim.reach:
	case <-w.ctx.Done():
		t.Fatal("the point was not reached")
	}
	frozen := time.Now()
	other := w.start("COUNTERSIGN_LISTEN=127.0.0.1:0")
	card := w.card(thread, 2)
	says := func(words string) {
		t.Helper()
		w.until("the card to say "+words, func() bool {
			m, _ := w.slack.Message(general, card.TS)
			return strings.Contains(m.Shown(), words)
		})
	}
	says("the program was stopped while the call was sent")
	took := time.Since(frozen)
	t.Logf("people were asked after %s", took.Round(time.Millisecond))
	if *long && took > recovery {
		t.Errorf("recovery took %s, at most %s", took, recovery)
	}
	victim.signal(syscall.SIGCONT)
	says("the program stood still before it was sent")
	victim.stop()
	w.noEffect()
	w.decides(ben, card, "provide-result", "build 4711")
	w.answer(thread, "build 4711")
	w.noEffect()
	w.judged(other)
}
