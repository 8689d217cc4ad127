package httptool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// Validator returns a check of arguments against a JSON Schema (draft 2020-12, or draft-07 if it says so). An empty
// schema allows an object without members. The check's error lists what is wrong with JSON pointers into the arguments
// and is made for a model to read: it names members and what is expected of them, and repeats no values.
//
// Whether unknown members are allowed is the schema's matter. A schema with a keyword that is misspelled or not
// enforced is refused with its place, for a limit that silently does nothing is worse than none; so are references
// out of the schema or in circles. The keyword format is taken as a hint and not enforced.
func Validator(schema json.RawMessage) (func(json.RawMessage) error, error) {
	if len(bytes.TrimSpace(schema)) == 0 {
		schema = json.RawMessage(`{"type":"object","additionalProperties":false}`)
	}
	root, err := lint(schema)
	if err != nil {
		return nil, err
	}
	var parsed jsonschema.Schema
	if err := json.Unmarshal(schema, &parsed); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	resolved, err := parsed.Resolve(nil)
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	return func(arguments json.RawMessage) error { return validate(resolved, root, arguments) }, nil
}

// validate checks arguments. The library's word is final; the explanation is ours.
func validate(resolved *jsonschema.Resolved, root any, arguments json.RawMessage) (err error) {
	defer func() { // whatever a schema makes the library do, arguments that were not checked are not valid
		if r := recover(); r != nil {
			err = errors.New("the arguments could not be checked against the tool's schema")
		}
	}()
	var value any
	if err := json.Unmarshal(arguments, &value); err != nil {
		return errors.New("the arguments are not JSON")
	}
	verdict := resolved.Validate(value)
	if verdict == nil {
		return nil
	}
	x := explainer{root: root}
	x.check(root, value, "", 0)
	if len(x.problems) == 0 {
		return errors.New("the arguments are not valid under the tool's schema: " + printable(innermost(verdict), 300))
	}
	return errors.New(strings.Join(x.problems, "; "))
}

// innermost is the last part of a message that says through which schemas it came.
func innermost(err error) string {
	text := err.Error()
	for {
		rest, ok := strings.CutPrefix(text, "validating ")
		if !ok {
			return text
		}
		_, rest, ok = strings.Cut(rest, ": ")
		if !ok {
			return text
		}
		text = rest
	}
}
