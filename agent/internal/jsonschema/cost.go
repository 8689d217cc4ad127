package jsonschema

import (
	"encoding/json"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const (
	// maxVisits bounds how often a schema meets a value in one check. Schemas that refer to each other from several
	// places can make that grow exponentially with the depth of either. What takes long in one visit counts as several.
	maxVisits = 250_000
	// visitNames is how many texts are compared, and visitSteps how many steps a pattern makes, in the time of a visit.
	// A comparison of numbers takes numberVisits.
	visitNames   = 32
	visitSteps   = 32
	visitChain   = 16 // the library looks for circles among the schemas that led to one
	numberVisits = 2
	leftVisits   = 4
	// maxVisitDepth bounds the stack.
	maxVisitDepth = 10_000
)

// affordable reports whether checking the value stays within maxVisits.
func (s *Schema) affordable(value any) bool {
	c := counter{index: &s.index, left: maxVisits}
	return c.visit(s.compiled, value, 0, 0)
}

// counter goes where a check could go at most, without checking anything.
type counter struct {
	*index
	left int
}

// pay takes n visits off and reports whether that was possible.
func (c *counter) pay(n int) bool {
	c.left -= n
	return c.left >= 0
}

// visit goes through s, which is applied to the value after a chain of other schemas.
func (c *counter) visit(s *jsonschema.Schema, value any, depth, chain int) bool {
	f := c.facts[s]
	if depth > maxVisitDepth || !c.pay(1+f.price+chain/visitChain) {
		return false
	}
	for _, same := range f.same {
		if !c.visit(same, value, depth+1, chain+1) {
			return false
		}
	}
	switch value := value.(type) {
	case float64:
		return !counts(s) || c.pay(numberVisits)
	case string:
		return s.Pattern == nil || c.pay(steps(s.Pattern.String(), len(value)+1)) // the end is looked at too
	case []any:
		return c.list(len(value)) && c.items(s, value, depth)
	case map[string]any:
		return c.list(len(value)) && c.members(s, value, depth)
	}
	return true
}

// list pays for the list of n parts that were not looked at yet.
func (c *counter) list(n int) bool { return !c.leftovers || c.pay(n/leftVisits) }

func (c *counter) items(s *jsonschema.Schema, value []any, depth int) bool {
	if s.UniqueItems && len(value) > 1 && !c.compare(value) {
		return false
	}
	tuple, _ := s.Items.([]*jsonschema.Schema)
	prefix := append(s.PrefixItems[:len(s.PrefixItems):len(s.PrefixItems)], tuple...)
	rest, _ := s.Items.(*jsonschema.Schema)
	additional, _ := s.AdditionalItems.(*jsonschema.Schema)
	each := existing(s.Items2020, rest, additional, s.Contains, s.UnevaluatedItems)
	for i, v := range value {
		if i < len(prefix) && !c.visit(prefix[i], v, depth+1, 0) {
			return false
		}
		for _, inner := range each {
			if !c.visit(inner, v, depth+1, 0) {
				return false
			}
		}
	}
	return true
}

func (c *counter) members(s *jsonschema.Schema, value map[string]any, depth int) bool {
	if !c.payPatterns(s, value) {
		return false
	}
	additional, _ := s.AdditionalProperties.(*jsonschema.Schema)
	each := existing(additional, s.UnevaluatedProperties)
	for name, v := range value {
		if inner := s.Properties[name]; inner != nil && !c.visit(inner, v, depth+1, 0) {
			return false
		}
		for p, inner := range s.PatternProperties {
			if p.MatchString(name) && !c.visit(inner, v, depth+1, 0) {
				return false
			}
		}
		for _, inner := range each {
			if !c.visit(inner, v, depth+1, 0) {
				return false
			}
		}
		if s.PropertyNames != nil && !c.visit(s.PropertyNames, name, depth+1, 0) {
			return false
		}
	}
	return true
}

// payPatterns pays for matching names, before any is matched.
func (c *counter) payPatterns(s *jsonschema.Schema, value map[string]any) bool {
	if len(s.PatternProperties) == 0 {
		return true
	}
	names := 0
	for name := range value {
		names += len(name) + 1
	}
	for p := range s.PatternProperties {
		if !c.pay(len(value) + steps(p.String(), names)) {
			return false
		}
	}
	return true
}

// compare pays for comparing a value with others.
func (c *counter) compare(value any) bool {
	switch value := value.(type) {
	case float64:
		return c.pay(numberVisits)
	case []any:
		for _, v := range value {
			if !c.compare(v) {
				return false
			}
		}
	case map[string]any:
		for _, v := range value {
			if !c.compare(v) {
				return false
			}
		}
	}
	return c.pay(1)
}

// price is what one use of a schema by itself costs at most beyond a visit and what depends on the value.
func price(s *jsonschema.Schema) int {
	texts, others := len(s.Required), 0
	for _, names := range s.DependentRequired {
		texts += len(names)
	}
	for _, names := range s.Dependencies {
		list, _ := names.([]string)
		texts += len(list)
	}
	var allowed []any
	if s.Enum != nil {
		allowed = append(allowed, s.Enum.Values...)
	}
	if s.Const != nil {
		allowed = append(allowed, *s.Const)
	}
	for _, v := range allowed {
		if _, ok := v.(string); ok {
			texts++
		} else {
			others += size(v)
		}
	}
	return texts/visitNames + others
}

// size is what it costs to compare a value of a schema.
func size(v any) (n int) {
	switch v := v.(type) {
	case json.Number:
		return numberVisits
	case []any:
		for _, inner := range v {
			n += size(inner)
		}
	case map[string]any:
		for _, inner := range v {
			n += size(inner)
		}
	}
	return n + 1
}

// counts reports whether the schema calculates with numbers.
func counts(s *jsonschema.Schema) bool {
	return s.Types != nil || s.Minimum != nil || s.Maximum != nil || s.ExclusiveMinimum != nil ||
		s.ExclusiveMaximum != nil || s.MultipleOf != nil
}

func steps(pattern string, length int) int { return len(pattern) * length / visitSteps }

func existing(schemas ...*jsonschema.Schema) (there []*jsonschema.Schema) {
	for _, s := range schemas {
		if s != nil {
			there = append(there, s)
		}
	}
	return there
}
