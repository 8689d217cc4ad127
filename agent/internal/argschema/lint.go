package argschema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// decode reads a schema; its numbers stay texts.
func decode(schema json.RawMessage) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(schema))
	dec.UseNumber()
	var root any
	if err := dec.Decode(&root); err != nil {
		return nil, fmt.Errorf("schema: not JSON: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("schema: more than one JSON value")
	}
	return root, nil
}

// lint refuses a schema that would not do what it says, and returns the patterns in it. Its errors begin with the place.
func lint(root any) (patterns map[string]*regexp.Regexp, err error) {
	l := linter{root: root, inPlace: make(map[string][]string), patterns: make(map[string]*regexp.Regexp)}
	if err := l.schema(root, "", 0); err != nil {
		return nil, err
	}
	return l.patterns, l.circles()
}

// maxSchemaDepth bounds the nesting of schemas.
const maxSchemaDepth = 64

// shape is what a keyword's value must be.
type shape int

const (
	anything shape = iota
	text
	truth
	number
	positive // a number above zero
	length   // a whole number, not negative
	names    // a list of texts
	values   // a list that is not empty
	one      // a schema
	list     // a list of schemas
	byName   // an object of schemas
	types
	pattern
	reference
	dialect
	namesByName // an object of lists of texts
)

// keywords are those that are enforced, and those that only describe.
var keywords = map[string]shape{
	"type": types, "enum": values, "const": anything,
	"properties": byName, "patternProperties": byName, "additionalProperties": one, "propertyNames": one, "required": names,
	"minProperties": length, "maxProperties": length, "dependentRequired": namesByName, "dependentSchemas": byName, "unevaluatedProperties": one,
	"items": one, "prefixItems": list, "contains": one, "minContains": length, "maxContains": length, "minItems": length, "maxItems": length,
	"uniqueItems": truth, "unevaluatedItems": one,
	"minimum": number, "maximum": number, "exclusiveMinimum": number, "exclusiveMaximum": number, "multipleOf": positive,
	"minLength": length, "maxLength": length, "pattern": pattern,
	"allOf": list, "anyOf": list, "oneOf": list, "not": one, "if": one, "then": one, "else": one,
	"$ref": reference, "$defs": byName, "definitions": byName, "$schema": dialect,
	"title": text, "description": text, "$comment": text, "format": text, "default": anything, "examples": anything, "deprecated": truth,
	"readOnly": truth, "writeOnly": truth, "contentEncoding": text, "contentMediaType": text,
}

var typeNames = []string{"object", "array", "string", "number", "integer", "boolean", "null"}

type linter struct {
	root     any
	inPlace  map[string][]string // place of a schema: places of schemas that are applied to the same value
	patterns map[string]*regexp.Regexp
}

func wrong(at, format string, args ...any) error {
	if at == "" {
		at = "/"
	}
	return fmt.Errorf("schema at %s: %s", at, fmt.Sprintf(format, args...))
}

func (l *linter) schema(node any, at string, depth int) error {
	if _, ok := node.(bool); ok {
		return nil
	}
	m, ok := node.(map[string]any)
	switch {
	case !ok:
		return wrong(at, "a schema must be an object or a truth value")
	case depth > maxSchemaDepth:
		return wrong(at, "schemas are nested too deeply")
	}
	for _, keyword := range slices.Sorted(maps.Keys(m)) {
		s, ok := keywords[keyword]
		if !ok {
			if strings.HasPrefix(keyword, "x-") {
				continue
			}
			return wrong(at, "unknown keyword %q; one of your own begins with x-", keyword)
		}
		if err := l.keyword(s, keyword, m[keyword], at, depth); err != nil {
			return err
		}
	}
	return l.required(m, at)
}

func (l *linter) keyword(s shape, keyword string, v any, at string, depth int) error {
	here := at + "/" + escape(keyword)
	switch s {
	case one, list, byName:
		return l.inner(s, keyword, v, at, depth)
	case types:
		return lintTypes(v, here)
	case pattern:
		p, ok := v.(string)
		if !ok {
			return wrong(here, "must be a text")
		}
		return l.pattern(p, here)
	case reference:
		return l.reference(v, at)
	case dialect:
		return lintDialect(v, at)
	default:
		if want := mismatch(s, v); want != "" {
			return wrong(here, "must be %s", want)
		}
	}
	return nil
}

func (l *linter) pattern(p, at string) error {
	if l.patterns[p] != nil {
		return nil
	}
	re, err := regexp.Compile(p)
	if err != nil {
		return wrong(at, "%v", err)
	}
	l.patterns[p] = re
	return nil
}

// sameValue reports whether the schemas in a keyword apply to the value itself and not to a part of it.
func sameValue(keyword string) bool {
	switch keyword {
	case "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas":
		return true
	}
	return false
}

// inner checks the schemas inside a keyword, and notes those that apply to the same value as the one around them.
func (l *linter) inner(s shape, keyword string, v any, at string, depth int) error {
	here := at + "/" + escape(keyword)
	same := sameValue(keyword)
	visit := func(node any, place string) error {
		if same {
			l.inPlace[at] = append(l.inPlace[at], place)
		}
		return l.schema(node, place, depth+1)
	}
	switch s {
	case one:
		return visit(v, here)
	case list:
		nodes, ok := v.([]any)
		if !ok || len(nodes) == 0 {
			return wrong(here, "must be a list of schemas that is not empty")
		}
		for i, node := range nodes {
			if err := visit(node, here+"/"+strconv.Itoa(i)); err != nil {
				return err
			}
		}
	default:
		nodes, ok := v.(map[string]any)
		if !ok {
			return wrong(here, "must be an object of schemas")
		}
		for _, name := range slices.Sorted(maps.Keys(nodes)) {
			if keyword == "patternProperties" {
				if err := l.pattern(name, here); err != nil {
					return err
				}
			}
			if err := visit(nodes[name], here+"/"+escape(name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// mismatch says what a plain value should be, or "".
func mismatch(s shape, v any) string {
	n, isNumber := v.(json.Number)
	f, _ := n.Float64()
	l, isList := v.([]any)
	var ok bool
	switch s {
	case text:
		if _, ok = v.(string); !ok {
			return "a text"
		}
	case truth:
		if _, ok = v.(bool); !ok {
			return "true or false"
		}
	case number:
		if !isNumber || math.IsInf(f, 0) {
			return "a number"
		}
	case positive:
		if !isNumber || f <= 0 || math.IsInf(f, 0) {
			return "a number above zero"
		}
	case length:
		if !isNumber || f < 0 || f != math.Trunc(f) || f > math.MaxInt32 {
			return "a whole number that is not negative"
		}
	case values:
		if !isList || len(l) == 0 {
			return "a list that is not empty"
		}
	case names:
		if !isNames(v) {
			return "a list of texts, each there once"
		}
	case namesByName:
		m, ok := v.(map[string]any)
		for _, inner := range m {
			ok = ok && isNames(inner)
		}
		if !ok {
			return "an object of lists of texts"
		}
	}
	return ""
}

func isNames(v any) bool {
	l, ok := v.([]any)
	seen := make(map[string]bool, len(l))
	for _, e := range l {
		s, isText := e.(string)
		ok = ok && isText && !seen[s]
		seen[s] = true
	}
	return ok
}

func lintTypes(v any, at string) error {
	l, ok := v.([]any)
	if !ok {
		l = []any{v}
	}
	for _, t := range l {
		if name, ok := t.(string); !ok || !slices.Contains(typeNames, name) {
			return wrong(at, "must be one or several of %s", strings.Join(typeNames, ", "))
		}
	}
	if len(l) == 0 {
		return wrong(at, "must not be empty")
	}
	return nil
}

// dialects are the values of $schema without their empty fragment, and how the library spells them.
var dialects = map[string]string{
	"https://json-schema.org/draft/2020-12/schema": "https://json-schema.org/draft/2020-12/schema",
	"http://json-schema.org/draft-07/schema":       "http://json-schema.org/draft-07/schema#",
}

func lintDialect(v any, at string) error {
	name, _ := v.(string)
	if _, ok := dialects[strings.TrimSuffix(name, "#")]; !ok {
		return wrong(at+"/$schema", "only draft 2020-12 and draft-07 are supported")
	}
	if at != "" {
		return wrong(at+"/$schema", "belongs to the root")
	}
	return nil
}

// reference accepts pointers into the schema itself.
func (l *linter) reference(v any, at string) error {
	ref, _ := v.(string)
	_, place, ok := resolve(l.root, ref)
	if !ok {
		return wrong(at+"/$ref", "must point into this schema, as #/$defs/… does, to something that is there")
	}
	l.inPlace[at] = append(l.inPlace[at], place)
	return nil
}

// required finds members that are required but not possible.
func (l *linter) required(m map[string]any, at string) error {
	listed, _ := m["required"].([]any)
	properties, _ := m["properties"].(map[string]any)
	if m["additionalProperties"] != false || m["patternProperties"] != nil {
		return nil
	}
	for _, name := range listed {
		if s, _ := name.(string); properties[s] == nil {
			return wrong(at+"/required", "%q is required and not allowed: it is not among the properties", s)
		}
	}
	return nil
}

// circles finds schemas that lead back to themselves without going into the value: checking them would never end.
func (l *linter) circles() error {
	const visiting, done = 1, 2
	state := make(map[string]int)
	var visit func(at string) error
	visit = func(at string) error {
		switch state[at] {
		case visiting:
			return wrong(at, "refers to itself without an end")
		case done:
			return nil
		}
		state[at] = visiting
		for _, next := range l.inPlace[at] {
			if err := visit(next); err != nil {
				return err
			}
		}
		state[at] = done
		return nil
	}
	for _, at := range slices.Sorted(maps.Keys(l.inPlace)) {
		if err := visit(at); err != nil {
			return err
		}
	}
	return nil
}

// resolve follows a reference like #/$defs/x. place is where it leads, as lint writes places: a reference can be written
// in several ways. It has to lead where the library goes, or a circle could be missed.
func resolve(root any, ref string) (node any, place string, ok bool) {
	pointer, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil, "", false
	}
	pointer, err := url.PathUnescape(pointer)
	if err != nil || pointer != "" && pointer[0] != '/' {
		return nil, "", false
	}
	node = root
	for _, segment := range strings.Split(pointer, "/")[1:] {
		segment = strings.ReplaceAll(strings.ReplaceAll(segment, "~1", "/"), "~0", "~")
		switch inner := node.(type) {
		case map[string]any:
			if node, ok = inner[segment]; !ok {
				return nil, "", false
			}
		case []any:
			i, err := strconv.Atoi(segment)
			if err != nil || i < 0 || i >= len(inner) {
				return nil, "", false
			}
			node, segment = inner[i], strconv.Itoa(i)
		default:
			return nil, "", false
		}
		place += "/" + escape(segment)
	}
	return node, place, true
}

// escape makes a name a segment of a JSON pointer.
func escape(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
}
