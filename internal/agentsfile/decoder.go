package agentsfile

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// decoder collects the problems of one file.
type decoder struct {
	file     string
	lookup   func(string) (string, bool)
	problems Problems
	groups   []Text // user groups, as they are named
	unset    map[Position]bool
}

// problem notes what is wrong at a position. Of a text whose variables are not set nothing else is known.
func (d *decoder) problem(at Position, format string, args ...any) {
	if d.unset[at] {
		return
	}
	d.problems = append(d.problems, &Problem{Position: at, Message: fmt.Sprintf(format, args...)})
}

// missing notes a variable that is not set.
func (d *decoder) missing(at Position, name string) {
	delete(d.unset, at) // each of several is named
	d.problem(at, "environment variable %s is not set, or empty; set it before the start", name)
	if d.unset == nil {
		d.unset = make(map[Position]bool)
	}
	d.unset[at] = true
}

// object is a mapping of which the keys are known.
type object struct {
	*decoder
	pos    Position
	values map[string]*node
}

// object checks n's keys against the known ones. A nil n, or one of another type, is an object without values.
func (d *decoder) object(n *node, what string, known keys) *object {
	o := &object{decoder: d, values: make(map[string]*node)}
	if n == nil {
		return o
	}
	o.pos = n.pos
	if n.kind != kindMapping {
		d.wrongType(n, what, kindMapping)
		return o
	}
	for _, e := range n.entries {
		switch {
		case slices.Contains(known.now, e.key) && e.value.kind == kindNull:
			d.problem(e.pos, "%s has no value; write one, or leave the key out", e.key)
		case slices.Contains(known.now, e.key):
			o.values[e.key] = e.value
		case known.never[e.key] != "":
			d.problem(e.pos, "%s cannot have %s: %s; leave it out", what, e.key, known.never[e.key])
		case slices.Contains(known.later, e.key):
			d.problem(e.pos, "%s is not supported by this version; leave it out", e.key)
		default:
			d.unknown(e.pos, what, e.key, known.now)
		}
	}
	return o
}

func (d *decoder) unknown(at Position, what, key string, known []string) {
	if near := Nearest(key, known); near != "" {
		d.problem(at, "unknown key %q in %s; did you mean %q?", key, what, near)
		return
	}
	d.problem(at, "unknown key %q in %s; known are %s", key, what, strings.Join(known, ", "))
}

func (d *decoder) wrongType(n *node, what string, want kind) {
	hint := ""
	if want == kindString && (n.kind == kindInteger || n.kind == kindNumber || n.kind == kindBoolean) {
		hint = "; put it in quotes"
	}
	d.problem(n.pos, "%s is %s, not %s%s", what, want, n.kind, hint)
}

// of returns the value of the key when it is of the kind; nil when absent or, after noting it, of another kind.
func (o *object) of(key string, want kind) *node {
	n := o.values[key]
	if n == nil || n.kind == want {
		return n
	}
	o.wrongType(n, key, want)
	return nil
}

// text returns the value with variables expanded.
func (o *object) text(key string) Text {
	n := o.of(key, kindString)
	if n == nil {
		return Text{}
	}
	return o.expand(n)
}

// literal returns a value that people decide on or that names things: variables are not allowed in it.
func (o *object) literal(key string) string {
	n := o.of(key, kindString)
	if n == nil {
		return ""
	}
	o.noVariables(n, key)
	return n.text
}

func (d *decoder) noVariables(n *node, what string) {
	if strings.Contains(n.text, "${") {
		d.problem(n.pos, "${…} is not expanded in %s: what people are shown and decide on is written in the file", what)
	}
}

// choice returns one of the words in now, or "" when absent or wrong.
func (o *object) choice(key string, words keys) string {
	n := o.of(key, kindString)
	switch {
	case n == nil:
		return ""
	case slices.Contains(words.now, n.text):
		return n.text
	case slices.Contains(words.later, n.text):
		o.problem(n.pos,
			"%s: %s is not supported by this version; supported: %s", key, n.text, strings.Join(words.now, ", "))
	default:
		o.problem(n.pos, "%s is one of %s, not %q", key, strings.Join(words.now, ", "), n.text)
	}
	return ""
}

// integer returns the value, or the default when absent or out of range.
func (o *object) integer(key string, least, most, otherwise int) int {
	n := o.of(key, kindInteger)
	if n == nil {
		return otherwise
	}
	i, err := strconv.ParseInt(n.text, 10, 64)
	if err != nil || i < int64(least) || i > int64(most) {
		o.problem(n.pos, "%s is between %d and %d", key, least, most)
		return otherwise
	}
	return int(i)
}

// number returns the value, or nil when absent or out of range.
func (o *object) number(key string, least, most float64) *float64 {
	n := o.values[key]
	if n == nil {
		return nil
	}
	if n.kind != kindNumber && n.kind != kindInteger {
		o.wrongType(n, key, kindNumber)
		return nil
	}
	f, err := strconv.ParseFloat(n.text, 64)
	if err != nil || f < least || f > most {
		o.problem(n.pos, "%s is between %v and %v", key, least, most)
		return nil
	}
	return &f
}

// boolean returns the value, or nil when absent or wrong.
func (o *object) boolean(key string) *bool {
	n := o.of(key, kindBoolean)
	if n == nil {
		return nil
	}
	b := n.text == "true"
	return &b
}

// duration returns the value, or the default when absent or wrong.
func (o *object) duration(key string, otherwise time.Duration) time.Duration {
	n := o.values[key]
	if n == nil {
		return otherwise
	}
	if n.kind == kindInteger || n.kind == kindNumber {
		o.problem(n.pos, "%s is a duration with its unit, such as 30s, 15m, 1h or 7d", key)
		return otherwise
	}
	if n = o.of(key, kindString); n == nil {
		return otherwise
	}
	v, err := parseDuration(n.text)
	if err != nil {
		o.problem(n.pos, "%s: %v; write it as 30s, 15m, 1h or 7d", key, err)
		return otherwise
	}
	return v
}

// list returns the items of the key's list.
func (o *object) list(key string) []*node {
	n := o.of(key, kindSequence)
	if n == nil {
		return nil
	}
	return n.items
}

// require notes the keys without a value.
func (o *object) require(what string, names ...string) {
	for _, name := range names {
		if n := o.values[name]; n == nil || n.kind == kindString && strings.TrimSpace(n.text) == "" {
			o.problem(o.pos, "%s needs %q", what, name)
		}
	}
}
