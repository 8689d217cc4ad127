package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"countersign/agent/internal/strictjson"
)

var (
	errInputField = errors.New("its Fields or Proposed name a property that its Parameters do not have, or one twice")
	errSecret     = errors.New("its Secret names a property that its Parameters do not have")
	errNoInput    = errors.New("it has Fields or Proposed without Parameters")
)

// fills reports whether a person fills in or confirms a part of each call.
func (t *Tool) fills() bool { return len(t.Fields)+len(t.Proposed) > 0 }

// asksFor reports whether the property is one that a person fills in or confirms.
func (t *Tool) asksFor(name string) bool {
	return slices.Contains(t.Fields, name) || slices.Contains(t.Proposed, name)
}

// checkFields reports whether Fields and Proposed name properties of Parameters.
func (t *Tool) checkFields() error {
	if !t.fills() {
		return nil
	}
	if len(t.Parameters) == 0 {
		return errNoInput
	}
	fields := t.fields(nil)
	names := slices.Concat(t.Fields, t.Proposed)
	for i, name := range names {
		if slices.Contains(names[:i], name) ||
			!slices.ContainsFunc(fields, func(f Field) bool { return f.Name == name }) {
			return fmt.Errorf("%w: %q", errInputField, name)
		}
	}
	return nil
}

// checkSecret reports whether Secret names properties of Parameters.
func (t *Tool) checkSecret() error {
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if len(t.Secret) > 0 && json.Unmarshal(t.Parameters, &schema) != nil {
		return fmt.Errorf("%w: %q", errSecret, t.Secret[0])
	}
	for _, name := range t.Secret {
		if _, known := schema.Properties[name]; !known {
			return fmt.Errorf("%w: %q", errSecret, name)
		}
	}
	return nil
}

// fields returns what a person fills in or confirms, in the order of the schema, with what the arguments propose.
func (t *Tool) fields(arguments json.RawMessage) []Field {
	var schema struct {
		Properties json.RawMessage `json:"properties"`
		Required   []string        `json:"required"`
	}
	if json.Unmarshal(t.Parameters, &schema) != nil || len(schema.Properties) == 0 {
		return nil
	}
	proposed := t.proposals(arguments)
	var fields []Field
	_ = strictjson.Members(schema.Properties, func(name string, value []byte) error {
		if !t.asksFor(name) {
			return nil
		}
		field := Field{
			Name: name, Required: slices.Contains(schema.Required, name), Schema: slices.Clone(value),
			Proposal: proposed[name],
		}
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

// complete returns the arguments of a call with what a person filled in. Proposals that they left out stand.
func (t *Tool) complete(arguments, input json.RawMessage) (json.RawMessage, error) {
	given, err := strictjson.Arguments(input)
	if err != nil {
		return nil, err
	}
	var names []string
	err = strictjson.Members(given, func(name string, _ []byte) error {
		if !t.asksFor(name) {
			return fmt.Errorf("%q is not one of the fields asked for", name)
		}
		names = append(names, name)
		return nil
	})
	if err != nil {
		return nil, err
	}
	merged := strictjson.Reopen(slices.Clone(without(arguments, names)))
	if err := merged.Members(given); err != nil {
		return nil, err
	}
	canonical, err := strictjson.Arguments(merged.End())
	if err != nil {
		return nil, err
	}
	return canonical, t.validate(canonical)
}

// withoutProperties returns the schema without some of its properties, and with others that may be left out, for the
// model. Everything else stays as written.
func withoutProperties(schema json.RawMessage, names, optional []string) json.RawMessage {
	out, err := strictjson.Rewrite(schema, func(keyword string, value []byte) ([]byte, error) {
		switch keyword {
		case "properties":
			return strictjson.Without(value, names...)
		case "required":
			var list []string
			if json.Unmarshal(value, &list) != nil {
				return value, nil
			}
			return json.Marshal(slices.DeleteFunc(list, func(s string) bool {
				return slices.Contains(names, s) || slices.Contains(optional, s)
			}))
		}
		return value, nil
	})
	if err != nil {
		return schema
	}
	return out
}
