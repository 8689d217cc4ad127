package jsonschema

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"countersign/agent/internal/oneline"
)

// texts says what a keyword expects of a value, without repeating the value.
func texts(k jsonschema.ErrorKind) []string {
	switch k := k.(type) {
	case *kind.Required:
		return missing(k.Missing, "")
	case *kind.DependentRequired:
		return missing(k.Missing, k.Prop)
	case *kind.Dependency:
		return missing(k.Missing, k.Prop)
	case *kind.Enum:
		return []string{"must be one of " + listed(k.Want)}
	case *kind.Const:
		return []string{"must be one of " + listed([]any{k.Want})}
	case *kind.Pattern:
		return []string{"must match the pattern " + k.Want}
	case *kind.Format:
		if k.Want == "regex" {
			return []string{k.Err.Error()} // only a schema's own patterns are checked so
		}
		return []string{"must be of the format " + k.Want}
	}
	if s := numberText(k); s != "" {
		return []string{s}
	}
	if s := countText(k); s != "" {
		return []string{s}
	}
	return []string{otherText(k)}
}

func numberText(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Minimum:
		return "must be at least " + number(k.Want)
	case *kind.Maximum:
		return "must be at most " + number(k.Want)
	case *kind.ExclusiveMinimum:
		return "must be more than " + number(k.Want)
	case *kind.ExclusiveMaximum:
		return "must be less than " + number(k.Want)
	case *kind.MultipleOf:
		return "must be a multiple of " + number(k.Want)
	}
	return ""
}

func countText(k jsonschema.ErrorKind) string {
	least := func(want, got int, things string) string {
		return fmt.Sprintf("must have at least %s, and has %d", plural(want, things), got)
	}
	most := func(want, got int, things string) string {
		return fmt.Sprintf("must have at most %s, and has %d", plural(want, things), got)
	}
	switch k := k.(type) {
	case *kind.MinLength:
		return least(k.Want, k.Got, "characters")
	case *kind.MaxLength:
		return most(k.Want, k.Got, "characters")
	case *kind.MinItems:
		return least(k.Want, k.Got, "items")
	case *kind.MaxItems:
		return most(k.Want, k.Got, "items")
	case *kind.MinProperties:
		return least(k.Want, k.Got, "members")
	case *kind.MaxProperties:
		return most(k.Want, k.Got, "members")
	case *kind.MinContains:
		return least(k.Want, len(k.Got), "items that fit contains")
	case *kind.MaxContains:
		return most(k.Want, len(k.Got), "items that fit contains")
	case *kind.AdditionalItems:
		return "has too many items: " + strconv.Itoa(k.Count) + " are not allowed"
	}
	return ""
}

func otherText(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.FalseSchema:
		return "is not allowed"
	case *kind.Not:
		return "is of a form that is ruled out"
	case *kind.Contains:
		return "none of the items is of the form that one must have"
	case *kind.UniqueItems:
		return fmt.Sprintf("the items %d and %d are equal, and must not be", k.Duplicates[0], k.Duplicates[1])
	}
	return "is not valid"
}

// missing names required members; because is the member that requires them, if any does.
func missing(names []string, because string) []string {
	texts := make([]string, len(names))
	for i, name := range names {
		texts[i] = "the required member " + strconv.Quote(name) + " is missing"
		if because != "" {
			texts[i] = "the member " + strconv.Quote(name) + " is missing, which " +
				strconv.Quote(because) + " requires"
		}
	}
	if because != "" {
		slices.Sort(texts)
	}
	return texts
}

// number writes a number of a schema: as a decimal, for schemas hold nothing else.
func number(r *big.Rat) string {
	if r.IsInt() && len(r.Num().Bytes()) <= 8 {
		return r.Num().String()
	}
	f, _ := r.Float64()
	b, err := json.Marshal(f)
	if err != nil {
		return r.RatString()
	}
	return string(b)
}

func plural(n int, things string) string { return strconv.Itoa(n) + " " + things }

func article(types []string) string {
	types = slices.Clone(types)
	slices.SortStableFunc(types, func(a, b string) int { // null last
		return cmp.Compare(strings.Count(a, "null"), strings.Count(b, "null"))
	})
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

func listed(allowed []any) string {
	b, err := json.Marshal(allowed)
	if err != nil {
		return "the allowed values"
	}
	return oneline.Of(strings.TrimSuffix(strings.TrimPrefix(string(b), "["), "]"), 300)
}
