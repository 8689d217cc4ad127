package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"countersign/agent/internal/canon"
	"countersign/agent/internal/lex"
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
	r := lex.New(schema.Properties, maxItemDepth)
	_ = r.Object(func(key []byte) error {
		name := string(key)
		value, err := r.Skip()
		if err != nil || !slices.Contains(t.Fields, name) {
			return err
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
	r := lex.New(arguments, canon.MaxDepth)
	return r.Object(func(key []byte) error {
		if slices.Contains(t.Fields, string(key)) {
			return fmt.Errorf("a person fills in %q; leave it out", string(key))
		}
		_, err := r.Skip()
		return err
	})
}

// complete returns the arguments of a call with what a person filled in.
func (t *Tool) complete(arguments, input json.RawMessage) (json.RawMessage, error) {
	given, err := CanonicalArguments(input)
	if err != nil {
		return nil, err
	}
	r := lex.New(given, canon.MaxDepth)
	merged := slices.Clone(arguments[:len(arguments)-1])
	err = r.Object(func(key []byte) error {
		value, err := r.Skip()
		if err != nil {
			return err
		}
		if !slices.Contains(t.Fields, string(key)) {
			return fmt.Errorf("%q is not one of the fields asked for", string(key))
		}
		if len(merged) > 1 {
			merged = append(merged, ',')
		}
		merged = append(append(lex.AppendQuoted(merged, key), ':'), value...)
		return nil
	})
	if err != nil {
		return nil, err
	}
	canonical, err := CanonicalArguments(append(merged, '}'))
	if err != nil {
		return nil, err
	}
	return canonical, t.validate(canonical)
}

// withoutProperties returns the schema without some of its properties, for the model. Everything else stays as written.
func withoutProperties(schema json.RawMessage, names []string) json.RawMessage {
	r := lex.New(schema, maxItemDepth)
	out, err := rewriteObject(r, func(key string, b json.RawMessage) (json.RawMessage, error) {
		switch key {
		case "properties":
			inner, err := rewriteObject(r, func(name string, b json.RawMessage) (json.RawMessage, error) {
				value, err := r.Skip()
				if slices.Contains(names, name) {
					return nil, err
				}
				return append(b, value...), err
			})
			return append(b, inner...), err
		case "required":
			value, err := r.Skip()
			var list []string
			if err == nil && json.Unmarshal(value, &list) == nil {
				list = slices.DeleteFunc(list, func(s string) bool { return slices.Contains(names, s) })
				value, err = json.Marshal(list)
			}
			return append(b, value...), err
		}
		value, err := r.Skip()
		return append(b, value...), err
	})
	if err != nil {
		return schema
	}
	return out
}

// rewriteObject writes the object that r reads next, member by member. member appends a value to b, or returns nil to
// leave the member out.
func rewriteObject(r *lex.Reader, member func(key string, b json.RawMessage) (json.RawMessage, error)) (json.RawMessage, error) {
	out := json.RawMessage{'{'}
	err := r.Object(func(key []byte) error {
		value, err := member(string(key), json.RawMessage{})
		if err != nil || value == nil {
			return err
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(lex.AppendQuoted(out, key), ':'), value...)
		return nil
	})
	return append(out, '}'), err
}
