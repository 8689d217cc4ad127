package bot

import (
	"encoding/json"
	"slices"
	"strings"

	"countersign/approvals"
)

// parameters is what an edit form reads of a tool's schema.
type parameters struct {
	properties map[string]json.RawMessage
	required   []string
}

// parametersOf reads the schema that was recorded with the request; of a long one, nothing is known.
func parametersOf(r *approvals.Request) parameters {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
	}
	if json.Unmarshal(r.Schema, &s) != nil {
		return parameters{}
	}
	return parameters{s.Properties, s.Required}
}

// optional reports whether the schema has the argument and calls may leave it out.
func (p parameters) optional(name string) bool {
	_, known := p.properties[name]
	return known && !slices.Contains(p.required, name)
}

// field describes an argument as one that people fill in.
func (p parameters) field(r *approvals.Request, name string) approvals.InputField {
	f := approvals.InputField{Name: name, Schema: p.properties[name], Secret: isSecret(r, name)}
	var s struct {
		Type        json.RawMessage `json:"type"`
		Description string          `json:"description"`
	}
	_ = json.Unmarshal(f.Schema, &s) // what is not understood is asked for as JSON
	f.Description = s.Description
	var kinds []string
	if json.Unmarshal(s.Type, &f.Type) != nil && json.Unmarshal(s.Type, &kinds) == nil {
		for _, kind := range kinds {
			if kind != "null" {
				f.Type = kind
				break
			}
		}
	}
	var enum struct {
		Enum []string `json:"enum"`
	}
	if json.Unmarshal(f.Schema, &enum) == nil {
		f.Enum = enum.Enum
	}
	return f
}

// absentFields are the inputs for arguments that the call leaves out and may have, as many as there is room for.
func absentFields(r *approvals.Request, present []member) (all []field) {
	p := parametersOf(r)
	for _, name := range r.Order {
		there := slices.ContainsFunc(present, func(m member) bool { return m.name == name })
		if there || !p.optional(name) || !rowName(name) || len(present)+len(all) >= mostFields {
			continue
		}
		f := p.field(r, name)
		f.Description = withLeavingOut(f.Description)
		all = append(all, newField(len(present)+len(all), &f))
	}
	return all
}

// readAbsent reads what was filled in of them; nothing typed leaves an argument out, as it was.
func readAbsent(r *approvals.Request, present []member, v values, bad map[string]string) (added []member) {
	for _, f := range absentFields(r, present) {
		value, words := f.read(v[f.block])
		switch {
		case words != "":
			bad[f.block] = words
		case value != nil:
			added = append(added, member{f.Name, value})
		}
	}
	return added
}

// withLeavingOut adds to a description how the argument is left out.
func withLeavingOut(described string) string { return withSentence(described, wordsLeftOut) }

// withSentence adds a sentence to a description.
func withSentence(described, more string) string {
	if described = strings.TrimSuffix(described, "."); described == "" {
		return more
	}
	return described + ". " + more
}
