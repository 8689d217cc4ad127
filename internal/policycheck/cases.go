package policycheck

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"countersign/internal/agentsfile"
	"countersign/internal/catalog"
)

// Build makes the catalog of an agents file.
type Build func(*agentsfile.File) (*catalog.Catalog, error)

// Result is what came of a case.
type Result struct {
	Name   string `json:"name"`
	Line   int    `json:"line"`
	Passed bool   `json:"passed"`
	// Differences are what is not as expected.
	Differences []Difference `json:"differences,omitempty"`
	// Note says what is worth knowing about a case that is not as expected: that an expression could not be evaluated.
	Note string `json:"note,omitempty"`
}

// Difference is one thing that is not as expected.
type Difference struct {
	What     string `json:"what"`
	Expected string `json:"expected"`
	Got      string `json:"got"`
}

// RunCases compares what the agents file says about each case with what the case expects, in the order of the cases.
// The error says which case cannot be tried, as agentsfile.Problems, or is that of ctx or build.
func RunCases(ctx context.Context, cases *agentsfile.CaseFile, f *agentsfile.File, build Build) ([]Result, error) {
	t := &trial{file: f, build: build, made: make(map[string]*catalog.Catalog)}
	results := make([]Result, 0, len(cases.Cases))
	for _, c := range cases.Cases {
		made, err := t.catalog(c)
		if err != nil {
			return nil, err
		}
		r, err := runCase(ctx, made, c)
		if err != nil {
			return nil, err
		}
		results = append(results, r)
	}
	return results, nil
}

func runCase(ctx context.Context, made *catalog.Catalog, c *agentsfile.Case) (Result, error) {
	name := c.Agent
	if name == "" {
		name = made.File.DefaultAgent
	}
	v, err := judge(ctx, made, subjectOf(c, name), factsOf(c))
	if err != nil {
		return Result{}, err
	}
	r := Result{Name: c.Name, Line: c.Line, Differences: differences(&c.Expect, &v)}
	if r.Passed = len(r.Differences) == 0; !r.Passed {
		r.Note = v.Why
	}
	return r, nil
}

// trial makes the catalogs that the cases need: one for each set of values of vars.
type trial struct {
	file  *agentsfile.File
	build Build
	made  map[string]*catalog.Catalog
}

func (t *trial) catalog(c *agentsfile.Case) (*catalog.Catalog, error) {
	changed := *t.file
	changed.Vars = slices.Clone(t.file.Vars)
	for _, v := range c.Vars {
		if err := override(changed.Vars, v); err != nil {
			return nil, err
		}
	}
	values := make(map[string]any)
	for _, v := range changed.Vars {
		values[v.Name] = valueOf(v)
	}
	key, err := json.Marshal(values)
	if err != nil {
		return nil, fmt.Errorf("vars of case %q: %w", c.Name, err)
	}
	if made, ok := t.made[string(key)]; ok {
		return made, nil
	}
	made, err := t.build(&changed)
	if err != nil {
		return nil, err
	}
	t.made[string(key)] = made
	return made, nil
}

// override replaces the value of the variable with the name.
func override(vars []agentsfile.Var, v agentsfile.Var) error {
	names := make([]string, len(vars))
	for i, known := range vars {
		names[i] = known.Name
		if known.Name != v.Name {
			continue
		}
		if was, is := typeWord(known), typeWord(v); was != is {
			return problem(v.Position, "vars.%s is %s in the agents file, not %s", v.Name, was, is)
		}
		vars[i].Value = v.Value
		return nil
	}
	hint := "; it has none"
	if near := agentsfile.Nearest(v.Name, names); near != "" {
		hint = fmt.Sprintf("; did you mean %q?", near)
	} else if len(names) > 0 {
		hint = "; it has " + strings.Join(names, ", ")
	}
	return problem(v.Position, "the agents file has no vars.%s%s", v.Name, hint)
}

func problem(at agentsfile.Position, format string, args ...any) error {
	return agentsfile.Problems{{Position: at, Message: fmt.Sprintf(format, args...)}}
}

// valueOf is the value that expressions read.
func valueOf(v agentsfile.Var) any {
	if text, ok := v.Value.(agentsfile.Text); ok {
		return text.Value
	}
	return v.Value
}

// typeWord is the type that expressions are checked with.
func typeWord(v agentsfile.Var) string {
	switch v.Value.(type) {
	case int64:
		return "a whole number"
	case float64:
		return "a number with a fraction"
	case bool:
		return "true or false"
	}
	return "text"
}
