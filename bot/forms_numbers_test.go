package bot

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"countersign/agent"
	"countersign/agent/scripted"
	"countersign/approvals"
)

// TestEditedNumbers: the form of a call opens whatever its numbers are, and holds each as the card shows it. What
// people confirm on the next card is, digit for digit, what runs; what cannot be kept so is refused at its input.
func TestEditedNumbers(t *testing.T) {
	t.Parallel()
	const thirty = "123456789012345678901234567890"
	for name, c := range map[string]struct {
		is, wrote, shown string // its type, what the model wrote, and what the card and the form show
		typed, runs      string
		refused          string // what is said at the input; then nothing runs
	}{
		"a fraction for a whole number": {is: "integer", wrote: "2.5", shown: "2.5", typed: "3", runs: "3"},
		"a tenth":                       {is: "number", wrote: "0.1", shown: "0.1", typed: "0.2", runs: "0.2"},
		"zeros behind":                  {is: "number", wrote: "1.50", shown: "1.5", typed: "2.50", runs: "2.5"},
		"a large one":                   {is: "number", wrote: "1e21", shown: "1e+21", typed: "2e21", runs: "2e+21"},
		"a small one":                   {is: "number", wrote: "1e-7", shown: "1e-7", typed: "0.1", runs: "0.1"},
		"too many digits":               {is: "integer", wrote: "1", shown: "1", typed: thirty, refused: "too large"},
		"too exact": {
			is: "number", wrote: "1", shown: "1", typed: "0." + thirty, refused: "more digits",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := &bank{}
			tool := agent.Tool{
				Name: "count", Description: "Counts.", NeedsApproval: agent.AlwaysAsk, Invoke: b.tool().Invoke,
				Parameters: json.RawMessage(`{"type":"object","properties":{"n":{"type":"` + c.is + `"}}}`),
				Validate:   func(json.RawMessage) error { return nil },
			}
			w := startWorld(t, &world{policy: demands(nil), tools: []agent.Tool{tool}, script: script{
				scripted.Calls(scripted.Call("call_1", "count", `{"n":`+c.wrote+`}`)), scripted.Say("Counted."),
			}})
			thread := w.mention("U0ANN", "count", "")
			card := w.card(thread, 1)
			if got := texts(t, card.Blocks); !strings.Contains(got, c.shown) {
				t.Errorf("the card shows %s", got)
			}
			form := w.opened("U0BEN", card, "edit_arguments")
			if !strings.Contains(string(form.Blocks), `"initial_value":"`+c.shown+`"`) {
				t.Errorf("the form holds %s", form.Blocks)
			}
			answer := w.submits("U0BEN", "edit_arguments", map[string]any{"n": c.typed})
			if c.refused != "" {
				if words := errorsOf(answer); len(words) != 1 || !strings.Contains(words[0], c.refused) {
					t.Errorf("the form answers %v", answer)
				}
				return
			}
			if answer != nil {
				t.Fatalf("the form answers %v", answer)
			}
			again := w.card(thread, 2)
			if got := texts(t, again.Blocks); !strings.Contains(got, c.runs) {
				t.Errorf("the next card shows %s, which lacks %s", got, c.runs)
			}
			if err := w.click("U0CLEO", again, "approve"); err != nil {
				t.Fatal(err)
			}
			w.said(thread, "Counted.")
			if got := b.payments(); len(got) != 1 || got[0] != `{"n":`+c.runs+`}` {
				t.Errorf("it ran with %v", got)
			}
		})
	}
}

// TestProposedFractionForAWholeNumber: the form to fill in opens, and holds what the model proposes as a text.
func TestProposedFractionForAWholeNumber(t *testing.T) {
	t.Parallel()
	s := newStage(t, setUp{})
	r := transfer(small)
	r.Kind = agent.FieldsRequired
	r.Fields = []approvals.InputField{
		{Name: "guests", Type: "integer", Required: true, Proposal: json.RawMessage(`2.5`)},
		{Name: "rooms", Type: "integer", Required: true, Proposal: json.RawMessage(`2`)},
	}
	if err := s.click("U0BEN", s.show(r), "provide_input"); err != nil {
		t.Fatal(err)
	}
	form := s.modalOf("U0BEN", "provide_input")
	if got := string(form.Blocks); !strings.Contains(got, `"initial_value":"2.5"`) ||
		strings.Count(got, "number_input") != 1 {
		t.Errorf("the form holds %s", got)
	}
}

// TestIntegerThatNoReaderKeeps: an integer beyond what JSON readers keep brings no card. The model reads why, and
// writes it otherwise.
func TestIntegerThatNoReaderKeeps(t *testing.T) {
	t.Parallel()
	const thirty = "123456789012345678901234567890"
	again := scripted.Calls(scripted.Call("call_2", "transfer_funds", `{"amount":"`+thirty+`"}`))
	again.Check = func(req *agent.ModelRequest) error {
		if last := req.Items[len(req.Items)-1]; !strings.Contains(last.Output, "write it as a string") {
			return fmt.Errorf("the model reads %s", last.Output)
		}
		return nil
	}
	w := newWorld(t, scripted.Calls(scripted.Call("call_1", "transfer_funds", `{"amount":`+thirty+`}`)), again,
		scripted.Say("Paid."))
	thread := w.mention("U0ANN", "pay", "")
	card := w.card(thread, 1)
	if got := texts(t, card.Blocks); !strings.Contains(got, thirty) {
		t.Errorf("the card shows %s", got)
	}
	if err := w.click("U0BEN", card, "approve"); err != nil {
		t.Fatal(err)
	}
	w.said(thread, "Paid.")
	if got := w.bank.payments(); len(got) != 1 || got[0] != `{"amount":"`+thirty+`"}` {
		t.Errorf("payments: %v", got)
	}
}
