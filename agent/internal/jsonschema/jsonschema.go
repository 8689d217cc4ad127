// Package jsonschema checks the arguments of tools against JSON Schemas as they are written, draft 2020-12, or draft-07
// where a schema says so. [Schema.Validate] is made for agent.Tool.Validate.
//
// Verdicts are those of github.com/santhosh-tekuri/jsonschema. What this package adds: schemas are refused that would
// not do what they say, no schema and no arguments make a check panic or go on without an end, nothing is ever loaded
// from files or the network, and errors are made for a model to read and repeat no values.
package jsonschema

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"countersign/agent/internal/oneline"
	"countersign/agent/internal/strictjson"
)

// Schema is a JSON Schema that can be used. It may be used by several goroutines at once.
type Schema struct {
	compiled *jsonschema.Schema
	index    index
}

// Compile reads a schema of one's own. An empty text allows an object without members. Whether unknown members are
// allowed is the schema's matter. A keyword that is misspelled or not enforced is an error, for a limit that silently
// does nothing is worse than none; one of your own may begin with x-. The keyword format is taken as a hint. Patterns
// are those of package regexp.
//
// Errors begin with the place in the schema as a JSON pointer. Members that are there twice, references out of the
// schema and references in circles are refused.
func Compile(schema json.RawMessage) (*Schema, error) { return compile(schema, false) }

// CompileForeign is Compile for the schema of somebody who checks the arguments too, and may use keywords that nobody
// here knows: these are left out of the check.
func CompileForeign(schema json.RawMessage) (*Schema, error) { return compile(schema, true) }

// maxDepth bounds the nesting of a schema as JSON.
const maxDepth = 256

func compile(schema json.RawMessage, foreign bool) (*Schema, error) {
	if len(bytes.TrimSpace(schema)) == 0 {
		schema = json.RawMessage(`{"type":"object","additionalProperties":false}`)
	}
	if err := strictjson.Unique(schema, maxDepth); err != nil {
		return nil, wrapped(err)
	}
	root, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema)) // numbers stay texts
	if err != nil {
		return nil, wrapped(err)
	}
	l := linter{foreign: foreign, keywords: keywordsOf(root)}
	if err := l.lint(root); err != nil {
		return nil, err
	}
	compiled, err := compileRoot(root, l.references)
	if err != nil {
		return nil, err
	}
	s := &Schema{compiled: compiled, index: newIndex(compiled)}
	return s, s.index.usable()
}

// Validate checks arguments. The error lists what is wrong, at most five things, with JSON pointers into the arguments:
// it names members and what is expected of them, and repeats no values. A check that would take too long is an error.
func (s *Schema) Validate(arguments json.RawMessage) (err error) {
	defer func() { // whatever a schema makes the library do, arguments that were not checked are not valid
		if r := recover(); r != nil {
			err = errors.New("the arguments could not be checked against the tool's schema")
		}
	}()
	var value any
	if err := json.Unmarshal(arguments, &value); err != nil {
		return errors.New("the arguments are not JSON")
	}
	if !s.affordable(value) {
		return errors.New("checking the arguments against the tool's schema would take too long")
	}
	verdict := s.compiled.Validate(value)
	if verdict == nil {
		return nil
	}
	problems := explain(verdict, value, s.index.at)
	if len(problems) == 0 {
		return errors.New("the arguments are not valid under the tool's schema")
	}
	return errors.New(strings.Join(problems, "; "))
}

// compileRoot hands the schema to the library. references are the references in it and their places.
func compileRoot(root any, references map[string]string) (_ *jsonschema.Schema, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = wrong("", "it cannot be compiled")
		}
	}()
	c := jsonschema.NewCompiler()
	c.UseLoader(nowhere{})
	if err := c.AddResource(resource, root); err != nil {
		return nil, refused(err, root, references)
	}
	compiled, err := c.Compile(resource)
	if err != nil {
		return nil, refused(err, root, references)
	}
	return compiled, nil
}

// resource is the name under which the library knows a schema.
const resource = "schema:"

// nowhere loads nothing: a schema stands for itself.
type nowhere struct{}

var errElsewhere = errors.New("nothing outside a schema is loaded")

func (nowhere) Load(string) (any, error) { return nil, errElsewhere }

// refused says in our words what the library has against a schema.
func refused(err error, root any, references map[string]string) error {
	if invalid, ok := errors.AsType[*jsonschema.SchemaValidationError](err); ok {
		if problems := explain(invalid.Err, root, nil); len(problems) > 0 {
			return errors.New("schema at " + problems[0])
		}
	}
	text := decoded(err.Error())
	for ref, at := range references {
		if strings.Contains(text, resource+ref+`"`) {
			return wrong(at, "must point into this schema, as #/$defs/… does, to something that is there")
		}
	}
	return wrapped(errors.New(oneline.Of(err.Error(), 300)))
}
