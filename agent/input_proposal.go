package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"countersign/agent/internal/strictjson"
)

// proposals returns what canonical arguments hold of the properties that the model may propose.
func (t *Tool) proposals(arguments json.RawMessage) map[string]json.RawMessage {
	if len(t.Proposed) == 0 || len(arguments) == 0 {
		return nil
	}
	found := make(map[string]json.RawMessage)
	_ = strictjson.Members(arguments, func(name string, value []byte) error {
		if slices.Contains(t.Proposed, name) {
			found[name] = slices.Clone(value)
		}
		return nil
	})
	return found
}

// validateProposal checks what a model wrote of a call that a person completes. It must leave alone what only people
// fill in. When nothing is missing, all of it must be valid. Otherwise Validate has to wait for the rest, and what can
// be said of each property by itself is said: people are not shown a value that could never be confirmed.
func (t *Tool) validateProposal(arguments json.RawMessage) error {
	var written []string
	err := strictjson.Members(arguments, func(name string, _ []byte) error {
		if slices.Contains(t.Fields, name) {
			return fmt.Errorf("a person fills in %q; leave it out", name)
		}
		written = append(written, name)
		return nil
	})
	if err != nil {
		return err
	}
	missing := func(f Field) bool { return f.Required && !slices.Contains(written, f.Name) }
	if slices.ContainsFunc(t.fields(nil), missing) {
		return t.validateParts(arguments)
	}
	return t.validate(arguments)
}

// validateParts checks each property by itself: that the schema knows it, its type and its enum.
func (t *Tool) validateParts(arguments json.RawMessage) error {
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Additional json.RawMessage            `json:"additionalProperties"`
	}
	if json.Unmarshal(t.Parameters, &schema) != nil {
		return nil
	}
	return strictjson.Members(arguments, func(name string, value []byte) error {
		property, known := schema.Properties[name]
		if !known && string(schema.Additional) == "false" {
			return fmt.Errorf("unknown property %q", name)
		}
		return validatePart(name, property, value)
	})
}

// validatePart checks a canonical value by the type and the enum of its property's schema. Any other keyword is left to
// Validate.
func validatePart(name string, schema, value json.RawMessage) error {
	var property struct {
		Type json.RawMessage   `json:"type"`
		Enum []json.RawMessage `json:"enum"`
	}
	if json.Unmarshal(schema, &property) != nil {
		return nil // unknown, or anything goes
	}
	types := typesOf(property.Type)
	if len(types) > 0 && !slices.ContainsFunc(types, func(t string) bool { return isType(t, value) }) {
		return fmt.Errorf("%q must be of type %s", name, strings.Join(types, " or "))
	}
	same := func(e json.RawMessage) bool { return sameValue(e, value) }
	if len(property.Enum) > 0 && !slices.ContainsFunc(property.Enum, same) {
		return fmt.Errorf("%q must be one of the values of its enum", name)
	}
	return nil
}

// typesOf reads the keyword type, which is one name or a list of them.
func typesOf(keyword json.RawMessage) []string {
	var one string
	var several []string
	if json.Unmarshal(keyword, &one) == nil && one != "" {
		return []string{one}
	}
	_ = json.Unmarshal(keyword, &several)
	return several
}

// isType reports whether a canonical value is of the schema's type. A type that it does not know is not judged.
func isType(name string, value []byte) bool {
	first := value[0]
	switch name {
	case "string":
		return first == '"'
	case "object":
		return first == '{'
	case "array":
		return first == '['
	case "boolean":
		return first == 't' || first == 'f'
	case "null":
		return first == 'n'
	case "integer": // in canonical form, only numbers without a fraction have a positive exponent
		fraction := bytes.ContainsRune(value, '.') || bytes.Contains(value, []byte("e-"))
		return isType("number", value) && (!fraction || bytes.Contains(value, []byte("e+")))
	case "number":
		return first == '-' || first >= '0' && first <= '9'
	}
	return true
}

func sameValue(written, canonical []byte) bool {
	own, err := strictjson.Canonical(written)
	return err == nil && bytes.Equal(own, canonical)
}
