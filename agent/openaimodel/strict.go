package openaimodel

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Strict reports whether a schema qualifies, as written, for the API's strict mode, in which the model cannot write
// arguments that are invalid under it. The judgement is cautious: a schema that is not strict costs the guarantee, one
// that only seems to be costs the whole request.
func Strict(schema json.RawMessage) bool { return strictProblem(schema) == "" }

// strictProblem says what has to change for a schema to qualify, the first thing in the order of the names, or "".
func strictProblem(schema json.RawMessage) string {
	var root map[string]any
	switch {
	case json.Unmarshal(schema, &root) != nil || root["type"] != "object":
		return `make it a schema of "type": "object"`
	case root["anyOf"] != nil:
		return "remove anyOf at its top"
	}
	s := strictness{}
	if problem := s.schema(root, "", 1); problem != "" {
		return problem
	}
	switch {
	case s.properties > 5000:
		return "use at most 5000 properties"
	case s.enums > 1000:
		return "use at most 1000 enum values"
	case s.chars > 120_000:
		return "shorten the names and enum values to 120000 characters together"
	}
	return ""
}

// strictness walks a schema and counts what the API limits. Its methods return what has to change, or "".
type strictness struct{ properties, enums, chars int }

// maxStrictDepth is how deep objects may be nested.
const maxStrictDepth = 10

// strictKeywords are the keywords that the API takes in strict mode. Of those it only takes on newer models (minLength
// and maxLength) none is here.
var strictKeywords = []string{
	"$defs", "$ref", "additionalProperties", "anyOf", "const", "description", "enum", "exclusiveMaximum",
	"exclusiveMinimum", "format", "items", "maxItems", "maximum", "minItems", "minimum", "multipleOf", "pattern",
	"properties", "required", "title", "type",
}

var strictFormats = []string{"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}

// change tells what to do at a place in the schema.
func change(at, format string, args ...any) string {
	if at == "" {
		return fmt.Sprintf(format, args...) + " at its top"
	}
	return fmt.Sprintf(format, args...) + " at " + at
}

func inside(at, name string) string { return strings.TrimPrefix(at+"."+name, ".") }

func (s *strictness) schema(node any, at string, depth int) string {
	m, ok := node.(map[string]any)
	if !ok {
		return change(at, "write a schema that is an object")
	}
	if depth > maxStrictDepth {
		return change(at, "flatten what is nested more than %d levels deep", maxStrictDepth)
	}
	for _, keyword := range slices.Sorted(maps.Keys(m)) {
		if !slices.Contains(strictKeywords, keyword) {
			return change(at, "remove the keyword %q", keyword)
		}
	}
	if ref, ok := m["$ref"]; ok {
		text, _ := ref.(string)
		if len(m) == 1 && (text == "#" || strings.HasPrefix(text, "#/$defs/")) {
			return ""
		}
		return change(at, `let $ref stand alone and name "#" or something in "#/$defs/"`)
	}
	if m["type"] == nil && m["anyOf"] == nil && m["enum"] == nil && m["const"] == nil {
		return change(at, "add a type")
	}
	if problem := s.leaf(m, at); problem != "" {
		return problem
	}
	if problem := s.object(m, at, depth); problem != "" {
		return problem
	}
	return s.children(m, at, depth)
}

// leaf checks the keywords without schemas inside.
func (s *strictness) leaf(m map[string]any, at string) string {
	if format, ok := m["format"].(string); ok && !slices.Contains(strictFormats, format) {
		return change(at, "remove the format %q", format)
	}
	values, ok := m["enum"].([]any)
	if m["enum"] != nil && !ok {
		return change(at, "make enum a list")
	}
	s.enums += len(values)
	for _, v := range values {
		text, _ := v.(string)
		s.chars += len(text)
	}
	// Look-arounds are refused; nothing else that begins like one is worth telling apart.
	if pattern, _ := m["pattern"].(string); strings.Contains(pattern, "(?") {
		return change(at, `remove what begins with "(?" from the pattern`)
	}
	return ""
}

// object checks that an object is closed and that all its properties are required.
func (s *strictness) object(m map[string]any, at string, depth int) string {
	if !isObject(m) {
		if m["additionalProperties"] != nil || m["required"] != nil {
			return change(at, "remove additionalProperties and required from what is not an object")
		}
		return ""
	}
	properties, ok := m["properties"].(map[string]any)
	if !ok {
		return change(at, "add properties")
	}
	if m["additionalProperties"] != false {
		return change(at, `add "additionalProperties": false`)
	}
	required, _ := m["required"].([]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		s.properties++
		s.chars += len(name)
		if !slices.Contains(required, any(name)) {
			return change(at, "add %q to required, with a type that may be null if need be,", name)
		}
		if problem := s.schema(properties[name], inside(at, "properties."+name), depth+1); problem != "" {
			return problem
		}
	}
	if len(required) != len(properties) {
		return change(at, "name in required each of the properties once and nothing else")
	}
	return ""
}

// isObject reports whether the schema describes an object, also one that may be null.
func isObject(m map[string]any) bool {
	types, _ := m["type"].([]any)
	return m["type"] == "object" || slices.Contains(types, any("object")) || m["properties"] != nil
}

func (s *strictness) children(m map[string]any, at string, depth int) string {
	types, _ := m["type"].([]any)
	isArray := m["type"] == "array" || slices.Contains(types, any("array"))
	switch {
	case isArray && m["items"] == nil:
		return change(at, "add items")
	case !isArray && m["items"] != nil:
		return change(at, "remove items from what is not an array")
	case isArray:
		if problem := s.schema(m["items"], inside(at, "items"), depth+1); problem != "" {
			return problem
		}
	}
	anyOf, ok := m["anyOf"].([]any)
	if m["anyOf"] != nil && (!ok || len(anyOf) == 0) {
		return change(at, "make anyOf a list of schemas")
	}
	for i, sub := range anyOf {
		if problem := s.schema(sub, inside(at, fmt.Sprintf("anyOf.%d", i)), depth+1); problem != "" {
			return problem
		}
	}
	defs, ok := m["$defs"].(map[string]any)
	switch {
	case m["$defs"] != nil && !ok:
		return change(at, "make $defs an object")
	case m["$defs"] != nil && depth != 1:
		return change(at, "move to the top of the schema the $defs")
	}
	for _, name := range slices.Sorted(maps.Keys(defs)) {
		s.chars += len(name)
		if problem := s.schema(defs[name], inside(at, "$defs."+name), depth+1); problem != "" {
			return problem
		}
	}
	return ""
}
