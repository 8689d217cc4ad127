package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"countersign/approvals"
)

// revisionFlags are the answers that change or complete a call.
func (c *decideCommand) revisionFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&c.Edit, "edit", "",
		"change the call: its arguments become the object `JSON`, or what is in @FILE; another request asks about them")
	f.StringArrayVar(&c.Input, "input", nil,
		"fill in a field, as often as needed: `NAME=VALUE`, where VALUE is JSON or, of a text, the text itself")
	f.StringVar(&c.InputJSON, "input-json", "",
		"fill in the fields by the object `JSON`, or what is in @FILE; {} takes all proposals")
	f.StringArrayVar(&c.Answer, "answer", nil,
		"answer the question of an agent: one of its options, or a `TEXT` where it has none;\n"+
			"as often as needed where it allows several")
}

// readRevision reads what makes another call of one, as far as that can be told without the request.
func (c *decideCommand) readRevision() (err error) {
	switch {
	case c.Edit != "":
		c.arguments, err = jsonOrFile("--edit", c.Edit)
	case c.InputJSON != "":
		c.values, err = jsonOrFile("--input-json", c.InputJSON)
	default:
		err = checkPairs(c.Input)
	}
	return err
}

// checkPairs refuses what is no NAME=VALUE, and a name that is there twice.
func checkPairs(pairs []string) error {
	var seen []string
	for _, pair := range pairs {
		name, _, ok := strings.Cut(pair, "=")
		switch {
		case !ok:
			return misused("--input %s: write NAME=VALUE", pair)
		case slices.Contains(seen, name):
			return misused("--input: %s is given twice", name)
		}
		seen = append(seen, name)
	}
	return nil
}

// revise adds to the decision what makes another call of the one that r asks about.
func (c *decideCommand) revise(r *approvals.Request, d *approvals.Decision) (err error) {
	d.Arguments, d.Input = c.arguments, c.values
	if len(c.Input) > 0 {
		d.Input, err = inputOf(r.Fields, c.Input)
	}
	return err
}

// jsonOrFile returns the value of a flag, or what the file holds that it names. What it means is checked by whoever
// reads it.
func jsonOrFile(flag, value string) (json.RawMessage, error) {
	path, isFile := strings.CutPrefix(value, "@")
	raw := []byte(value)
	if isFile {
		var err error
		if raw, err = os.ReadFile(path); err != nil {
			return nil, misused("%s: %v", flag, err)
		}
	}
	if !json.Valid(raw) {
		return nil, misused("%s: this is not JSON", flag)
	}
	return raw, nil
}

// inputOf makes one object of NAME=VALUE pairs.
func inputOf(fields []approvals.InputField, pairs []string) (json.RawMessage, error) {
	if err := checkPairs(pairs); err != nil {
		return nil, err
	}
	var members []string
	for _, pair := range pairs {
		name, value, _ := strings.Cut(pair, "=")
		i := slices.IndexFunc(fields, func(f approvals.InputField) bool { return f.Name == name })
		switch {
		case i < 0 && len(fields) == 0:
			return nil, misused("--input: this request asks for no values")
		case i < 0:
			return nil, misused("--input: there is no field %q; the request asks for %s", name, fieldNames(fields))
		}
		raw, err := fieldValue(&fields[i], value)
		if err != nil {
			return nil, err
		}
		key, err := json.Marshal(name)
		if err != nil {
			return nil, fmt.Errorf("--input %s: %w", name, err)
		}
		members = append(members, string(key)+":"+string(raw))
	}
	return json.RawMessage("{" + strings.Join(members, ",") + "}"), nil
}

// fieldValue reads a value by the type of its field: of a text, the text itself or a JSON string; of anything else,
// JSON. Of a field without a type, what is no JSON is a text.
func fieldValue(f *approvals.InputField, value string) (json.RawMessage, error) {
	isJSON := json.Valid([]byte(value))
	switch {
	case f.Type == "string" && isJSON && strings.HasPrefix(strings.TrimSpace(value), `"`),
		f.Type != "string" && isJSON:
		return json.RawMessage(value), nil
	case f.Type == "string", f.Type == "":
		return json.Marshal(value)
	}
	return nil, misused("--input %s: a value of type %s is written as JSON, and %q is none", f.Name, f.Type, value)
}

func fieldNames(fields []approvals.InputField) string {
	var names []string
	for _, f := range fields {
		names = append(names, f.Name)
	}
	return strings.Join(names, ", ")
}
