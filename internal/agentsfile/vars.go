package agentsfile

import (
	"slices"
	"strconv"
)

// Var is a value that every expression of the file can read as vars.NAME.
type Var struct {
	Position
	Name string
	// Value is a Text, an int64, a float64 or a bool.
	Value any
}

// unreadable are words that an expression cannot have after a dot.
var unreadable = []string{"in", "true", "false", "null"}

func (d *decoder) decodeVars(n *node) []Var {
	if n == nil {
		return nil
	}
	var vars []Var
	for _, e := range n.entries {
		switch {
		case !isVariable(e.key):
			d.problem(e.pos, "%q is no name in vars: use letters, digits and underscores, and no digit first", e.key)
		case slices.Contains(unreadable, e.key):
			d.problem(e.pos, "no expression could read vars.%s; choose another name", e.key)
		}
		if value := d.decodeVar(e); value != nil {
			vars = append(vars, Var{e.pos, e.key, value})
		}
	}
	return vars
}

// decodeVar returns the value, or nil after noting what is wrong with it.
func (d *decoder) decodeVar(e entry) any {
	n := e.value
	switch n.kind {
	case kindString:
		return d.expand(n)
	case kindBoolean:
		return n.text == "true"
	case kindInteger:
		if i, err := strconv.ParseInt(n.text, 10, 64); err == nil {
			return i
		}
		d.problem(n.pos, "vars.%s is too large for a whole number", e.key)
	case kindNumber:
		if f, err := strconv.ParseFloat(n.text, 64); err == nil {
			return f
		}
		d.problem(n.pos, "vars.%s is a number that cannot be read", e.key)
	default:
		d.problem(n.pos, "vars.%s is text, a number, or true or false, not %s", e.key, n.kind)
	}
	return nil
}
