package openaimodel

import (
	"encoding/json"
	"slices"
	"strings"
)

// Strict reports whether a schema qualifies, as written, for the API's strict mode, in which the model cannot write
// arguments that are invalid under it. The judgement is cautious: a schema that is not strict costs the guarantee, one
// that only seems to be costs the whole request.
func Strict(schema json.RawMessage) bool {
	var root map[string]any
	if json.Unmarshal(schema, &root) != nil || root["type"] != "object" || root["anyOf"] != nil {
		return false
	}
	s := strictness{}
	return s.schema(root, 1) && s.properties <= 5000 && s.enums <= 1000 && s.chars <= 120_000
}

// strictness walks a schema and counts what the API limits.
type strictness struct{ properties, enums, chars int }

// maxStrictDepth is how deep objects may be nested.
const maxStrictDepth = 10

// strictKeywords are the keywords that the API takes in strict mode. Of those it only takes on newer models (minLength
// and maxLength) none is here.
var strictKeywords = []string{
	"$defs", "$ref", "additionalProperties", "anyOf", "const", "description", "enum", "exclusiveMaximum", "exclusiveMinimum",
	"format", "items", "maxItems", "maximum", "minItems", "minimum", "multipleOf", "pattern", "properties", "required", "title", "type",
}

var strictFormats = []string{"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}

func (s *strictness) schema(node any, depth int) bool {
	m, ok := node.(map[string]any)
	if !ok || depth > maxStrictDepth {
		return false
	}
	for keyword := range m {
		if !slices.Contains(strictKeywords, keyword) {
			return false
		}
	}
	if ref, ok := m["$ref"]; ok {
		text, _ := ref.(string)
		return len(m) == 1 && (text == "#" || strings.HasPrefix(text, "#/$defs/"))
	}
	if m["type"] == nil && m["anyOf"] == nil && m["enum"] == nil && m["const"] == nil {
		return false
	}
	return s.leaf(m) && s.object(m, depth) && s.children(m, depth)
}

// leaf checks the keywords without schemas inside.
func (s *strictness) leaf(m map[string]any) bool {
	if format, ok := m["format"].(string); ok && !slices.Contains(strictFormats, format) {
		return false
	}
	values, ok := m["enum"].([]any)
	if m["enum"] != nil && !ok {
		return false
	}
	s.enums += len(values)
	for _, v := range values {
		text, _ := v.(string)
		s.chars += len(text)
	}
	// Look-arounds are refused; nothing else that begins like one is worth telling apart.
	pattern, _ := m["pattern"].(string)
	return !strings.Contains(pattern, "(?")
}

// object checks that an object is closed and that all its properties are required.
func (s *strictness) object(m map[string]any, depth int) bool {
	if !isObject(m) {
		return m["additionalProperties"] == nil && m["required"] == nil
	}
	properties, ok := m["properties"].(map[string]any)
	if !ok || m["additionalProperties"] != false {
		return false
	}
	required, _ := m["required"].([]any)
	if len(required) != len(properties) {
		return false
	}
	for name, sub := range properties {
		s.properties++
		s.chars += len(name)
		if !slices.Contains(required, any(name)) || !s.schema(sub, depth+1) {
			return false
		}
	}
	return true
}

// isObject reports whether the schema describes an object, also one that may be null.
func isObject(m map[string]any) bool {
	types, _ := m["type"].([]any)
	return m["type"] == "object" || slices.Contains(types, any("object")) || m["properties"] != nil
}

func (s *strictness) children(m map[string]any, depth int) bool {
	types, _ := m["type"].([]any)
	isArray := m["type"] == "array" || slices.Contains(types, any("array"))
	if isArray != (m["items"] != nil) || isArray && !s.schema(m["items"], depth+1) {
		return false
	}
	anyOf, ok := m["anyOf"].([]any)
	if m["anyOf"] != nil && (!ok || len(anyOf) == 0) {
		return false
	}
	for _, sub := range anyOf {
		if !s.schema(sub, depth+1) {
			return false
		}
	}
	defs, ok := m["$defs"].(map[string]any)
	if m["$defs"] != nil && (!ok || depth != 1) {
		return false
	}
	for name, sub := range defs {
		s.chars += len(name)
		if !s.schema(sub, depth+1) {
			return false
		}
	}
	return true
}
