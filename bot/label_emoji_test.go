package bot

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"countersign/agent"
	"countersign/agent/asktool"
	"countersign/agent/scripted"
)

// TestEmojiInHeadlines: Slack does not say whether an emoji counts as one character or two. A call with many of them
// has its card and its forms also where it counts two.
func TestEmojiInHeadlines(t *testing.T) {
	t.Parallel()
	party := strings.Repeat("🎉", 70)
	w := newWorld(t, scripted.Calls(scripted.Call("call_1", "transfer_funds",
		fmt.Sprintf(`{"memo":%q,"to":%q,"what":%q}`, party, party, party))), scripted.Say("Done."))
	thread := w.mention("U0ANN", "party", "")
	card := w.card(thread, 1)
	for _, act := range []string{"show_details", "reject_with_reason", "edit_arguments", "always_reject"} {
		if err := w.click("U0BEN", card, act); err != nil {
			t.Fatal(err)
		}
		w.eventually(act+" fills its window", func() bool {
			views := w.slack.Views("U0BEN")
			return len(views) == 1 && strings.Contains(views[0].Shown(), "🎉")
		})
		if err := w.slack.CloseView(w.ctx(), "U0BEN", "", true); err != nil {
			t.Fatal(err)
		}
	}
}

// TestEmojiInOptions: an option that people can be shown is one that Slack sends back.
func TestEmojiInOptions(t *testing.T) {
	t.Parallel()
	ask := func(options ...string) scripted.Step {
		return scripted.Calls(scripted.Call("call_1", "ask_team",
			fmt.Sprintf(`{"question":"Which?","options":["%s"]}`, strings.Join(options, `","`))))
	}
	many := []string{"a", "b", "c", "d", strings.Repeat("🎉", 37)}
	w := newWorldOf(t, []agent.Tool{asktool.New("ask_team", "Asks.")}, ask(many...), scripted.Say("Done."))
	form := w.opened("U0BEN", w.card(w.mention("U0ANN", "ask", ""), 1), "provide_input")
	if !strings.Contains(form.Shown(), "🎉") {
		t.Errorf("the form shows %s", form.Shown())
	}
	long := `{"question":"Which?","options":["a","` + strings.Repeat("🎉", 38) + `"]}`
	if _, err := asktool.Parse([]byte(long)); err == nil {
		t.Error("an option is taken that has 76 characters where an emoji counts as two")
	}
}

// TestLabelCountsAsSlackMay cuts a text of emoji at every length.
func TestLabelCountsAsSlackMay(t *testing.T) {
	t.Parallel()
	for limit := 2; limit < 30; limit++ {
		got := label(strings.Repeat("🎉", 20), limit)
		if units(got) > limit || !slices.Contains([]string{"🎉", "…"}, string([]rune(got)[:1])) {
			t.Errorf("cut to %d: %q", limit, got)
		}
	}
}
