package agentsfile

import (
	"fmt"
	"strings"
)

// Text is a value in which ${NAME} stands for an environment variable, and $${ for the characters ${.
type Text struct {
	// Written is the text as it stands in the file: what digests, errors and tables show.
	Written string
	// Value is the text with the variables replaced. It may hold secrets.
	Value string
	Position
}

// String returns the written form, so that printing a Text never shows a secret.
func (t Text) String() string { return t.Written }

// GoString returns the written form as well.
func (t Text) GoString() string { return fmt.Sprintf("%q", t.Written) }

// Format writes the written form whatever the verb.
func (t Text) Format(f fmt.State, _ rune) { fmt.Fprint(f, t.Written) }

// Secret reports whether the value came in part from the environment.
func (t Text) Secret() bool { return t.Written != t.Value }

// expand replaces the variables of a written text.
func (d *decoder) expand(n *node) Text {
	t := Text{Written: n.text, Position: n.pos}
	var b strings.Builder
	rest := n.text
	for {
		before, after, found := strings.Cut(rest, "${")
		if !found {
			b.WriteString(rest)
			break
		}
		if literal, escaped := strings.CutSuffix(before, "$"); escaped {
			b.WriteString(literal + "${")
			rest = after
			continue
		}
		b.WriteString(before)
		name, tail, closed := strings.Cut(after, "}")
		if !closed || !isVariable(name) {
			d.problem(n.pos,
				"${ starts the name of an environment variable and } ends it; write $${ for the characters themselves")
			break
		}
		if value, ok := d.lookup(name); ok && value != "" {
			b.WriteString(value)
		} else {
			d.missing(n.pos, name)
		}
		rest = tail
	}
	t.Value = b.String()
	return t
}

func isVariable(name string) bool {
	for i, r := range name {
		if r != '_' && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return name != ""
}
