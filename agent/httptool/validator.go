package httptool

import (
	"encoding/json"

	"countersign/agent/internal/argschema"
)

// Validator returns a check of arguments against a JSON Schema (draft 2020-12, or draft-07 if it says so). An empty
// schema allows an object without members. The check's error lists what is wrong with JSON pointers into the arguments
// and is made for a model to read: it names members and what is expected of them, and repeats no values.
//
// Whether unknown members are allowed is the schema's matter. A schema with a keyword that is misspelled or not
// enforced is refused with its place, for a limit that silently does nothing is worse than none; so are references
// out of the schema or in circles. The keyword format is taken as a hint and not enforced.
func Validator(schema json.RawMessage) (func(json.RawMessage) error, error) {
	return argschema.Compile(schema, argschema.Own)
}
