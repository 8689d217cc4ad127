package app_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// keptRequest is what a test looks at in a request to the model's provider.
type keptRequest struct {
	Store              bool   `json:"store"`
	PreviousResponseID string `json:"previous_response_id"`
	Input              []struct {
		Type, Role string
	} `json:"input"`
}

func (w *world) keptRequests() (all []keptRequest) {
	w.t.Helper()
	for _, r := range w.model.Requests() {
		var k keptRequest
		if err := json.Unmarshal(r.Body, &k); err != nil {
			w.t.Fatal(err)
		}
		all = append(all, k)
	}
	return all
}

// replyIn posts a mention of ann in the thread.
func (w *world) replyIn(thread, text string) {
	w.t.Helper()
	if _, err := w.slack.Post(w.ctx, ann, general, "<@"+w.slack.Config().App.BotUserID+"> "+text, thread); err != nil {
		w.t.Fatal(err)
	}
}

// TestConversationOfTheProvider sends the provider only what it does not have: across a restart with a question open,
// and in the next run of the thread. What it has forgotten it is sent again, and the bot says so in its log.
func TestConversationOfTheProvider(t *testing.T) {
	t.Parallel()
	w := newWorld(t, settings{})
	w.write("countersign.yaml", fmt.Sprintf(
		strings.Replace(agentsYAML, "model: gpt-5.2", "model: gpt-5.2\n    conversation: provider", 1), anybody))
	bot := w.start()
	thread := w.mention("pay 5")
	card := w.card(thread, 1)
	bot.stop()
	bot = w.start()
	w.mustClick(ben, card, "approve")
	w.answer(thread, "R-1")
	w.replyIn(thread, "what time is it")
	w.until("three answers", func() bool { return len(w.keptRequests()) == 4 && len(w.said(thread)) >= 2 })
	last := w.keptRequests()
	for i, want := range []int{1, 1, 1, 1} { // a message, an output, a message, an output
		if r := last[i]; len(r.Input) != want || !r.Store || (r.PreviousResponseID == "") != (i == 0) {
			t.Errorf("request %d: %+v", i+1, r)
		}
	}
	w.model.ForgetResponses()
	w.replyIn(thread, "still there?")
	w.until("an answer after all", func() bool { return len(w.said(thread)) >= 3 })
	all := w.keptRequests()
	final := all[len(all)-1]
	if len(all) != 6 || final.PreviousResponseID != "" || len(final.Input) != 9 {
		t.Errorf("%d requests; the last is %+v", len(all), final)
	}
	bot.says("the provider no longer has the conversation; it is sent again")
	w.verified()
}
