package bot

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/slack-go/slack"

	"countersign/approvals"
	"countersign/internal/visible"
)

// Inputs of fields have these block ids, with a number behind them. What is typed into a secret one is never put into a
// form again.
const (
	fieldBlock  = "field."
	secretBlock = "secret."
	jsonBlock   = "json"
)

// mostFields is how many inputs a form has; a view holds 100 blocks.
const mostFields = 40

// objectOf writes the fields.
func objectOf(all []member) json.RawMessage {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range all {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(quotedJSON(m.name))
		b.WriteByte(':')
		b.Write(m.value)
	}
	b.WriteByte('}')
	return b.Bytes()
}

func quotedJSON(s string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		panic(fmt.Sprintf("encode text: %v", err)) // a string
	}
	return bytes.TrimSpace(b.Bytes())
}

// editForm changes the arguments of a call: an input for each, or where they are not flat, or hold what cannot be seen,
// one text with the JSON. Values of secret arguments are in neither, and stay as they are unless others are typed.
func editForm() form {
	return form{
		title: wordsEditArguments, submit: wordsAskAboutThis,
		ask: func(r *approvals.Request) ([]slack.Block, phrase) {
			lead := paragraph(phrase{wordsNothingRuns})
			all, ok := membersOf(r.Arguments)
			if !ok {
				return nil, wordsTooLongToEdit(maxInput, r.ID)
			}
			if !flat(r, all) {
				text := openJSON(r, all)
				if units(text) > maxInput {
					return nil, wordsTooLongToEdit(maxInput, r.ID)
				}
				return []slack.Block{lead, jsonInput(r, all, text)}, nil
			}
			blocks := []slack.Block{lead}
			return append(blocks, editInputs(r, all)...), nil
		},
		read: readEdited,
		at: func(r *approvals.Request, refused *approvals.Refusal) string {
			all, _ := membersOf(r.Arguments)
			if !flat(r, all) {
				return jsonBlock
			}
			for i, m := range all {
				if speaksOf(refused, m.name) {
					return memberBlock(r, i, m)
				}
			}
			for _, f := range absentFields(r, all) {
				if speaksOf(refused, f.Name) {
					return f.block
				}
			}
			return ""
		},
	}
}

// editInputs are the inputs for arguments that are there and for those that may be, in the order of the schema.
func editInputs(r *approvals.Request, all []member) []slack.Block {
	type input struct {
		name  string
		block slack.Block
	}
	var inputs []input
	for i, m := range all {
		inputs = append(inputs, input{m.name, memberInput(r, i, m)})
	}
	for _, f := range absentFields(r, all) {
		inputs = append(inputs, input{f.Name, f.input()})
	}
	slices.SortStableFunc(inputs, func(a, b input) int { return orderOf(r.Order, a.name) - orderOf(r.Order, b.name) })
	var blocks []slack.Block
	for _, in := range inputs {
		blocks = append(blocks, in.block)
	}
	return blocks
}

// speaksOf reports whether a refusal is about the field. What a tool's own validation says has no name but in its
// words.
func speaksOf(refused *approvals.Refusal, name string) bool {
	if refused.Rule != "" {
		return refused.Rule == approvals.RuleField && refused.About == name
	}
	for _, quoted := range []string{`"` + name + `"`, "/" + name, "“" + name + "”", name + ":"} {
		if strings.Contains(refused.Why, quoted) {
			return true
		}
	}
	return false
}

func isSecret(r *approvals.Request, name string) bool { return slices.Contains(r.Secret, name) }

func memberBlock(r *approvals.Request, i int, m member) string {
	if isSecret(r, m.name) {
		return secretBlock + strconv.Itoa(i)
	}
	return fieldBlock + strconv.Itoa(i)
}

// flat reports whether each of the fields fits into an input: they are few, each has a name that an input can have, and
// is a text that people see as it is, a number or a truth value.
func flat(r *approvals.Request, all []member) bool {
	if len(all) == 0 || len(all) > mostFields {
		return false
	}
	for _, m := range all {
		if strings.TrimSpace(m.name) == "" || visible.Line(m.name) != m.name {
			return false
		}
		if !isSecret(r, m.name) && !inputtable(m.value) {
			return false
		}
	}
	return true
}

func inputtable(value json.RawMessage) bool {
	switch kindOf(value) {
	case "string":
		var s string
		return json.Unmarshal(value, &s) == nil && seen(s) && units(s) <= maxInput
	case "number", "boolean":
		return true
	}
	return false
}

// seen reports whether a reader sees all of the text as it is, in an input that keeps line breaks.
func seen(s string) bool { return string(visible.JSON([]byte(s))) == s }

// kindOf is the JSON type of a value.
func kindOf(value json.RawMessage) string {
	if len(value) == 0 {
		return ""
	}
	switch value[0] {
	case '"':
		return "string"
	case '{':
		return "object"
	case '[':
		return "array"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	return "number"
}

// jsonInput holds all arguments that are not secret as JSON.
func jsonInput(r *approvals.Request, all []member, text string) *slack.InputBlock {
	var names, hidden []string
	for _, m := range all {
		names = append(names, label(m.name, 80))
		if isSecret(r, m.name) {
			hidden = append(hidden, label(m.name, 80))
		}
	}
	hint := ""
	if hidden != nil {
		hint = label(wordsSecretsKept(strings.Join(hidden, ", ")), 1000)
	}
	name := wordsArgumentsJSON
	if len(names) > 0 {
		name = label(name+": "+strings.Join(names, ", "), 1000)
	}
	return textInput(jsonBlock, inputValue, name, hint, text, true)
}

// openJSON is the arguments without those that are secret, indented, with what cannot be seen written out.
func openJSON(r *approvals.Request, all []member) string {
	open := slices.DeleteFunc(slices.Clone(all), func(m member) bool { return isSecret(r, m.name) })
	var b bytes.Buffer
	if err := json.Indent(&b, objectOf(open), "", "  "); err != nil {
		return string(visible.JSON(objectOf(open)))
	}
	return string(visible.JSON(b.Bytes()))
}

// readEdited makes the decision of an edit form. What is not typed anew stays exactly as it is.
func readEdited(r *approvals.Request, v values) (approvals.Decision, map[string]string) {
	all, ok := membersOf(r.Arguments)
	if !ok {
		return approvals.Decision{}, map[string]string{jsonBlock: wordsNotEditable}
	}
	if !flat(r, all) {
		return readJSON(r, all, v)
	}
	bad := map[string]string{}
	var edited []member
	for i, m := range all {
		block := memberBlock(r, i, m)
		value, words := readMember(r, m, v[block])
		switch {
		case words != "":
			bad[block] = words
		case value != nil:
			edited = append(edited, member{m.name, value})
		}
	}
	edited = append(edited, readAbsent(r, all, v, bad)...)
	if len(bad) > 0 {
		return approvals.Decision{}, bad
	}
	return approvals.Decision{Verdict: approvals.Edit, Arguments: objectOf(edited)}, nil
}

// readMember reads the value of a field, nil for one that is left out; words say what is wrong with it.
func readMember(r *approvals.Request, m member, e entered) (value json.RawMessage, words string) {
	secret := isSecret(r, m.name)
	nothing := e.Value == "" && e.Option.Value == "" && e.Date == ""
	switch {
	case secret && nothing:
		return m.value, ""
	case nothing && clears(r, m):
		return nil, ""
	case e.Option.Value != "" && kindOf(m.value) == "string":
		return quotedJSON(e.Option.Value), ""
	case e.Date != "":
		return quotedJSON(e.Date), ""
	}
	switch kindOf(m.value) {
	case "number":
		return readNumber(e.Value)
	case "boolean":
		if secret {
			return readValue(e.Value)
		}
		return readTruth(e.Option.Value)
	case "string":
		return quotedJSON(e.Value), ""
	}
	return readValue(e.Value) // a secret one
}

func readNumber(text string) (json.RawMessage, string) {
	text = strings.TrimSpace(text)
	if kindOf(json.RawMessage(text)) != "number" || !json.Valid([]byte(text)) {
		return nil, wordsMustBeNumber
	}
	return json.RawMessage(text), ""
}

func readTruth(text string) (json.RawMessage, string) {
	if text != "true" && text != "false" {
		return nil, wordsChooseTruth
	}
	return json.RawMessage(text), ""
}

// readValue reads any value, as JSON.
func readValue(text string) (json.RawMessage, string) {
	text = strings.TrimSpace(text)
	if !json.Valid([]byte(text)) {
		return nil, wordsMustBeJSON(jsonMistake(text))
	}
	return json.RawMessage(text), ""
}

// jsonMistake says what is wrong with a text that is no JSON, and where.
func jsonMistake(text string) string {
	var any json.RawMessage
	err := json.Unmarshal([]byte(text), &any)
	mistake, ok := err.(*json.SyntaxError) //nolint:errorlint // as encoding/json returns it
	if !ok {
		return wordsJSONIncomplete
	}
	at := min(int(mistake.Offset), len(text))
	line := 1 + strings.Count(text[:at], "\n")
	return wordsMistakeInLine(mistake.Error(), line)
}

// readJSON reads the one text of an edit form. Secret arguments that it leaves out stay.
func readJSON(r *approvals.Request, all []member, v values) (approvals.Decision, map[string]string) {
	text := v.text(jsonBlock)
	if words := tooLong(text, maxInput); words != "" {
		return approvals.Decision{}, map[string]string{jsonBlock: words}
	}
	if _, words := readValue(text); words != "" {
		return approvals.Decision{}, map[string]string{jsonBlock: words}
	}
	edited, ok := membersOf(json.RawMessage(text))
	if !ok {
		return approvals.Decision{}, map[string]string{jsonBlock: wordsMustBeAnObject}
	}
	for _, m := range all {
		there := slices.ContainsFunc(edited, func(e member) bool { return e.name == m.name })
		if isSecret(r, m.name) && !there {
			edited = append(edited, m)
		}
	}
	return approvals.Decision{Verdict: approvals.Edit, Arguments: objectOf(edited)}, nil
}
