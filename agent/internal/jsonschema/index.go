package jsonschema

import (
	"errors"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// index holds what has to be known of each schema that the root leads to.
type index struct {
	at    map[string]*jsonschema.Schema // by location
	facts map[*jsonschema.Schema]*facts
	order []*jsonschema.Schema
	// leftovers says that some schema is about what others did not look at: all of them keep a list then.
	leftovers bool
}

// facts are what a check looks up often.
type facts struct {
	same  []*jsonschema.Schema // applied to the same value
	price int                  // of one use, beyond a visit
}

func newIndex(root *jsonschema.Schema) index {
	x := index{at: make(map[string]*jsonschema.Schema), facts: make(map[*jsonschema.Schema]*facts)}
	x.add(root)
	for i := 0; i < len(x.order); i++ {
		s := x.order[i]
		x.add(x.facts[s].same...)
		x.add(partsOf(s)...)
	}
	return x
}

func (x *index) add(schemas ...*jsonschema.Schema) {
	for _, s := range schemas {
		if s == nil || x.facts[s] != nil {
			continue
		}
		x.at[s.Location] = s
		x.facts[s] = &facts{same: sameValue(s), price: price(s)}
		x.order = append(x.order, s)
		x.leftovers = x.leftovers || s.UnevaluatedProperties != nil || s.UnevaluatedItems != nil
	}
}

// sameValue returns the schemas in s that apply to the value that s is applied to.
func sameValue(s *jsonschema.Schema) (same []*jsonschema.Schema) {
	add := func(schemas ...*jsonschema.Schema) {
		for _, inner := range schemas {
			if inner != nil {
				same = append(same, inner)
			}
		}
	}
	add(s.Ref, s.Not, s.If, s.Then, s.Else)
	add(s.AllOf...)
	add(s.AnyOf...)
	add(s.OneOf...)
	for _, inner := range s.DependentSchemas {
		add(inner)
	}
	for _, inner := range s.Dependencies {
		if inner, ok := inner.(*jsonschema.Schema); ok {
			add(inner)
		}
	}
	return same
}

// partsOf returns the schemas in s that apply to parts of the value.
func partsOf(s *jsonschema.Schema) []*jsonschema.Schema {
	parts := []*jsonschema.Schema{s.PropertyNames, s.UnevaluatedProperties, s.Contains, s.Items2020, s.UnevaluatedItems}
	parts = append(parts, s.PrefixItems...)
	for _, inner := range s.Properties {
		parts = append(parts, inner)
	}
	for _, inner := range s.PatternProperties {
		parts = append(parts, inner)
	}
	for _, inner := range []any{s.AdditionalProperties, s.Items, s.AdditionalItems} {
		switch inner := inner.(type) {
		case *jsonschema.Schema:
			parts = append(parts, inner)
		case []*jsonschema.Schema:
			parts = append(parts, inner...)
		}
	}
	return parts
}

// usable refuses what a check could not deal with: schemas that lead back to themselves without going into the value,
// for it would never end, and references that are resolved while checking.
func (x *index) usable() error {
	const visiting, done = 1, 2
	state := make(map[*jsonschema.Schema]int)
	var visit func(s *jsonschema.Schema) error
	visit = func(s *jsonschema.Schema) error {
		switch {
		case state[s] == visiting:
			return errCircle
		case state[s] == done:
			return nil
		case s.DynamicRef != nil || s.RecursiveRef != nil:
			return errDynamic
		}
		state[s] = visiting
		for _, next := range x.facts[s].same {
			if err := visit(next); err != nil {
				return err
			}
		}
		state[s] = done
		return nil
	}
	for _, s := range x.order {
		if err := visit(s); err != nil {
			return wrong(strings.TrimPrefix(decoded(s.Location), resource+"#"), "%v", err)
		}
	}
	return nil
}

var (
	errCircle  = errors.New("refers to itself without an end")
	errDynamic = errors.New("references that are resolved while checking are not supported")
)
