package mcptoolset

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// ParsePolicy reads a policy from decoded YAML or JSON (nil, bool, string, []any, map[string]any):
//
//	nil                                             the zero Policy
//	"always", "never", true, false                  about all tools
//	{TOOL: "always"|"never"|true|false, …}          about tools by name
//	{"always": FILTER, "never": FILTER}             about tools that a filter chooses; either may be missing
//
// A FILTER is {"tool_names": [TOOL, …], "read_only": true|false}, of which one may be missing; toolNames and readOnly
// are other spellings. With both, "never" is about the tools that both choose, and "always" about those that one of
// them does. An object whose "always" or "never" is not an object is one about tools by name.
//
// The error names the key that is wrong and says what may be there.
func ParsePolicy(v any) (Policy, error) {
	p, err := parsePolicy(v)
	if err != nil {
		return Policy{}, fmt.Errorf("require_approval: %w", err)
	}
	return p, nil
}

func parsePolicy(v any) (Policy, error) {
	m, ok := v.(map[string]any)
	if !ok {
		if v == nil {
			return Policy{}, nil
		}
		all, ok := parseAnswer(v)
		if !ok {
			return Policy{}, fmt.Errorf(`%s; write "always", "never", true, false, {TOOL: "always"|"never"} or `+
				`{always: {tool_names: […]}, never: {tool_names: […]}}`, kindOf(v))
		}
		return Policy{all: all}, nil
	}
	if len(m) == 0 {
		return Policy{}, errors.New("is empty; leave it out, or name the tools")
	}
	for _, key := range []string{"always", "never"} {
		if _, ok := m[key].(map[string]any); ok {
			return parseFilters(m)
		}
	}
	return parseTools(m)
}

func parseAnswer(v any) (answer, bool) {
	switch v {
	case "always", true:
		return ask, true
	case "never", false:
		return allow, true
	}
	return unsaid, false
}

func parseTools(m map[string]any) (Policy, error) {
	p := Policy{tools: make(map[string]answer, len(m))}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		said, ok := parseAnswer(m[name])
		switch {
		case name == "":
			return Policy{}, errors.New("a tool's name is empty")
		case !ok:
			return Policy{}, fmt.Errorf(`%q %s; a tool has "always", "never", true or false`, name, kindOf(m[name]))
		}
		p.tools[name] = said
	}
	return p, nil
}

func parseFilters(m map[string]any) (Policy, error) {
	var p Policy
	for _, key := range slices.Sorted(maps.Keys(m)) {
		to := &p.always
		switch key {
		case "always":
		case "never":
			to = &p.never
		default:
			return Policy{}, fmt.Errorf(
				"%q cannot stand beside always and never; tools go into always.tool_names or never.tool_names", key)
		}
		inner, ok := m[key].(map[string]any)
		if !ok {
			return Policy{}, fmt.Errorf(
				"%s %s; beside a filter it has to be one too: {tool_names: […]}", key, kindOf(m[key]))
		}
		if err := parseFilter(inner, to); err != nil {
			return Policy{}, fmt.Errorf("%s.%w", key, err)
		}
	}
	for _, name := range p.always.names {
		if slices.Contains(p.never.names, name) {
			return Policy{}, fmt.Errorf("the tool %q is in always.tool_names and in never.tool_names", name)
		}
	}
	if a, n := p.always.readOnly, p.never.readOnly; a != nil && n != nil && *a == *n {
		return Policy{}, fmt.Errorf("always.read_only and never.read_only are both %t", *a)
	}
	return p, nil
}

func parseFilter(m map[string]any, to *filter) error {
	seen := make(map[string]string)
	for _, key := range slices.Sorted(maps.Keys(m)) {
		plain := map[string]string{"toolNames": "tool_names", "readOnly": "read_only"}[key]
		if plain == "" {
			plain = key
		}
		if other, ok := seen[plain]; ok {
			return fmt.Errorf("%s: %s is there too, and means the same", plain, other)
		}
		seen[plain] = key
		switch plain {
		case "tool_names":
			names, err := parseNames(m[key])
			if err != nil {
				return fmt.Errorf("%s %w", key, err)
			}
			to.names = names
		case "read_only":
			b, ok := m[key].(bool)
			if !ok {
				return fmt.Errorf("%s %s; write true or false", key, kindOf(m[key]))
			}
			to.readOnly = &b
		default:
			return fmt.Errorf("%s is not known; there are tool_names and read_only", key)
		}
	}
	if len(m) == 0 {
		return errors.New("tool_names or read_only is needed")
	}
	return nil
}

func parseNames(v any) ([]string, error) {
	list, ok := v.([]any)
	if !ok {
		return nil, fmt.Errorf("%s; write a list of names", kindOf(v))
	}
	var names []string
	for i, e := range list {
		name, ok := e.(string)
		switch {
		case !ok:
			return nil, fmt.Errorf("has an entry (number %d) that %s; write names", i+1, kindOf(e))
		case strings.TrimSpace(name) == "":
			return nil, fmt.Errorf("has an empty name (number %d)", i+1)
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		return nil, errors.New("is an empty list; leave it out, or name tools")
	}
	return names, nil
}

// kindOf says what a value is, without repeating more than a short text.
func kindOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "is empty"
	case string:
		if len(v) > 40 {
			return "is another text"
		}
		return fmt.Sprintf("is %q", v)
	case bool:
		return fmt.Sprintf("is %t", v)
	case []any:
		return "is a list"
	case map[string]any:
		return "is an object"
	}
	return "is a number"
}
