package app_test

import (
	"strings"
	"testing"
	"time"

	"countersign/internal/openaidev"
	"countersign/internal/slackdev"
)

// TestProgramStreamsAnswers: the whole program shows what a model writes while it writes, and ends with the answer alone.
// The agents file's suggested prompts are proposed in a new chat.
func TestProgramStreamsAnswers(t *testing.T) {
	t.Parallel()
	long := strings.TrimSpace(strings.Repeat("One more line of an answer that takes its time.\n", 12))
	w := newWorld(t, settings{
		pace:  40 * time.Millisecond,
		rules: []openaidev.Rule{{User: "tell me", Round: openaidev.AnyRound, Reply: openaidev.Reply{Text: long}}},
	})
	w.write("countersign.yaml", strings.Replace(w.read("countersign.yaml"), "model: gpt-5.2",
		"model: gpt-5.2\n    suggested_prompts: [{ title: Tell me, message: tell me }]", 1))
	w.start()
	thread, err := w.slack.OpenAssistant(w.ctx, ann, "")
	if err != nil {
		t.Fatal(err)
	}
	dm := "D0" + strings.TrimPrefix(ann, "U0")
	w.until("a prompt", func() bool { c, _ := w.slack.Chat(dm, thread); return len(c.Prompts) == 1 })
	if _, err := w.slack.Post(w.ctx, ann, dm, "tell me", thread); err != nil {
		t.Fatal(err)
	}
	var first slackdev.Message
	w.until("a message that is being written", func() bool {
		for _, m := range w.slack.Thread(dm, thread) {
			if m.Streaming() == "in_progress" && strings.Contains(m.Shown(), "One more line") {
				first = m
				return true
			}
		}
		return false
	})
	w.until("the answer in its place", func() bool {
		m, _ := w.slack.Message(dm, first.TS)
		return m.Streaming() == "completed" && m.Shown() == long
	})
	if n := len(w.slack.Thread(dm, thread)); n != 3 {
		t.Errorf("%d messages in the thread", n)
	}
}
