package bot

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"countersign/agent"
	"countersign/agent/scripted"
	"countersign/approvals"
	"countersign/internal/slackdev"
)

// reserve is a tool of which people fill in all fields, of every type.
func reserve(b *bank) agent.Tool {
	names := []string{"date", "time", "moment", "guests", "price", "outside", "room", "extras", "memo", "more"}
	return agent.Tool{
		Name: "reserve", Description: "Reserves a table.", Proposed: names,
		Parameters: json.RawMessage(`{"type":"object","required":["date","time","guests","outside","room"],
			"properties":{"date":{"type":"string","format":"date","description":"When to come"},
			"time":{"type":"string","format":"time"},
			"moment":{"type":"string","format":"date-time"},"guests":{"type":"integer"},"price":{"type":"number"},
			"outside":{"type":"boolean"},"room":{"type":"string","enum":["hall","cellar"]},
			"extras":{"type":"array","items":{"type":"string","enum":["cake","wine","song"]}},
			"memo":{"type":"string"},"more":{"type":"object"}}}`),
		Validate: func(raw json.RawMessage) error {
			if strings.Contains(string(raw), `"guests":99`) {
				return errors.New(`"guests": at most 50`)
			}
			return nil
		},
		Invoke: func(ctx context.Context, call *agent.ToolCall) (agent.ToolOutput, error) {
			return b.tool().Invoke(ctx, call)
		},
	}
}

// TestFieldsAreFilledIn: each field has the input of its type, proposals stand in theirs and are marked, a mistake is
// said at its input, and the call runs with what was filled in.
func TestFieldsAreFilledIn(t *testing.T) {
	t.Parallel()
	b := &bank{}
	w := startWorld(t, &world{policy: demands(nil), tools: []agent.Tool{reserve(b)}, script: script{
		scripted.Calls(scripted.Call("call_1", "reserve", `{"guests":2,"memo":"by the \u202ewindow","room":"hall"}`)),
		scripted.Say("Reserved."),
	}})
	thread := w.mention("U0ANN", "reserve", "")
	card := w.card(thread, 1)
	form := w.opened("U0BEN", card, "provide_input")
	for label, kind := range map[string]string{
		"date": "datepicker", "time": "timepicker", "moment": "datetimepicker", "guests": "number_input",
		"price": "number_input", "outside": "radio_buttons", "room": "radio_buttons", "extras": "checkboxes",
		"memo": "plain_text_input", "more": "plain_text_input",
	} {
		if got := inputOf(t, form, label); got.Element.Type != kind {
			t.Errorf("%s is asked for by a %s, want a %s", label, got.Element.Type, kind)
		}
	}
	for label, marked := range map[string]bool{"guests": true, "room": true, "date": false, "memo": false} {
		if got := strings.Contains(inputOf(t, form, label).Label.Text, "proposed by the model"); got != marked {
			t.Errorf("%s is marked as proposed: %v", label, got)
		}
	}
	if strings.Contains(string(form.Blocks), "\u202e") || !inputOf(t, form, "memo").Optional {
		t.Errorf("what cannot be seen stands in the form, or has to be typed anew: %s", form.Blocks)
	}
	_, err := w.slack.Submit(w.ctx(), "U0BEN", form.ID, labelled(t, form, map[string]any{"guests": "3"}))
	if !errors.Is(err, slackdev.ErrInvalidInput) {
		t.Errorf("without the required ones: %v", err)
	}
	values := map[string]any{
		"date": "2026-12-01", "time": "19:30", "moment": "1796153400", "guests": "99", "outside": "true",
		"room": "cellar", "extras": []string{"cake", "song"}, "more": `{"a":`,
	}
	answer := w.submits("U0BEN", "provide_input", values)
	at, _ := answer["errors"].(map[string]any)
	if words, _ := at[inputOf(t, form, "more").ID].(string); !strings.Contains(words, "must be JSON") {
		t.Errorf("half an object: %v", answer)
	}
	values["more"] = `{"a":1}`
	answer = w.submits("U0BEN", "provide_input", values)
	at, _ = answer["errors"].(map[string]any)
	if words, _ := at[inputOf(t, form, "guests").ID].(string); !strings.Contains(words, "at most 50") {
		t.Errorf("what the tool does not take is said elsewhere: %v", answer)
	}
	values["guests"] = "4"
	if answer = w.submits("U0BEN", "provide_input", values); answer != nil {
		t.Fatalf("the form answers %v", answer)
	}
	w.said(thread, "Reserved.")
	want := `{"date":"2026-12-01","extras":["cake","song"],"guests":4,"memo":"by the ` + "\u202e" +
		`window","moment":"2026-12-01T19:30:00Z","more":{"a":1},"outside":true,"room":"cellar","time":"19:30"}`
	if got := b.payments(); len(got) != 1 || got[0] != want {
		t.Errorf("ran with %s\nwant %s", got, want)
	}
}

// TestMomentsThatNoPickerTakes: the model proposes a moment that Slack's input cannot begin with. The form opens all
// the same, its input is not said to hold what it does not, and left empty what was proposed stands.
func TestMomentsThatNoPickerTakes(t *testing.T) {
	t.Parallel()
	for moment, marked := range map[string]bool{
		"1999-12-31T23:00:00Z": false, "1970-01-01T00:00:00Z": false, "2300-01-01T00:00:00Z": false,
		"2026-12-01T10:00:00.25Z": false, "2026-12-01T10:00:00Z": true,
	} {
		t.Run(moment, func(t *testing.T) {
			t.Parallel()
			b := &bank{}
			w := startWorld(t, &world{policy: demands(nil), tools: []agent.Tool{reserve(b)}, script: script{
				scripted.Calls(scripted.Call("call_1", "reserve", `{"moment":"`+moment+`"}`)),
				scripted.Say("Reserved."),
			}})
			thread := w.mention("U0ANN", "reserve", "")
			form := w.opened("U0BEN", w.card(thread, 1), "provide_input")
			if got := strings.Contains(inputOf(t, form, "moment").Label.Text, "proposed by the model"); got != marked {
				t.Errorf("marked as proposed: %v", got)
			}
			values := map[string]any{
				"date": "2026-12-01", "time": "19:30", "guests": "4", "outside": "true", "room": "cellar",
			}
			if answer := w.submits("U0BEN", "provide_input", values); answer != nil {
				t.Fatalf("the form answers %v", answer)
			}
			w.said(thread, "Reserved.")
			if got := b.payments(); len(got) != 1 || !strings.Contains(got[0], `"moment":"`+moment+`"`) {
				t.Errorf("ran with %s", got)
			}
		})
	}
}

// seenInput is an input as Slack is sent it.
type seenInput struct {
	ID       string `json:"block_id"`
	Optional bool   `json:"optional"`
	Label    struct {
		Text string `json:"text"`
	} `json:"label"`
	Element struct {
		Type string `json:"type"`
	} `json:"element"`
}

func inputOf(t *testing.T, form slackdev.View, label string) seenInput {
	t.Helper()
	var all []seenInput
	if err := json.Unmarshal(form.Blocks, &all); err != nil {
		t.Fatal(err)
	}
	for _, b := range all {
		if b.Label.Text != "" && strings.HasPrefix(b.Label.Text, label) {
			return b
		}
	}
	t.Fatalf("no input %s in %s", label, form.Blocks)
	return seenInput{}
}

// TestEmptiedProposals: nobody who empties an input is taken to have agreed to what stood there.
func TestEmptiedProposals(t *testing.T) {
	t.Parallel()
	text := json.RawMessage(`"proposed"`)
	type field = approvals.InputField
	for name, tt := range map[string]struct {
		field field
		value string // "" for none
		wrong bool
	}{
		"a required proposal":        {field{Type: "string", Required: true, Proposal: text}, "", true},
		"a proposal":                 {field{Type: "string", Proposal: text}, `""`, false},
		"a number's proposal":        {field{Type: "number", Proposal: json.RawMessage(`2`)}, "", true},
		"nothing proposed":           {field{Type: "string"}, "", false},
		"nothing, though required":   {field{Type: "string", Required: true}, "", true},
		"a secret proposal":          {field{Type: "string", Required: true, Proposal: text, Secret: true}, "", false},
		"a proposal out of the menu": {field{Enum: []string{"a"}, Proposal: text}, "", false},
	} {
		f := newField(0, &tt.field)
		value, words := f.read(entered{})
		if string(value) != tt.value || (words != "") != tt.wrong {
			t.Errorf("%s: left empty it is %q, %q", name, value, words)
		}
	}
}

// askingFields is a world in which an agent asks the question, and its card.
func askingFields(t *testing.T, arguments string) (*world, string, slackdev.Message) {
	t.Helper()
	tool := agent.Tool{
		Name: "ask_team", Kind: agent.KindAsk, External: true, Parameters: json.RawMessage(`{"type":"object"}`),
		Validate: func(json.RawMessage) error { return nil },
	}
	w := startWorld(t, &world{policy: demands(nil), tools: []agent.Tool{tool}, script: script{
		scripted.Calls(scripted.Call("call_1", "ask_team", arguments)), scripted.Say("Thank you."),
	}})
	thread := w.mention("U0ANN", "ask the team", "")
	return w, thread, w.card(thread, 1)
}

// answers waits for the end of the run and returns what was answered.
func (w *world) answers(thread string, card slackdev.Message) []string {
	w.t.Helper()
	w.said(thread, "Thank you.")
	reject, _ := card.Press("", "reject")
	r, err := w.engine.Request(w.ctx(), testWorkspace, approvals.RequestID(reject.Value))
	if err != nil || len(r.Decisions) != 1 {
		w.t.Fatalf("%+v, %v", r, err)
	}
	return r.Decisions[0].Answers
}

// TestQuestionsByButton: few options are buttons, and one press is the answer.
func TestQuestionsByButton(t *testing.T) {
	t.Parallel()
	w, thread, card := askingFields(t, `{"question":"Which?","options":["blue","red"]}`)
	if err := w.click("U0BEN", card, "option_1"); err != nil {
		t.Fatal(err)
	}
	if got := w.answers(thread, card); len(got) != 1 || got[0] != "red" {
		t.Errorf("answered %q", got)
	}
}

// TestQuestionsByForm: many options, several choices and own words are asked for in a form.
func TestQuestionsByForm(t *testing.T) {
	t.Parallel()
	many := `["a","b","c","d","e","f","g","h","i","j","k"]`
	for name, tt := range map[string]struct {
		arguments, kind, label string
		value                  any
		want                   string
	}{
		"five options": {`{"question":"Which?","options":["a","b","c","d","e"]}`,
			"radio_buttons", "Your answer", "e", "e"},
		"eleven options": {`{"question":"Which?","options":` + many + `}`, "static_select", "Your answer", "k", "k"},
		"several choices": {`{"question":"Which?","several":true,"options":["a","b","c"]}`,
			"checkboxes", "Your answers", []string{"a", "c"}, "a c"},
		"several of many": {`{"question":"Which?","several":true,"options":` + many + `}`,
			"multi_static_select", "Your answers", []string{"b", "k"}, "b k"},
		"own words": {`{"question":"Why?"}`, "plain_text_input", "Your answer", "Because <it> is.", "Because <it> is."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, thread, card := askingFields(t, tt.arguments)
			form := w.opened("U0BEN", card, "provide_input")
			if got := inputOf(t, form, tt.label).Element.Type; got != tt.kind {
				t.Errorf("asked for by a %s, want a %s", got, tt.kind)
			}
			if !strings.Contains(texts(t, form.Blocks), "asks:") {
				t.Errorf("the form does not show the question: %s", form.Blocks)
			}
			if answer := w.submits("U0BEN", "provide_input", map[string]any{tt.label: tt.value}); answer != nil {
				t.Fatalf("the form answers %v", answer)
			}
			if got := strings.Join(w.answers(thread, card), " "); got != tt.want {
				t.Errorf("answered %q", got)
			}
		})
	}
}
