package approvals

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
)

// Change is a member of a call's arguments that people have changed, added or taken out: Was is what the model wrote,
// Is what would run. Nil: the member is not there.
type Change struct {
	Name    string
	Was, Is json.RawMessage
	Secret  bool // Was and Is are masks; see Request.Mask
}

// Changes returns how the arguments differ from what the model wrote, by name; nothing where nobody has changed them.
// Secret values are masked.
func (r *Request) Changes() (changes []Change) {
	if r.Original == nil {
		return nil
	}
	r = r.Mask()
	var was, is map[string]json.RawMessage
	if json.Unmarshal(r.Original, &was) != nil || json.Unmarshal(r.Arguments, &is) != nil {
		return []Change{{Was: r.Original, Is: r.Arguments, Secret: r.Masked}}
	}
	names := slices.Collect(maps.Keys(was))
	for name := range is {
		if _, both := was[name]; !both {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		if !bytes.Equal(was[name], is[name]) {
			changes = append(changes, Change{name, was[name], is[name], slices.Contains(r.Secret, name)})
		}
	}
	return changes
}

// String writes the change on one line, for instance `amount: 5 → 20`.
func (c Change) String() string { return c.Name + ": " + c.text(c.Was) + " → " + c.text(c.Is) }

func (c Change) text(value json.RawMessage) string {
	switch {
	case value == nil:
		return "(nothing)"
	case c.Secret:
		return bare(value)
	}
	return string(value)
}
