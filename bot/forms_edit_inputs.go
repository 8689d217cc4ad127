package bot

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/slack-go/slack"

	"countersign/approvals"
)

// memberInput holds the current value of a field, unless that is secret.
func memberInput(r *approvals.Request, i int, m member) *slack.InputBlock {
	block, name := memberBlock(r, i, m), label(m.name, 200)
	if isSecret(r, m.name) {
		input := textInput(block, inputValue, name, wordsSecretKept, "", true)
		input.Optional = true
		return input
	}
	switch kindOf(m.value) {
	case "number":
		f := parametersOf(r).field(r, m.name)
		return leavable(r, m, numberInput(block, name, hintOf(r, m), string(m.value), f.Type != "integer"))
	case "boolean":
		return leavable(r, m, oneInput(block, name, hintOf(r, m), truths, string(m.value)))
	}
	var s string
	_ = json.Unmarshal(m.value, &s) // flat has tried
	switch kind, choices := howToEdit(r, m.name, s); kind {
	case fieldOne:
		return leavable(r, m, oneInput(block, name, hintOf(r, m), choices, s))
	case fieldDate:
		e := slack.NewDatePickerBlockElement(inputValue)
		e.InitialDate = s
		return leavable(r, m, slack.NewInputBlock(block, plain(name), hinted(hintOf(r, m)), e))
	}
	hint := hintOf(r, m)
	if !clears(r, m) {
		hint = label(withSentence(parametersOf(r).field(r, m.name).Description, wordsEmptyText), 1000)
	}
	input := textInput(block, inputValue, name, hint, s, strings.Contains(s, "\n") || units(s) > 60)
	input.Optional = true // an empty text is one too
	return input
}

// hintOf says what the argument is, and how it is left out where it may be.
func hintOf(r *approvals.Request, m member) string {
	described := parametersOf(r).field(r, m.name).Description
	if clears(r, m) {
		described = withLeavingOut(described)
	}
	return label(described, 1000)
}

// clears reports whether an argument that is emptied is left out. An empty text that is there stays one.
func clears(r *approvals.Request, m member) bool {
	return parametersOf(r).optional(m.name) && string(m.value) != `""`
}

func leavable(r *approvals.Request, m member, input *slack.InputBlock) *slack.InputBlock {
	input.Optional = parametersOf(r).optional(m.name)
	return input
}

// howToEdit chooses the input for a text that is there: a menu of the schema's values, or a calendar, where it is one
// of those, else a text.
func howToEdit(r *approvals.Request, name, value string) (fieldKind, []choice) {
	f := parametersOf(r).field(r, name)
	kind, choices := howToAsk(&f)
	switch kind {
	case fieldOne:
		if slices.ContainsFunc(choices, func(c choice) bool { return c.value == value }) {
			return kind, choices
		}
	case fieldDate:
		if _, err := time.Parse(time.DateOnly, value); err == nil {
			return kind, nil
		}
	}
	return fieldText, nil
}

var truths = []choice{{value: "true", text: "true"}, {value: "false", text: "false"}}

// plainNumber is what an input for numbers takes.
var plainNumber = regexp.MustCompile(`^-?[0-9]{1,15}(\.[0-9]{1,9})?$`)

// numberInput asks for a number, which may be one that Slack's own input does not take.
func numberInput(block, name, hint, initial string, decimal bool) *slack.InputBlock {
	unfit := !plainNumber.MatchString(initial) || !decimal && strings.Contains(initial, ".")
	if initial != "" && unfit {
		return textInput(block, inputValue, name, hint, initial, false)
	}
	e := slack.NewNumberInputBlockElement(nil, inputValue, decimal)
	e.InitialValue = initial
	return slack.NewInputBlock(block, plain(name), hinted(hint), e)
}
