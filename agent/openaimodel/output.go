package openaimodel

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"

	"countersign/agent"
)

var outputName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// encodeOutput writes the members of a json_schema format that both APIs have. The schema is the author's, byte for
// byte.
func encodeOutput(o *agent.OutputSchema) ([]byte, error) {
	if !outputName.MatchString(o.Name) {
		return nil, fmt.Errorf(
			"%w: the output schema's name %q is not made of 1 to 64 letters, digits, underscores and hyphens",
			agent.ErrConfig, o.Name)
	}
	if !isObjectSchema(o.Schema) {
		return nil, fmt.Errorf("%w: output schema %s: it is not the JSON Schema of an object", agent.ErrConfig, o.Name)
	}
	if o.Strict {
		if problem := strictProblem(o.Schema); problem != "" {
			return nil, fmt.Errorf(
				"%w: output schema %s is not one the API can enforce strictly: %s, or set Strict to false",
				agent.ErrConfig, o.Name, problem)
		}
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, `"name":"%s","strict":%t,"schema":%s`, o.Name, o.Strict, o.Schema)
	return b.Bytes(), nil
}

// isObjectSchema reports whether a schema describes an object, and nothing else.
func isObjectSchema(schema json.RawMessage) bool {
	var root struct {
		Type string `json:"type"`
	}
	return json.Unmarshal(schema, &root) == nil && root.Type == "object"
}
