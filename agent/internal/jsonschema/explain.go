package jsonschema

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"countersign/agent/internal/oneline"
)

// maxProblems bounds an explanation.
const maxProblems = 5

// problem is one thing that is wrong with a value.
type problem struct {
	at, text string
	schema   string // the location of the schema that says so
	mistyped bool   // the value is of another type
}

func (p problem) String() string { return oneline.Of(cmp.Or(p.at, "/"), 200) + ": " + p.text }

// explain turns the library's verdict about a value into sentences, in the order of their places. schemas are those
// that the verdict may speak of, by location; nil when they are not known.
func explain(verdict error, value any, schemas map[string]*jsonschema.Schema) []string {
	e, ok := errors.AsType[*jsonschema.ValidationError](verdict)
	if !ok {
		return nil
	}
	x := explainer{value, schemas}
	var told []string
	for _, p := range x.problems(e) {
		if s := p.String(); !slices.Contains(told, s) {
			told = append(told, s)
		}
		if len(told) == maxProblems {
			break
		}
	}
	return told
}

type explainer struct {
	value   any
	schemas map[string]*jsonschema.Schema
}

// problems returns what is wrong in the order of places, then of schemas: the library goes through objects in any
// order.
func (x *explainer) problems(e *jsonschema.ValidationError) []problem {
	all := x.collect(nil, e)
	slices.SortStableFunc(all, func(a, b problem) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.schema, b.schema))
	})
	return all
}

func (x *explainer) collect(all []problem, e *jsonschema.ValidationError) []problem {
	at := place(e.InstanceLocation)
	add := func(texts ...string) []problem {
		for _, t := range texts {
			all = append(all, problem{at: at, text: t, schema: e.SchemaURL})
		}
		return all
	}
	switch k := e.ErrorKind.(type) {
	case *kind.Schema, *kind.Group, *kind.AllOf, *kind.Reference:
		for _, cause := range e.Causes {
			all = x.collect(all, cause)
		}
		return all
	case *kind.AnyOf:
		return add(x.choice(at, e.Causes))
	case *kind.OneOf:
		if len(k.Subschemas) > 1 {
			return add("fits several forms, and must fit one only")
		}
		return add(x.choice(at, e.Causes))
	case *kind.Type:
		all = add("must be " + article(k.Want) + ", not " + article([]string{k.Got}))
		all[len(all)-1].mistyped = true
		return all
	case *kind.AdditionalProperties:
		return x.additional(all, e, k)
	case *kind.PropertyNames:
		at = x.member(k.Property)
		return add("the name " + strconv.Quote(oneline.Of(k.Property, 100)) + " is not allowed: " + x.texts(e.Causes))
	}
	return add(texts(e.ErrorKind)...)
}

// additional names members that are not allowed, and those that are.
func (x *explainer) additional(all []problem, e *jsonschema.ValidationError, k *kind.AdditionalProperties) []problem {
	var properties map[string]*jsonschema.Schema
	if s := x.schemas[e.SchemaURL]; s != nil {
		properties = s.Properties
	}
	for _, name := range k.Properties {
		at := place(e.InstanceLocation) + "/" + escape(name)
		all = append(all,
			problem{at: at, text: "there is no such member" + known(name, properties), schema: e.SchemaURL})
	}
	return all
}

// member returns the place of the one object that has a member of the name, or "" when several have: the library
// (v6.0.3) lets later places overwrite the one in such an error.
func (x *explainer) member(name string) string {
	var found []string
	var search func(value any, at string)
	search = func(value any, at string) {
		switch v := value.(type) {
		case map[string]any:
			if _, ok := v[name]; ok {
				found = append(found, at)
			}
			for n, inner := range v {
				search(inner, at+"/"+escape(n))
			}
		case []any:
			for i, inner := range v {
				search(inner, at+pointer(i))
			}
		}
	}
	if search(x.value, ""); len(found) == 1 {
		return found[0]
	}
	return ""
}

// choice explains a value that fits none of several schemas by the one it comes closest to: rather one that is for
// values of its type, then the one with the fewest problems.
func (x *explainer) choice(at string, causes []*jsonschema.ValidationError) string {
	var closest []problem
	for _, c := range causes {
		if p := x.problems(c); closest == nil || rank(p, at) < rank(closest, at) {
			closest = p
		}
	}
	return "fits none of " + plural(len(causes), "forms") + "; for the closest: " + joined(closest)
}

func rank(problems []problem, at string) int {
	n := len(problems)
	if slices.ContainsFunc(problems, func(p problem) bool { return p.mistyped && p.at == at }) {
		n += 1 << 20
	}
	return n
}

// texts are the causes without places, for a value that has none.
func (x *explainer) texts(causes []*jsonschema.ValidationError) string {
	var all []string
	for _, c := range causes {
		for _, p := range x.problems(c) {
			all = append(all, p.text)
		}
	}
	return strings.Join(all[:min(len(all), maxProblems)], ", ")
}

func joined(problems []problem) string {
	all := make([]string, 0, maxProblems)
	for _, p := range problems[:min(len(problems), maxProblems)] {
		all = append(all, p.String())
	}
	return strings.Join(all, "; ")
}

// known says which members there are, or the nearest when they are many.
func known(name string, properties map[string]*jsonschema.Schema) string {
	if len(properties) > 20 {
		if near := nearest(name, maps.Keys(properties)); near != "" {
			return "; the nearest is " + oneline.Of(near, 100)
		}
		return ""
	}
	if len(properties) == 0 {
		return ""
	}
	return "; there are " + strings.Join(slices.Sorted(maps.Keys(properties)), ", ")
}

// place is a JSON pointer.
func place(segments []string) string {
	var b strings.Builder
	for _, s := range segments {
		b.WriteString("/" + escape(s))
	}
	return b.String()
}
