package app_test

import (
	"strings"
	"testing"
	"time"

	"countersign/internal/openaidev"
	"countersign/internal/slackdev"
)

// TestProgramStreamsAnswers: the whole program shows what a model writes while it writes, and ends with the answer
// alone. The agents file's suggested prompts are proposed in a new chat.
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

// TestKillWhileAnAnswerIsStreamed: the program is killed while it writes an answer. The next start ends the half
// message truthfully, and there is one answer, whole.
func TestKillWhileAnAnswerIsStreamed(t *testing.T) {
	t.Parallel()
	long := "answer: " + strings.TrimSpace(strings.Repeat("One more line of an answer that takes its time.\n", 12))
	w := newWorld(t, settings{
		pace:  40 * time.Millisecond,
		rules: []openaidev.Rule{{User: "tell me", Round: openaidev.AnyRound, Reply: openaidev.Reply{Text: long}}},
	})
	bot := w.start()
	thread := w.mention("tell me")
	half := w.streaming(thread, "One more line")
	bot.kill()
	if m, _ := w.slack.Message(general, half.TS); m.Streaming() != "in_progress" || strings.Contains(m.Shown(), long) {
		t.Errorf("control: what was left is %s: %q", m.Streaming(), m.Shown())
	}
	next := w.start()
	w.answer(thread, long)
	w.nothingHalf(thread)
	if n := w.answersWith(thread, long); n != 1 {
		t.Errorf("%d answers\n%s", n, w.transcript())
	}
	w.judged(next)
}

// TestKillWhileACallIsShown: the program is killed while a message shows that a call runs. The next start asks what
// became of it, and the message says no longer that it runs.
func TestKillWhileACallIsShown(t *testing.T) {
	t.Parallel()
	w := newWorld(t, settings{hazards: true})
	release := w.effects.holdBack()
	t.Cleanup(release)
	bot := w.start()
	thread := w.mention("pay 5")
	w.mustClick(ben, w.card(thread, 1), "approve")
	half := w.streaming(thread, `"status":"in_progress"`)
	bot.kill()
	next := w.start()
	question := w.card(thread, 2)
	w.nothingHalf(thread)
	if m, _ := w.slack.Message(general, half.TS); !strings.Contains(string(m.Blocks), `"task_card"`) ||
		!strings.Contains(m.Shown(), "This was not finished.") {
		t.Errorf("control: the half message does not show the call any more, or says nothing: %s", m.Blocks)
	}
	w.decides(ben, question, "mark-done", "the bank says so")
	w.answer(thread, "answer:")
	w.nothingHalf(thread)
	if n := w.answersWith(thread, "answer:"); n != 1 || len(w.effects.all()) != 1 {
		t.Errorf("%d answers, %d calls\n%s", n, len(w.effects.all()), w.transcript())
	}
	w.judged(next)
}

// streaming waits for a message of the thread that is being written and holds the words, or the JSON.
func (w *world) streaming(thread, words string) (found slackdev.Message) {
	w.t.Helper()
	w.until("a message that is being written", func() bool {
		for _, m := range w.slack.Thread(general, thread) {
			if m.Streaming() == "in_progress" && strings.Contains(m.Shown()+string(m.Blocks), words) {
				found = m
				return true
			}
		}
		return false
	})
	return found
}

// nothingHalf waits until no message of the thread is being written, or shows a call that runs.
func (w *world) nothingHalf(thread string) {
	w.t.Helper()
	w.until("nothing is left in the middle", func() bool {
		for _, m := range w.slack.Thread(general, thread) {
			if m.Streaming() == "in_progress" || strings.Contains(string(m.Blocks), `"status":"in_progress"`) {
				return false
			}
		}
		return true
	})
}

// answersWith counts the messages of the thread that are an answer with the words.
func (w *world) answersWith(thread, words string) (n int) {
	w.t.Helper()
	for _, m := range w.slack.Thread(general, thread) {
		if m.User != ann && strings.Contains(m.Shown(), words) {
			n++
		}
	}
	return n
}
