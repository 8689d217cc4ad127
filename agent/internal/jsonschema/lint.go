package jsonschema

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"countersign/agent/internal/oneline"
)

// Limits of what a schema may be.
const (
	maxSchemaDepth = 64
	maxSchemas     = 4000 // the library's work grows with the square of it
	maxNumber      = 64   // bytes of a number
)

// linter refuses what the library would take and not enforce, or enforce at too high a price. What the draft itself
// forbids is the library's to find.
type linter struct {
	foreign    bool            // take away unknown keywords instead
	keywords   map[string]form // of the schema's draft
	schemas    int
	references map[string]string // $ref, decoded: its place
}

func (l *linter) lint(root any) error {
	l.references = make(map[string]string)
	if err := numbers(root, ""); err != nil {
		return err
	}
	return l.schema(root, "", 0)
}

func (l *linter) schema(node any, at string, depth int) error {
	m, ok := node.(map[string]any)
	if l.schemas++; l.schemas > maxSchemas {
		return wrong(at, "there are more than %d schemas in this one", maxSchemas)
	} else if depth > maxSchemaDepth {
		return wrong(at, "schemas are nested too deeply")
	} else if !ok {
		return nil
	}
	err := eachSorted(m, func(keyword string, v any) error {
		f, known := l.keywords[keyword]
		if !known {
			return l.unknown(m, keyword, at)
		}
		here := at + "/" + escape(keyword)
		if err := l.value(f, v, at, here); err != nil {
			return err
		}
		return schemasIn(f, v, func(node any, rest string) error { return l.schema(node, here+rest, depth+1) })
	})
	if err != nil {
		return err
	}
	if err := l.alone(m, at); err != nil {
		return err
	}
	return required(m, at)
}

func (l *linter) unknown(m map[string]any, keyword, at string) error {
	if l.foreign || strings.HasPrefix(keyword, "x-") {
		delete(m, keyword)
		return nil
	}
	hint := "one of your own begins with x-"
	if near := nearest(keyword, maps.Keys(l.keywords)); near != "" {
		hint = "the nearest is " + strconv.Quote(near)
	}
	return wrong(at, "unknown keyword %q; %s", keyword, hint)
}

// value checks what the library does not.
func (l *linter) value(f form, v any, at, here string) error {
	switch f {
	case length:
		if n, ok := v.(json.Number); ok && !fits(n) {
			return wrong(here, "must be a whole number, and at most %d", math.MaxInt32)
		}
	case choices:
		if values, ok := v.([]any); ok && len(values) == 0 {
			return wrong(here, "must be a list that is not empty")
		}
	case dialect:
		name, _ := v.(string)
		if _, ok := dialects[strings.TrimSuffix(name, "#")]; !ok {
			return wrong(here, "only draft 2020-12 and draft-07 are supported")
		}
		if at != "" {
			return wrong(here, "belongs to the root")
		}
	case reference:
		ref, _ := v.(string)
		if _, err := url.PathUnescape(ref); err != nil || ref != "#" && !strings.HasPrefix(ref, "#/") {
			return wrong(here, "must point into this schema, as #/$defs/… does, to something that is there")
		}
		l.references[decoded(ref)] = here
	}
	return nil
}

// fits reports whether a number is one that the library counts with; negative ones it refuses itself.
func fits(n json.Number) bool {
	f, err := n.Float64()
	return err == nil && f == math.Trunc(f) && f <= math.MaxInt32
}

// alone refuses what draft-07 ignores: anything beside a $ref.
func (l *linter) alone(m map[string]any, at string) error {
	_, refers := m["$ref"]
	if _, seven := l.keywords["dependencies"]; !refers || !seven || l.foreign {
		return nil
	}
	for _, keyword := range slices.Sorted(maps.Keys(m)) {
		switch keyword {
		case "$ref", "$schema", "$comment", "title", "description", "default", "examples", "definitions", "$defs":
		default:
			return wrong(at+"/"+escape(keyword), "draft-07 ignores it beside $ref; put both into allOf")
		}
	}
	return nil
}

// required finds members that are required but not possible.
func required(m map[string]any, at string) error {
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

// numbers refuses numbers that are costly to compare, or that a float64 cannot hold even roughly, wherever they are.
func numbers(node any, at string) error {
	switch v := node.(type) {
	case json.Number:
		f, err := v.Float64()
		if len(v) > maxNumber || err != nil || f == 0 && strings.ContainsAny(mantissa(string(v)), "123456789") {
			return wrong(at, "the number is too long, too large or too small")
		}
	case []any:
		for i, inner := range v {
			if err := numbers(inner, at+pointer(i)); err != nil {
				return err
			}
		}
	case map[string]any:
		return eachSorted(v, func(name string, inner any) error { return numbers(inner, at+"/"+escape(name)) })
	}
	return nil
}

// mantissa is a number without its exponent.
func mantissa(n string) string {
	if i := strings.IndexAny(n, "eE"); i >= 0 {
		return n[:i]
	}
	return n
}

// wrong is an error about a place in a schema.
func wrong(at, format string, args ...any) error {
	if at == "" {
		at = "/"
	}
	return fmt.Errorf("schema at %s: %s", oneline.Of(at, 200), fmt.Sprintf(format, args...))
}

func wrapped(err error) error { return fmt.Errorf("schema: %w", err) }

func eachSorted(m map[string]any, visit func(name string, v any) error) error {
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if err := visit(name, m[name]); err != nil {
			return err
		}
	}
	return nil
}

// escape makes a name a segment of a JSON pointer.
func escape(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
}

func pointer(i int) string { return "/" + strconv.Itoa(i) }

// decoded is a reference, or a text with one, without the escapes of URLs.
func decoded(s string) string {
	if plain, err := url.PathUnescape(s); err == nil {
		return plain
	}
	return s
}
