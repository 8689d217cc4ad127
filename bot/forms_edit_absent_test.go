package bot

import (
	"encoding/json"
	"strings"
	"testing"

	"countersign/agent"
	"countersign/agent/rawtool"
	"countersign/agent/scripted"
)

const flightSchema = `{"type":"object","properties":{
	"to":{"type":"string"},
	"class":{"type":"string","enum":["economy","business"],"description":"Where to sit."},
	"seats":{"type":"integer"},
	"window":{"type":"boolean"},
	"day":{"type":"string","format":"date"},
	"meals":{"type":"array","items":{"enum":["fish","none"]}},
	"fare":{"type":["number","null"]},
	"pass":{"type":"string"},
	"note":{"type":"string"}
},"required":["to"],"additionalProperties":false}`

// TestEditOffersWhatIsLeftOut: the form has an input for each argument that the call leaves out and may have, by its
// type; one that stays empty stays out, one that is emptied is left out, and a mistake is said at its input.
func TestEditOffersWhatIsLeftOut(t *testing.T) {
	t.Parallel()
	b := &bank{}
	tool, err := rawtool.New("book", "Books.", json.RawMessage(flightSchema), b.tool().Invoke)
	if err != nil {
		t.Fatal(err)
	}
	tool.NeedsApproval, tool.Secret = agent.AlwaysAsk, []string{"pass"}
	w := startWorld(t, &world{policy: demands(nil), tools: []agent.Tool{tool}, script: script{
		scripted.Calls(scripted.Call("call_1", "book", `{"to":"Oslo","note":"soon","class":"economy"}`)),
		scripted.Say("Booked."),
	}})
	thread := w.mention("U0ANN", "book it", "")
	form := w.opened("U0BEN", w.card(thread, 1), "edit_arguments")
	shown := string(form.Blocks)
	for _, want := range []string{
		`"type":"datepicker"`, `"type":"checkboxes"`, `"type":"radio_buttons"`, `"is_decimal_allowed":false`,
		`"is_decimal_allowed":true`, "Where to sit. Left empty, it is left out.",
	} {
		if !strings.Contains(shown, want) {
			t.Errorf("the form lacks %s: %s", want, shown)
		}
	}
	answer := w.submits("U0BEN", "edit_arguments", map[string]any{"seats": "100000000000000000000"})
	if words := errorsOf(answer); len(words) != 1 {
		t.Errorf("too many seats: %v", answer)
	}
	answer = w.submits("U0BEN", "edit_arguments", map[string]any{
		"class": "business", "seats": "2", "window": "true", "day": "2026-12-01", "meals": []string{"fish"}, "note": "",
		"pass": "canary-4711",
	})
	if answer != nil {
		t.Fatalf("the form answers %v", answer)
	}
	if err := w.click("U0CLEO", w.card(thread, 2), "approve"); err != nil {
		t.Fatal(err)
	}
	w.said(thread, "Booked.")
	want := `{"class":"business","day":"2026-12-01","meals":["fish"],"pass":"canary-4711","seats":2,"to":"Oslo",` +
		`"window":true}`
	if got := b.payments(); len(got) != 1 || got[0] != want {
		t.Errorf("it ran with %v\nwant %s", got, want)
	}
}
