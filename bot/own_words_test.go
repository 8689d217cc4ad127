package bot

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"countersign/agent/scripted"
)

// TestOwnWordsNameWhomTheyName: somebody who writes of colleagues and channels reads their names on the card, not
// Slack's signs for them; nobody is called by that.
func TestOwnWordsNameWhomTheyName(t *testing.T) {
	t.Parallel()
	w := newWorld(t, pay("call_1"), scripted.Say("Done."))
	thread := w.mention("U0ANN", "ask <@U0CLEO> in <#C0GENERAL|general>, <!subteam^S0FIN|@fin>, <!here>, "+
		"before <!date^1392734382^{date}|18 Feb>, &lt;b&gt; &amp; <https://acme.example|acme.example>", "")
	card := w.card(thread, 1)
	want := "asks: “ask @cleo in <#C0GENERAL>, a group, @here, before 18 Feb, <b> & acme.example”"
	if shown := card.Shown(); !strings.Contains(shown, want) {
		t.Errorf("the card shows %s", shown)
	}
	if got := w.pings(card); slices.Contains(got, "U0CLEO") || slices.Contains(got, "S0FIN") {
		t.Errorf("the card calls %v", got)
	}
	if err := w.click("U0BEN", card, "show_details"); err != nil {
		t.Fatal(err)
	}
	details := w.modalOf("U0BEN", viewDetails).Shown()
	if !strings.Contains(details, "“ask <@U0CLEO> in <#C0GENERAL>, ") {
		t.Errorf("the details show %s", details)
	}
}

// TestOwnWordsAreNoMarkup: what only looks like one of Slack's signs stays what it is, visible.
func TestOwnWordsAreNoMarkup(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]phrase{
		"":                               nil,
		"a <b> c":                        {"a <b> c"},
		"<@U0> <@ann> <#general> <!all>": {user("U0"), " <@ann> <#general> <!all>"},
		"to <@U0CLEO|cleo\u202e>.":       {"to ", user("U0CLEO"), "."},
		"to <!date^1^{date}|\u202eDay>":  {"to ", `\u{202E}Day`},
		"pay <@U0CL… (210 characters)":   {"pay ", "… (210 characters)"},
		"a\u202e<#C0PAY>":                {`a\u{202E}`, room("C0PAY")},
		"<@U0CLEO":                       {"<@U0CLEO"},
	} {
		if diff := cmp.Diff(want.joined(), inOwnWords(testWorkspace, text).joined()); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}
