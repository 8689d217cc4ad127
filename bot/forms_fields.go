package bot

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slack-go/slack"

	"countersign/approvals"
	"countersign/internal/visible"
)

// inputForm asks for the values that a call lacks, or for the answer to a question.
func inputForm() form {
	return form{
		title: wordsFillIn, submit: wordsSend,
		ask: func(r *approvals.Request) ([]slack.Block, phrase) {
			if r.IsQuestion() {
				return questionInputs(r)
			}
			if len(r.Fields) == 0 || len(r.Fields) > mostFields {
				return nil, wordsTooManyToFillIn(r.ID)
			}
			var blocks []slack.Block
			for i := range r.Fields {
				f := newField(i, &r.Fields[i])
				blocks = append(blocks, f.input())
			}
			return blocks, nil
		},
		read: func(r *approvals.Request, v values) (approvals.Decision, map[string]string) {
			if r.IsQuestion() {
				return questionAnswer(r, v)
			}
			return readFields(r, v)
		},
		shows: withoutInputs,
		at: func(r *approvals.Request, refused *approvals.Refusal) string {
			if r.IsQuestion() {
				return inputBlock
			}
			for i := range r.Fields {
				if speaksOf(refused, r.Fields[i].Name) {
					return newField(i, &r.Fields[i]).block
				}
			}
			return ""
		},
	}
}

// withoutInputs is the request without the values to fill in whose inputs say all about them.
func withoutInputs(r *approvals.Request) *approvals.Request {
	shown := *r
	shown.Fields = nil
	for i, f := range r.Fields {
		if in := newField(i, &f); in.kept && !f.Secret {
			shown.Fields = append(shown.Fields, f)
		}
	}
	return &shown
}

// fieldKind is how a field is asked for.
type fieldKind string

const (
	fieldText   fieldKind = "text"
	fieldLines  fieldKind = "lines"
	fieldNumber fieldKind = "number"
	fieldTruth  fieldKind = "truth"
	fieldOne    fieldKind = "one"
	fieldSome   fieldKind = "some"
	fieldDate   fieldKind = "date"
	fieldTime   fieldKind = "time"
	fieldMoment fieldKind = "moment"
	fieldJSON   fieldKind = "json"
)

// field is an input for a value that a call lacks.
type field struct {
	*approvals.InputField
	block   string
	kind    fieldKind
	choices []choice
	// proposed says that the input holds what the model proposes, kept that it does not although there is something:
	// left empty, that stands.
	proposed, kept bool
}

func newField(i int, f *approvals.InputField) field {
	out := field{InputField: f, block: fieldBlock + strconv.Itoa(i)}
	if f.Secret {
		out.block = secretBlock + strconv.Itoa(i)
	}
	out.kind, out.choices = howToAsk(f)
	if f.Proposal != nil {
		out.proposed = !f.Secret && out.holds()
		out.kept = !out.proposed
	}
	return out
}

// schemaOf is what is read of a field's JSON Schema.
func schemaOf(f *approvals.InputField) (s struct {
	Format string `json:"format"`
	Items  struct {
		Enum []string `json:"enum"`
	} `json:"items"`
}) {
	_ = json.Unmarshal(f.Schema, &s) // what is not understood is asked for as JSON or text
	return s
}

// howToAsk chooses the input for a field.
func howToAsk(f *approvals.InputField) (fieldKind, []choice) {
	s := schemaOf(f)
	if all := choicesOf(f.Enum); all != nil {
		return fieldOne, all
	}
	switch f.Type {
	case "boolean":
		return fieldTruth, truths
	case "number", "integer":
		return fieldNumber, nil
	case "array":
		if all := choicesOf(s.Items.Enum); all != nil {
			return fieldSome, all
		}
	case "string":
		switch s.Format {
		case "date":
			return fieldDate, nil
		case "time":
			return fieldTime, nil
		case "date-time":
			return fieldMoment, nil
		}
		var proposal string
		if json.Unmarshal(f.Proposal, &proposal) == nil && (strings.Contains(proposal, "\n") || units(proposal) > 60) {
			return fieldLines, nil
		}
		return fieldText, nil
	}
	return fieldJSON, nil
}

// choicesOf are the options for texts that a menu can show and send back, each once; nil where it cannot.
func choicesOf(enum []string) (all []choice) {
	if len(enum) == 0 || len(enum) > maxMenuOptions {
		return nil
	}
	for _, text := range enum {
		if strings.TrimSpace(text) == "" || units(text) > maxOptionText || visible.Line(text) != text {
			return nil
		}
		if slices.ContainsFunc(all, func(c choice) bool { return c.value == text }) {
			continue
		}
		all = append(all, choice{value: text, text: text})
	}
	return all
}

// initial is what the input begins with: the model's proposal as the input writes it. ok is false where it cannot.
func (f *field) initial() (text string, ok bool) {
	var isText = json.Unmarshal(f.Proposal, &text) == nil && kindOf(f.Proposal) == "string"
	switch f.kind {
	case fieldText, fieldLines:
		return text, isText && seen(text) && units(text) <= maxInput
	case fieldOne:
		return text, isText && slices.ContainsFunc(f.choices, func(c choice) bool { return c.value == text })
	case fieldDate:
		_, err := time.Parse(time.DateOnly, text)
		return text, isText && err == nil
	case fieldTime:
		_, err := time.Parse("15:04", text)
		return text, isText && err == nil
	case fieldMoment:
		at, err := time.Parse(time.RFC3339, text)
		return text, isText && err == nil && pickable(at)
	case fieldNumber:
		return string(f.Proposal), kindOf(f.Proposal) == "number"
	case fieldTruth:
		return string(f.Proposal), kindOf(f.Proposal) == "boolean"
	}
	text = string(visible.JSON(f.Proposal))
	return text, units(text) <= maxInput
}

// pickable reports whether an input for moments can begin with this one. Slack takes it in whole seconds since 1970, of
// which it wants ten digits: nothing before September 2001. See
// https://docs.slack.dev/reference/block-kit/block-elements/datetime-picker-element.
func pickable(at time.Time) bool {
	return at.Nanosecond() == 0 && at.Unix() >= 1_000_000_000 && at.Unix() <= 9_999_999_999
}

// holds reports whether the input can begin with the model's proposal.
func (f *field) holds() bool {
	if f.kind == fieldSome {
		var all []string
		err := json.Unmarshal(f.Proposal, &all)
		return err == nil && !slices.ContainsFunc(all, func(text string) bool {
			return !slices.ContainsFunc(f.choices, func(c choice) bool { return c.value == text })
		})
	}
	_, ok := f.initial()
	return ok
}

// hint says what is asked for and what stands there already.
func (f *field) hint() string {
	var parts []string
	if f.Description != "" {
		parts = append(parts, strings.TrimSuffix(f.Description, ".")+".")
	}
	switch {
	case f.kind == fieldJSON:
		parts = append(parts, wordsAsJSON)
	case f.kind == fieldMoment:
		parts = append(parts, wordsYourTimeZone)
	case len(f.Enum) > 0 && f.kind != fieldOne:
		parts = append(parts, wordsOneOf(strings.Join(f.Enum, ", ")))
	}
	switch {
	case f.kept && f.Secret:
		parts = append(parts, wordsProposedSecret)
	case f.Secret:
		parts = append(parts, wordsSecretInput)
	case f.kept:
		parts = append(parts, wordsProposedUnfit)
	}
	return label(strings.Join(parts, " "), 1000)
}

// name is the label: the argument's name, marked where the model has proposed the value.
func (f *field) name() string {
	if f.proposed {
		return label(f.Name, 200) + wordsProposedLabel
	}
	return label(f.Name, 200)
}

// optional reports whether the input may be left empty. What holds a proposal may not: the proposal would stand.
func (f *field) optional() bool {
	switch {
	case f.proposed:
		return f.clearable()
	case f.kept:
		return true
	}
	return !f.Required
}

// clearable reports whether an emptied proposal means an empty text.
func (f *field) clearable() bool {
	return !f.Required && (f.kind == fieldText || f.kind == fieldLines)
}

// input renders the field.
func (f *field) input() *slack.InputBlock {
	initial := ""
	if f.proposed && f.kind != fieldSome {
		initial, _ = f.initial()
	}
	var b *slack.InputBlock
	switch f.kind {
	case fieldOne, fieldTruth:
		b = oneInput(f.block, f.name(), f.hint(), f.choices, initial)
	case fieldSome:
		var all []string
		if f.proposed {
			_ = json.Unmarshal(f.Proposal, &all) // holds has tried
		}
		b = someInput(f.block, f.name(), f.hint(), f.choices, all...)
	case fieldNumber:
		b = numberInput(f.block, f.name(), f.hint(), initial, f.Type == "number")
	case fieldDate:
		e := slack.NewDatePickerBlockElement(inputValue)
		e.InitialDate = initial
		b = slack.NewInputBlock(f.block, plain(f.name()), hinted(f.hint()), e)
	case fieldTime:
		e := slack.NewTimePickerBlockElement(inputValue)
		e.InitialTime = initial
		b = slack.NewInputBlock(f.block, plain(f.name()), hinted(f.hint()), e)
	case fieldMoment:
		e := slack.NewDateTimePickerBlockElement(inputValue)
		if at, err := time.Parse(time.RFC3339, initial); err == nil {
			e.InitialDateTime = at.Unix()
		}
		b = slack.NewInputBlock(f.block, plain(f.name()), hinted(f.hint()), e)
	default:
		b = textInput(f.block, inputValue, f.name(), f.hint(), initial, f.kind != fieldText)
	}
	b.Optional = f.optional()
	return b
}

// readFields makes the decision of what was filled in.
func readFields(r *approvals.Request, v values) (approvals.Decision, map[string]string) {
	var all []member
	bad := map[string]string{}
	for i := range r.Fields {
		f := newField(i, &r.Fields[i])
		value, words := f.read(v[f.block])
		switch {
		case words != "":
			bad[f.block] = words
		case value != nil:
			all = append(all, member{f.Name, value})
		}
	}
	if len(bad) > 0 {
		return approvals.Decision{}, bad
	}
	return approvals.Decision{Verdict: approvals.ProvideInput, Input: objectOf(all)}, nil
}

// read returns the value that was filled in, nil for none; words say what is wrong with it.
func (f *field) read(e entered) (value json.RawMessage, words string) {
	if f.empty(e) {
		switch {
		case f.proposed && f.clearable():
			return json.RawMessage(`""`), ""
		case f.proposed:
			return nil, wordsFillInProposed
		case f.Required && !f.kept:
			return nil, wordsFillThisIn
		}
		return nil, ""
	}
	switch f.kind {
	case fieldOne:
		return quotedJSON(e.Option.Value), ""
	case fieldTruth:
		return readTruth(e.Option.Value)
	case fieldSome:
		var texts []string
		for _, o := range e.Options {
			texts = append(texts, string(quotedJSON(o.Value)))
		}
		return json.RawMessage("[" + strings.Join(texts, ",") + "]"), ""
	case fieldNumber:
		return readNumber(e.Value)
	case fieldDate:
		return quotedJSON(e.Date), ""
	case fieldTime:
		return quotedJSON(e.Time), ""
	case fieldMoment:
		return quotedJSON(time.Unix(e.DateTime, 0).UTC().Format(time.RFC3339)), ""
	case fieldJSON:
		return readValue(e.Value)
	}
	if words := tooLong(e.Value, maxInput); words != "" {
		return nil, words
	}
	return quotedJSON(e.Value), ""
}

// empty reports whether nothing was filled in.
func (f *field) empty(e entered) bool {
	switch f.kind {
	case fieldOne, fieldTruth:
		return e.Option.Value == ""
	case fieldSome:
		return len(e.Options) == 0
	case fieldDate:
		return e.Date == ""
	case fieldTime:
		return e.Time == ""
	case fieldMoment:
		return e.DateTime == 0
	}
	return strings.TrimSpace(e.Value) == ""
}
