package argschema

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"countersign/agent/internal/oneline"
)

// maxProblems bounds an explanation.
const maxProblems = 5

// explainer finds out why a value is not valid under a schema, in words and places of the value. It knows the usual
// keywords; of others it says nothing.
type explainer struct {
	*checked
	problems []string
}

func (x *explainer) add(at, format string, args ...any) {
	if len(x.problems) < maxProblems {
		if at == "" {
			at = "/"
		}
		x.problems = append(x.problems, oneline.Of(at, 200)+": "+fmt.Sprintf(format, args...))
	}
}

func (x *explainer) check(schema, value any, at string, depth int) {
	m, ok := schema.(map[string]any)
	if schema == false {
		x.add(at, "is not allowed")
	}
	if !ok || depth > maxSchemaDepth || len(x.problems) == maxProblems {
		return
	}
	if ref, ok := m["$ref"].(string); ok {
		if target, _, ok := resolve(x.root, ref); ok {
			x.check(target, value, at, depth+1)
		}
	}
	if !x.kind(m, value, at) {
		return
	}
	switch v := value.(type) {
	case float64:
		x.number(m, v, at)
	case string:
		x.text(m, v, at)
	case []any:
		x.list(m, v, at, depth)
	case map[string]any:
		x.object(m, v, at, depth)
	}
	all, _ := m["allOf"].([]any)
	for _, inner := range all {
		x.check(inner, value, at, depth+1)
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		if choices, ok := m[keyword].([]any); ok {
			x.choice(choices, value, at, depth)
		}
	}
}

// kind checks type, enum and const, and reports whether it is worth looking further.
func (x *explainer) kind(m map[string]any, value any, at string) bool {
	if want := typesOf(m["type"]); len(want) > 0 && !slices.ContainsFunc(want, func(t string) bool { return isType(value, t) }) {
		x.add(at, "must be %s, not %s", article(want), article([]string{typeOf(value)}))
		return false
	}
	allowed, isEnum := m["enum"].([]any)
	if c, ok := m["const"]; ok {
		allowed, isEnum = []any{c}, true
	}
	if isEnum && !slices.ContainsFunc(allowed, func(a any) bool { return equal(a, value) }) {
		x.add(at, "must be one of %s", choices(allowed))
		return false
	}
	return true
}

func (x *explainer) number(m map[string]any, v float64, at string) {
	limits := []struct {
		keyword, text string
		broken        func(limit float64) bool
	}{
		{"minimum", "at least", func(l float64) bool { return v < l }},
		{"maximum", "at most", func(l float64) bool { return v > l }},
		{"exclusiveMinimum", "more than", func(l float64) bool { return v <= l }},
		{"exclusiveMaximum", "less than", func(l float64) bool { return v >= l }},
		{"multipleOf", "a multiple of", func(l float64) bool { return v/l != math.Trunc(v/l) }},
	}
	for _, l := range limits {
		if n, ok := m[l.keyword].(json.Number); ok {
			if f, _ := n.Float64(); l.broken(f) {
				x.add(at, "must be %s %s", l.text, n)
			}
		}
	}
}

func (x *explainer) text(m map[string]any, v, at string) {
	n := utf8.RuneCountInString(v)
	x.count(m, "minLength", "maxLength", n, "characters", at)
	if p, ok := m["pattern"].(string); ok {
		if re := x.patterns[p]; re != nil && !re.MatchString(v) {
			x.add(at, "must match the pattern %s", p)
		}
	}
}

// count checks a number of things against a least and a most.
func (x *explainer) count(m map[string]any, least, most string, n int, things, at string) {
	if l, ok := m[least].(json.Number); ok {
		if f, _ := l.Float64(); float64(n) < f {
			x.add(at, "must have at least %s %s, and has %d", l, things, n)
		}
	}
	if l, ok := m[most].(json.Number); ok {
		if f, _ := l.Float64(); float64(n) > f {
			x.add(at, "must have at most %s %s, and has %d", l, things, n)
		}
	}
}

func (x *explainer) list(m map[string]any, v []any, at string, depth int) {
	x.count(m, "minItems", "maxItems", len(v), "items", at)
	prefix, _ := m["prefixItems"].([]any)
	for i, inner := range v {
		place := at + "/" + strconv.Itoa(i)
		if i < len(prefix) {
			x.check(prefix[i], inner, place, depth+1)
		} else if items, ok := m["items"]; ok {
			x.check(items, inner, place, depth+1)
		}
	}
}

func (x *explainer) object(m, v map[string]any, at string, depth int) {
	required, _ := m["required"].([]any)
	for _, name := range required {
		if s, ok := name.(string); ok {
			if _, there := v[s]; !there {
				x.add(at, "the required member %q is missing", s)
			}
		}
	}
	x.count(m, "minProperties", "maxProperties", len(v), "members", at)
	properties, _ := m["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(v)) {
		place := at + "/" + escape(name)
		if inner, ok := properties[name]; ok {
			x.check(inner, v[name], place, depth+1)
			continue
		}
		if m["patternProperties"] != nil {
			continue
		}
		if additional, ok := m["additionalProperties"]; additional == false {
			x.add(place, "there is no such member%s", known(properties))
		} else if ok {
			x.check(additional, v[name], place, depth+1)
		}
	}
}

// choice explains a value that fits none of several schemas by the one it comes closest to.
func (x *explainer) choice(choices []any, value any, at string, depth int) {
	var closest []string
	for _, c := range choices {
		try := explainer{checked: x.checked}
		try.check(c, value, at, depth+1)
		if len(try.problems) == 0 {
			return
		}
		if closest == nil || len(try.problems) < len(closest) {
			closest = try.problems
		}
	}
	x.add(at, "fits none of %d forms; for the closest: %s", len(choices), strings.Join(closest, "; "))
}

func known(properties map[string]any) string {
	if len(properties) == 0 || len(properties) > 20 {
		return ""
	}
	return "; there are " + strings.Join(slices.Sorted(maps.Keys(properties)), ", ")
}

func typesOf(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		var out []string
		for _, t := range v {
			if s, ok := t.(string); ok {
				out = append(out, s)
			}
		}
		return out
	}
	return nil
}

func typeOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case float64:
		return "number"
	case string:
		return "string"
	case []any:
		return "array"
	}
	return "object"
}

func isType(v any, want string) bool {
	f, isNumber := v.(float64)
	return typeOf(v) == want || want == "integer" && isNumber && f == math.Trunc(f)
}

func article(types []string) string {
	out := make([]string, len(types))
	for i, t := range types {
		switch t {
		case "null":
			out[i] = "null"
		case "array", "object", "integer":
			out[i] = "an " + t
		default:
			out[i] = "a " + t
		}
	}
	return strings.Join(out, " or ")
}

// equal compares a value of a schema, whose numbers are texts, with one of the arguments.
func equal(schema, value any) bool {
	switch s := schema.(type) {
	case json.Number:
		f, err := s.Float64()
		return err == nil && f == value
	case []any:
		v, ok := value.([]any)
		return ok && slices.EqualFunc(s, v, equal)
	case map[string]any:
		v, ok := value.(map[string]any)
		return ok && maps.EqualFunc(s, v, equal)
	}
	return schema == value
}

func choices(allowed []any) string {
	b, err := json.Marshal(allowed)
	if err != nil {
		return "the allowed values"
	}
	return oneline.Of(strings.Trim(string(b), "[]"), 300)
}
