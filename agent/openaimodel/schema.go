package openaimodel

import (
	"bytes"
	"encoding/json"
	"slices"

	"countersign/agent/internal/strictjson"
)

// choices are the keywords that OpenAI refuses at the top of the parameters of a function.
var choices = []string{"allOf", "anyOf", "enum", "not", "oneOf"}

// sentSchema is what a model is told of the schema of a function's parameters: the author's, byte for byte, unless
// OpenAI would refuse it, and the whole request with it. The servers of tools need not care for that: it wants
// properties at the top even where there are none, and items in every list, which changes nothing of what is valid.
// With loose the choices at the top are left out too, and the properties that they speak of are among the others;
// arguments are checked against the author's schema all the same.
func sentSchema(schema json.RawMessage, loose bool) json.RawMessage {
	all, ok := readMembers(schema)
	if !ok || all.text("type") != "object" {
		return schema
	}
	changed := all.fill()
	if all.value("properties") == nil {
		all, changed = append(all, schemaMember{"properties", json.RawMessage("{}")}), true
	}
	if loose && slices.ContainsFunc(all, schemaMember.isChoice) {
		all, changed = all.withoutChoices(), true
	}
	if !changed {
		return schema
	}
	return all.encode()
}

// schemaMembers are the members of an object of JSON in their order.
type schemaMembers []schemaMember

type schemaMember struct {
	name  string
	value json.RawMessage
}

func (m schemaMember) isChoice() bool { return slices.Contains(choices, m.name) }

// withoutChoices returns a schema that has no choices at its top, and all the properties that there are in them.
func (all schemaMembers) withoutChoices() schemaMembers {
	var own schemaMembers
	at := -1
	kept := slices.DeleteFunc(slices.Clone(all), schemaMember.isChoice)
	for i, m := range kept {
		if m.name == "properties" {
			own, _ = readMembers(m.value)
			at = i
		}
	}
	if at < 0 {
		return kept
	}
	for _, m := range all {
		var branches []json.RawMessage
		if !m.isChoice() || json.Unmarshal(m.value, &branches) != nil {
			continue
		}
		for _, raw := range branches {
			branch, _ := readMembers(raw)
			properties, _ := readMembers(branch.value("properties"))
			for _, p := range properties {
				if own.value(p.name) == nil {
					own = append(own, p)
				}
			}
		}
	}
	kept[at].value = own.encode()
	return kept
}

// readMembers returns ok only for an object.
func readMembers(raw json.RawMessage) (all schemaMembers, ok bool) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return nil, false
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, false
		}
		var m schemaMember
		m.name, _ = name.(string)
		if err := dec.Decode(&m.value); err != nil {
			return nil, false
		}
		all = append(all, m)
	}
	return all, true
}

func (all schemaMembers) encode() json.RawMessage {
	b := []byte{'{'}
	for i, m := range all {
		b = append(b, separator(i, "")...)
		b = append(append(strictjson.AppendQuoted(b, m.name), ':'), m.value...)
	}
	return append(b, '}')
}

func (all schemaMembers) value(name string) json.RawMessage {
	for _, m := range all {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

func (all schemaMembers) text(name string) string { return decoded(all.value(name)) }

// fill puts items into the lists of the schemas inside a schema. It reports whether there was one without.
func (all schemaMembers) fill() (changed bool) {
	for i := range all {
		var inner bool
		m := &all[i]
		switch m.name {
		case "properties", "patternProperties", "dependentSchemas", "$defs", "definitions":
			if named, ok := readMembers(m.value); ok {
				for j := range named {
					var one bool
					named[j].value, one = filled(named[j].value)
					inner = inner || one
				}
				if inner {
					m.value = named.encode()
				}
			}
		case "items", "additionalProperties", "not", "if", "then", "else", "contains":
			m.value, inner = filled(m.value)
		case "anyOf", "oneOf", "allOf", "prefixItems":
			m.value, inner = filledEach(m.value)
		}
		changed = changed || inner
	}
	return changed
}

func filled(schema json.RawMessage) (json.RawMessage, bool) {
	all, ok := readMembers(schema)
	if !ok {
		return schema, false
	}
	changed := all.fill()
	if all.value("items") == nil && all.isList() {
		all, changed = append(all, schemaMember{"items", json.RawMessage("{}")}), true
	}
	if !changed {
		return schema, false
	}
	return all.encode(), true
}

func filledEach(schemas json.RawMessage) (json.RawMessage, bool) {
	var list []json.RawMessage
	if json.Unmarshal(schemas, &list) != nil {
		return schemas, false
	}
	changed := false
	for i := range list {
		var one bool
		list[i], one = filled(list[i])
		changed = changed || one
	}
	if !changed {
		return schemas, false
	}
	return append(append([]byte{'['}, bytes.Join(toBytes(list), []byte(","))...), ']'), true
}

func toBytes(list []json.RawMessage) [][]byte {
	out := make([][]byte, len(list))
	for i, raw := range list {
		out[i] = raw
	}
	return out
}

// isList reports whether a schema describes a list, among others perhaps.
func (all schemaMembers) isList() bool {
	var types []string
	_ = json.Unmarshal(all.value("type"), &types)
	return all.text("type") == "array" || slices.Contains(types, "array")
}
