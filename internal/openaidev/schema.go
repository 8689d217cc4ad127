package openaidev

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// checkSchema says what OpenAI would object to in a tool's parameters, or "".
func checkSchema(t tool) string {
	if len(t.Parameters) == 0 {
		return "schema must be a JSON Schema of 'type: \"object\"', got 'type: \"None\"'."
	}
	var schema map[string]any
	if json.Unmarshal(t.Parameters, &schema) != nil || schema["type"] != "object" {
		return "schema must be a JSON Schema of 'type: \"object\"'."
	}
	if t.Strict != nil && !*t.Strict {
		return ""
	}
	return strictProblem(schema, "()")
}

// permitted are the keywords of strict mode. Names of properties and definitions are not keywords.
var permitted = []string{
	"type", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf", "$ref", "$defs",
	"definitions", "description", "title", "pattern", "format", "multipleOf", "maximum", "exclusiveMaximum", "minimum",
	"exclusiveMinimum", "minItems", "maxItems", "minLength", "maxLength", "$schema", "$id", "$comment",
}

// strictProblem walks a schema that is sent as strict.
func strictProblem(schema map[string]any, at string) string {
	for _, keyword := range slices.Sorted(maps.Keys(schema)) {
		if !slices.Contains(permitted, keyword) {
			return fmt.Sprintf("In context=%s, '%s' is not permitted.", at, keyword)
		}
	}
	if properties, ok := schema["properties"].(map[string]any); ok || schema["type"] == "object" {
		if problem := strictObject(schema, properties, at); problem != "" {
			return problem
		}
	}
	for _, child := range children(schema) {
		sub, ok := child.schema.(map[string]any)
		if !ok {
			return fmt.Sprintf("In context=%s, %s is not a schema.", at, child.name)
		}
		if problem := strictProblem(sub, fmt.Sprintf("(%s, %s)", at, child.name)); problem != "" {
			return problem
		}
	}
	return ""
}

func strictObject(schema, properties map[string]any, at string) string {
	if schema["additionalProperties"] != false {
		return fmt.Sprintf("In context=%s, 'additionalProperties' is required to be supplied and to be false.", at)
	}
	required, _ := schema["required"].([]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if !slices.Contains(required, any(name)) {
			return fmt.Sprintf("In context=%s, 'required' is required to be supplied and to be an array including "+
				"every key in properties. Missing '%s'.", at, name)
		}
	}
	if len(required) != len(properties) {
		return fmt.Sprintf("In context=%s, 'required' names properties that are not there.", at)
	}
	return ""
}

// shapeProblem says what OpenAI objects to in the parameters of a function, strict or not: its root must be a plain
// object that says its properties, and every array says what is in it.
func shapeProblem(parameters json.RawMessage) string {
	var root map[string]any
	_ = json.Unmarshal(parameters, &root)
	for _, keyword := range []string{"oneOf", "anyOf", "allOf", "enum", "not"} {
		if root[keyword] != nil {
			return "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level."
		}
	}
	if root["properties"] == nil {
		return "In context=(), object schema missing properties."
	}
	return arrayProblem(root, "")
}

func arrayProblem(schema map[string]any, at string) string {
	types, _ := schema["type"].([]any)
	if (schema["type"] == "array" || slices.Contains(types, any("array"))) && schema["items"] == nil {
		return fmt.Sprintf("In context=(%s), array schema missing items.", at)
	}
	for _, child := range children(schema) {
		if sub, ok := child.schema.(map[string]any); ok {
			if problem := arrayProblem(sub, strings.TrimPrefix(at+", "+child.name, ", ")); problem != "" {
				return problem
			}
		}
	}
	return ""
}

type child struct {
	name   string
	schema any
}

// children lists the schemas inside a schema, in a fixed order.
func children(schema map[string]any) []child {
	var out []child
	for _, keyword := range []string{"properties", "$defs", "definitions"} {
		m, _ := schema[keyword].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(m)) {
			out = append(out, child{fmt.Sprintf("'%s', '%s'", keyword, name), m[name]})
		}
	}
	if items, ok := schema["items"]; ok {
		out = append(out, child{"'items'", items})
	}
	anyOf, _ := schema["anyOf"].([]any)
	for i, s := range anyOf {
		out = append(out, child{fmt.Sprintf("'anyOf', '%d'", i), s})
	}
	return out
}

// compact returns JSON without insignificant space, so that the same value always counts as the same.
func compact(raw json.RawMessage) []byte {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return raw
	}
	return b.Bytes()
}
