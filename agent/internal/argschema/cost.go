package argschema

import (
	"maps"
	"slices"
)

const (
	// maxVisits bounds how often a schema meets a value in one check. Schemas that refer to each other from several places
	// can make that grow exponentially with the depth of either. What takes long in one visit counts as several.
	maxVisits = 1_000_000
	// visitNames is how many texts of a list are compared, and visitSteps how many steps a pattern makes, in the time of
	// a visit.
	visitNames = 32
	visitSteps = 32
)

// affordable reports whether checking the value stays within maxVisits.
func (s *checked) affordable(value any) bool {
	c := counter{checked: s, left: maxVisits}
	return c.visit(s.root, value, 0)
}

// counter goes where a check could go at most, without checking anything.
type counter struct {
	*checked
	left int
}

// maxVisitDepth bounds the stack; lint has made sure that no circle stays on one value.
const maxVisitDepth = 10_000

func (c *counter) visit(schema, value any, depth int) bool {
	m, ok := schema.(map[string]any)
	if c.left -= 1 + weight(m, value); c.left < 0 || depth > maxVisitDepth {
		return false
	}
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

// weight is what one schema by itself costs beyond a visit.
func weight(m map[string]any, value any) int {
	listed := func(v any) int {
		l, _ := v.([]any)
		return len(l)
	}
	n := listed(m["enum"])
	switch value := value.(type) {
	case string:
		pattern, _ := m["pattern"].(string)
		return n/visitNames + len(pattern)*(len(value)+1)/visitSteps // the end is looked at too
	case map[string]any:
		n += listed(m["required"])
		dependent, _ := m["dependentRequired"].(map[string]any)
		for _, v := range dependent {
			n += listed(v)
		}
	}
	return n / visitNames
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
	if len(patterns) > 0 { // before any is matched
		names := 0
		for name := range value {
			names += len(name) + 1
		}
		for p := range patterns {
			c.left -= len(value) + len(p)*names/visitSteps
		}
		if c.left < 0 {
			return false
		}
	}
	for name, v := range value {
		if s, ok := properties[name]; ok && !c.visit(s, v, depth+1) {
			return false
		}
		for p, s := range patterns {
			if re := c.patterns[p]; re != nil && re.MatchString(name) && !c.visit(s, v, depth+1) {
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
