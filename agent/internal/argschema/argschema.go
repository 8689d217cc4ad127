// Package argschema checks the arguments of tools against JSON Schemas, and schemas before they are used.
package argschema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"countersign/agent/internal/oneline"
	"countersign/agent/internal/strictjson"
)

// Origin says who wrote a schema.
type Origin int

const (
	// Own is a schema of the operator's or of this program's: a keyword that is not enforced is a mistake in it, because
	// a limit that silently does nothing is worse than none.
	Own Origin = iota
	// Foreign is a schema of somebody who checks arguments against it themselves, and may use keywords that nobody here
	// knows: these are left out of the check.
	Foreign
)

// maxDepth bounds the nesting of a schema as JSON.
const maxDepth = 256

// Compile returns a check of arguments against a JSON Schema (draft 2020-12, or draft-07 if it says so). An empty
// schema allows an object without members. The check's error lists what is wrong with JSON pointers into the arguments
// and is made for a model to read: it names members and what is expected of them, and repeats no values.
//
// Compile's error begins with the place in the schema. Members that are there twice, references out of the schema and
// references in circles are refused, and a check that would take too long says so instead: whatever a schema is, neither
// Compile nor the check panics or goes on without an end.
func Compile(schema json.RawMessage, from Origin) (func(json.RawMessage) error, error) {
	if len(bytes.TrimSpace(schema)) == 0 {
		schema = json.RawMessage(`{"type":"object","additionalProperties":false}`)
	}
	if err := strictjson.Unique(schema, maxDepth); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	root, err := decode(schema)
	if err != nil {
		return nil, err
	}
	if from == Foreign {
		root = prune(root, 0)
	}
	patterns, err := lint(root)
	if err != nil {
		return nil, err
	}
	resolved, err := resolveAll(root)
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	c := &checked{root: root, patterns: patterns, resolved: resolved}
	return c.validate, nil
}

// checked is a schema that can be used.
type checked struct {
	root     any
	patterns map[string]*regexp.Regexp // all that are in it
	resolved *jsonschema.Resolved
}

// resolveAll hands the schema to the library. The library knows dialects by one spelling, people write two.
func resolveAll(root any) (_ *jsonschema.Resolved, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = errors.New("it cannot be compiled")
		}
	}()
	data, err := json.Marshal(root)
	if err != nil {
		return nil, err
	}
	var parsed jsonschema.Schema
	if err := json.Unmarshal(data, &parsed); err != nil {
		return nil, err
	}
	if dialect, ok := dialects[strings.TrimSuffix(parsed.Schema, "#")]; ok {
		parsed.Schema = dialect
	}
	return parsed.Resolve(nil)
}

// validate checks arguments. The library's word is final; the explanation is ours.
func (c *checked) validate(arguments json.RawMessage) (err error) {
	defer func() { // whatever a schema makes the library do, arguments that were not checked are not valid
		if r := recover(); r != nil {
			err = errors.New("the arguments could not be checked against the tool's schema")
		}
	}()
	var value any
	if err := json.Unmarshal(arguments, &value); err != nil {
		return errors.New("the arguments are not JSON")
	}
	if !c.affordable(value) {
		return errors.New("checking the arguments against the tool's schema would take too long")
	}
	verdict := c.resolved.Validate(value)
	if verdict == nil {
		return nil
	}
	x := explainer{checked: c}
	x.check(c.root, value, "", 0)
	if len(x.problems) == 0 {
		return errors.New("the arguments are not valid under the tool's schema: " + oneline.Of(innermost(verdict), 300))
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
