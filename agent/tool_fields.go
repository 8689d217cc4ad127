package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"countersign/agent/internal/strictjson"
)

var (
	errInputField = errors.New("its Fields name a property that its Parameters do not have")
	errNoInput    = errors.New("it has Fields without Parameters")
)

// checkFields reports whether Fields names properties of Parameters.
func (t *Tool) checkFields() error {
	if len(t.Fields) == 0 {
		return nil
	}
	if len(t.Parameters) == 0 {
		return errNoInput
	}
	fields := t.fields()
	for i, name := range t.Fields {
		if slices.Contains(t.Fields[:i], name) || !slices.ContainsFunc(fields, func(f Field) bool { return f.Name == name }) {
			return fmt.Errorf("%w: %q", errInputField, name)
		}
	}
	return nil
}

// fields returns what a person fills in, in the order of the schema.
func (t *Tool) fields() []Field {
	var schema struct {
		Properties json.RawMessage `json:"properties"`
		Required   []string        `json:"required"`
	}
	if json.Unmarshal(t.Parameters, &schema) != nil || len(schema.Properties) == 0 {
		return nil
	}
	var fields []Field
	_ = strictjson.Members(schema.Properties, func(name string, value []byte) error {
		if !slices.Contains(t.Fields, name) {
			return nil
		}
		field := Field{Name: name, Required: slices.Contains(schema.Required, name), Schema: slices.Clone(value)}
		field.read(value)
		fields = append(fields, field)
		return nil
	})
	return fields
}

// read takes what a form needs from a property's schema. Anything unusual is left to Schema.
func (f *Field) read(schema json.RawMessage) {
	var s struct {
		Type        json.RawMessage   `json:"type"`
		Description string            `json:"description"`
		Enum        []json.RawMessage `json:"enum"`
	}
	if json.Unmarshal(schema, &s) != nil {
		return
	}
	f.Description = s.Description
	var types []string
	if json.Unmarshal(s.Type, &f.Type) != nil && json.Unmarshal(s.Type, &types) == nil {
		types = slices.DeleteFunc(types, func(t string) bool { return t == "null" })
		if len(types) == 1 {
			f.Type = types[0]
		}
	}
	for _, e := range s.Enum {
		var text string
		if json.Unmarshal(e, &text) == nil && string(e) != "null" {
			f.Enum = append(f.Enum, text)
		}
	}
}

// withoutInput checks that a model left alone what a person fills in.
func (t *Tool) withoutInput(arguments json.RawMessage) error {
	return strictjson.Members(arguments, func(name string, _ []byte) error {
		if slices.Contains(t.Fields, name) {
			return fmt.Errorf("a person fills in %q; leave it out", name)
		}
		return nil
	})
}

// complete returns the arguments of a call with what a person filled in.
func (t *Tool) complete(arguments, input json.RawMessage) (json.RawMessage, error) {
	given, err := CanonicalArguments(input)
	if err != nil {
		return nil, err
	}
	merged := strictjson.Reopen(slices.Clone(arguments))
	err = strictjson.Members(given, func(name string, value []byte) error {
		if !slices.Contains(t.Fields, name) {
			return fmt.Errorf("%q is not one of the fields asked for", name)
		}
		merged.Raw(name, value)
		return nil
	})
	if err != nil {
		return nil, err
	}
	canonical, err := CanonicalArguments(merged.End())
	if err != nil {
		return nil, err
	}
	return canonical, t.validate(canonical)
}

// withoutProperties returns the schema without some of its properties, for the model. Everything else stays as written.
func withoutProperties(schema json.RawMessage, names []string) json.RawMessage {
	out, err := strictjson.Rewrite(schema, func(keyword string, value []byte) ([]byte, error) {
		switch keyword {
		case "properties":
			return strictjson.Without(value, names...)
		case "required":
			var list []string
			if json.Unmarshal(value, &list) != nil {
				return value, nil
			}
			return json.Marshal(slices.DeleteFunc(list, func(s string) bool { return slices.Contains(names, s) }))
		}
		return value, nil
	})
	if err != nil {
		return schema
	}
	return out
}
