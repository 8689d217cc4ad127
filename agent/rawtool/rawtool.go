// Package rawtool makes tools whose JSON Schema is written out, for programs that read schemas instead of having Go
// types (for those there is [agent.NewTool]). It stands beside package agent because that imports the standard library
// only, and a validator of JSON Schema is not in it. [Canonical] is how the runner reads arguments, for programs that
// call a tool themselves.
package rawtool

import (
	"context"
	"encoding/json"
	"fmt"

	"countersign/agent"
	"countersign/agent/internal/jsonschema"
	"countersign/agent/internal/strictjson"
)

// New returns a function tool with a JSON Schema that is sent to the model as written; arguments are checked against it
// before anybody is asked and before invoke is called. The error says what is wrong with the schema, and where. The
// caller may set further fields of the tool, such as NeedsApproval; for one whose result comes from outside, set
// External and leave invoke nil.
func New(
	name, description string, schema json.RawMessage,
	invoke func(context.Context, *agent.ToolCall) (agent.ToolOutput, error),
) (agent.Tool, error) {
	validate, err := Validator(schema)
	if err != nil {
		return agent.Tool{}, fmt.Errorf("%w: tool %q: %w", agent.ErrConfig, name, err)
	}
	return agent.Tool{
		Name: name, Description: description, Kind: agent.KindFunction,
		Parameters: schema, Validate: validate, Invoke: invoke,
	}, nil
}

// Validator returns a check of arguments against a JSON Schema (draft 2020-12, or draft-07 if it says so), for
// Tool.Validate, Handoff.Validate and the like. An empty schema allows an object without members. The check's error
// lists what is wrong with JSON pointers into the arguments and is made for a model to read: it names members and what
// is expected of them, and repeats no values.
//
// Whether unknown members are allowed is the schema's matter. A schema with a keyword that is misspelled or not
// enforced is refused with its place, for a limit that silently does nothing is worse than none; so are references
// out of the schema or in circles. The keyword format is taken as a hint and not enforced.
func Validator(schema json.RawMessage) (func(json.RawMessage) error, error) {
	s, err := jsonschema.Compile(schema)
	if err != nil {
		return nil, err
	}
	return s.Validate, nil
}

// Canonical reads the arguments of a call strictly and returns them in canonical form (RFC 8785), as the runner does
// before it validates them. It refuses what two readers could understand differently: duplicate keys and keys that
// differ only in case, invalid UTF-8 and lone surrogates, numbers that a float64 cannot hold as written, nesting over
// 64, more than 1 MiB, anything after the object, and everything that is not an object. The error's text is made for
// the model to read.
func Canonical(arguments []byte) (json.RawMessage, error) { return strictjson.Arguments(arguments) }
