package argschema

import (
	"maps"
	"regexp"
	"slices"
)

// maxVisits bounds how often a schema meets a value in one check. Schemas that refer to each other from several places
// can make that grow exponentially with the depth of either.
const maxVisits = 1_000_000

// affordable reports whether checking the value stays within maxVisits.
func affordable(root, value any) bool {
	c := counter{root: root, left: maxVisits}
	return c.visit(root, value, 0)
}

// counter goes where a check could go at most, without checking anything.
type counter struct {
	root any
	left int
}

// maxVisitDepth bounds the stack; lint has made sure that no circle stays on one value.
const maxVisitDepth = 10_000

func (c *counter) visit(schema, value any, depth int) bool {
	if c.left--; c.left < 0 || depth > maxVisitDepth {
		return false
	}
	m, ok := schema.(map[string]any)
	if !ok {
		return true
	}
	if ref, ok := m["$ref"].(string); ok {
		if target, _, ok := resolve(c.root, ref); ok && !c.visit(target, value, depth+1) {
			return false
		}
	}
	for keyword, v := range m {
		if sameValue(keyword) && !c.same(v, keyword == "dependentSchemas", value, depth) {
			return false
		}
	}
	switch value := value.(type) {
	case []any:
		return c.items(m, value, depth)
	case map[string]any:
		return c.members(m, value, depth)
	}
	return true
}

// same visits the schemas of a keyword that apply to the value itself.
func (c *counter) same(v any, named bool, value any, depth int) bool {
	inner := []any{v}
	if l, ok := v.([]any); ok {
		inner = l
	} else if m, ok := v.(map[string]any); ok && named {
		inner = slices.Collect(maps.Values(m))
	}
	for _, schema := range inner {
		if !c.visit(schema, value, depth+1) {
			return false
		}
	}
	return true
}

func (c *counter) items(m map[string]any, value []any, depth int) bool {
	prefix, _ := m["prefixItems"].([]any)
	for i, v := range value {
		if i < len(prefix) && !c.visit(prefix[i], v, depth+1) {
			return false
		}
		for _, keyword := range []string{"items", "contains", "unevaluatedItems"} {
			if s, ok := m[keyword]; ok && !c.visit(s, v, depth+1) {
				return false
			}
		}
	}
	return true
}

func (c *counter) members(m, value map[string]any, depth int) bool {
	properties, _ := m["properties"].(map[string]any)
	patterns, _ := m["patternProperties"].(map[string]any)
	matchers := make([]*regexp.Regexp, 0, len(patterns))
	schemas := make([]any, 0, len(patterns))
	for p, s := range patterns {
		if re, err := regexp.Compile(p); err == nil {
			matchers, schemas = append(matchers, re), append(schemas, s)
		}
	}
	for name, v := range value {
		if s, ok := properties[name]; ok && !c.visit(s, v, depth+1) {
			return false
		}
		for i, re := range matchers {
			if c.left--; re.MatchString(name) && !c.visit(schemas[i], v, depth+1) {
				return false
			}
		}
		for _, keyword := range []string{"additionalProperties", "unevaluatedProperties"} {
			if s, ok := m[keyword]; ok && !c.visit(s, v, depth+1) {
				return false
			}
		}
		if s, ok := m["propertyNames"]; ok && !c.visit(s, name, depth+1) {
			return false
		}
	}
	return true
}
