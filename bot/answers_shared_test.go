package bot

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"countersign/agent/scripted"
	"countersign/approvals"
	"countersign/internal/slackdev"
	"countersign/store/storetest"
)

// TestPointerPutOffLeavesOneAnswer: the answer has reached Ann when Slack puts off the sentence that says so in the
// shared channel. The next attempt says the sentence, and does not post the answer again. So it is for one process and
// where others deliver too.
func TestPointerPutOffLeavesOneAnswer(t *testing.T) {
	t.Parallel()
	for name, alone := range map[string]bool{"one process": true, "several": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newOffice(t, everybody{}, pay("call_1"), scripted.Say("Acme owes us canary-4711."))
			if !alone {
				memory := storetest.NewMemory()
				w.open = func() approvals.Store { return memory.Open() }
				w.restart()
			}
			thread := w.mention("U0ANN", "what does acme owe?", "")
			w.card(thread, 1)
			w.shares()
			var putOff atomic.Bool
			w.slack.Fail(slackdev.Fault{Method: methodPost, RetryAfter: time.Second, Match: func(a map[string]any) bool {
				text, _ := a["text"].(string)
				return strings.Contains(text, "in our direct messages") && putOff.CompareAndSwap(false, true)
			}})
			if err := w.click("U0BEN", w.copyIn(w.slack.DM("U0BEN")), "approve"); err != nil {
				t.Fatal(err)
			}
			w.said(thread, "the answer is in our direct messages")
			if !putOff.Load() {
				t.Fatal("nothing was put off: this test shows nothing")
			}
			var answers []string
			for _, m := range w.slack.Messages(w.slack.DM("U0ANN")) {
				if m.User == "U0BOT" && strings.Contains(m.Text, "canary-4711") {
					answers = append(answers, m.TS)
				}
			}
			if len(answers) != 1 {
				t.Errorf("Ann has the answer %d times, at %q", len(answers), answers)
			}
		})
	}
}
