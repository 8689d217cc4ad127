package bot

import (
	"strings"
	"testing"

	"countersign/agent/scripted"
	"countersign/internal/slackdev"
)

// TestStreamedAnswerOfMarkup: what stands for an answer in notifications is escaped, so that one full of brackets is
// longer than what the model wrote; Slack still takes it in the place of what was streamed.
func TestStreamedAnswerOfMarkup(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"brackets": strings.Repeat("<b>x</b>\n", 300), "letters of two bytes": strings.Repeat("שלום עולם\n", 300),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			line, _, _ := strings.Cut(text, "\n")
			model := newTypist(scripted.Say(text))
			w := startWorld(t, &world{policy: everybody{}, model: model, tune: streamsSoon})
			thread := w.mention("U0ANN", "write me a page", "")
			model.pieces <- line + "\n"
			shown := w.streamed(thread, line)
			close(model.pieces)
			all := w.answered(thread)
			if len(all) != 1 || all[0].TS != shown.TS || strings.Count(all[0].Shown(), line) < 200 {
				t.Errorf("the answer is in %d messages: %v", len(all), all)
			}
			if n := len(all[0].Text); n > 4000 {
				t.Errorf("%d bytes of text", n)
			}
		})
	}
}

// TestAnswerThatItsStreamCannotBecome: Slack refuses to put the answer in the place of what was streamed. It is posted.
func TestAnswerThatItsStreamCannotBecome(t *testing.T) {
	t.Parallel()
	model := newTypist(scripted.Say("One.\nTwo.\nThree."))
	w := startWorld(t, &world{policy: everybody{}, model: model, tune: streamsSoon})
	thread := w.mention("U0ANN", "tell me", "")
	model.pieces <- "One.\n"
	shown := w.streamed(thread, "One.")
	w.slack.Fail(slackdev.Fault{Method: methodUpdate, Error: "msg_blocks_too_long", Times: -1})
	close(model.pieces)
	all := w.answered(thread)
	if len(all) != 1 || all[0].TS == shown.TS || !strings.Contains(all[0].Shown(), "Three.") {
		t.Errorf("the answer is in %v", all)
	}
}
