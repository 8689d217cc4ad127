package app_test

import (
	"fmt"
	"slices"
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
	r := &replicas{world: newWorld(t, settings{postgres: true, slack: slackdev.Config{AckTimeout: 20 * time.Second}})}
	victim := r.spawn(path, r.env("COUNTERSIGN_FAULT=effect.after_intent:1:freeze"), "run")
	victim.says("msg=ready")
	thread := r.mention("pay 5")
	r.mustClick(ben, r.card(thread, 1), "approve")
	select {
	case <-victim.reach:
	case <-r.ctx.Done():
		t.Fatal("the point was not reached")
	}
	r.start()
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
	id := fmt.Sprint(question.Metadata.EventPayload["request"])
	r.must("approvals", "decide", id, "--retry", "--as", ben)
	r.answer(thread, "answer:")
	victim.signal(syscall.SIGCONT)
	victim.signal(syscall.SIGTERM) // a tool that had begun would have its time
	victim.wait()
	r.onlyCall("pay")
	r.oneOfEach(thread, 2)
	r.verified()
}
