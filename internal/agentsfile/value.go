package agentsfile

import (
	"bytes"
	"encoding/json"
	"time"
)

// Value is a value of a YAML document that is read as strictly as the agents file: one document, no anchors, tags or
// keys that are there twice. Other files of this program are read through it.
type Value struct{ n *node }

// Kind says what a Value is. It reads as a noun: "a mapping".
type Kind = kind

// The kinds of values.
const (
	Mapping  = kindMapping
	Sequence = kindSequence
	String   = kindString
	Integer  = kindInteger
	Number   = kindNumber
	Boolean  = kindBoolean
	Null     = kindNull
)

// Entry is a key of a mapping with its value. The position is the key's.
type Entry struct {
	Position
	Key   string
	Value Value
}

// ParseYAML reads the bytes of a file; path is what problems call it. The error is a Problems.
func ParseYAML(path string, data []byte) (Value, error) {
	d := &decoder{file: path}
	n := d.parse(data)
	if len(d.problems) > 0 {
		return Value{}, d.problems.sorted()
	}
	return Value{n}, nil
}

// Kind says what the value is.
func (v Value) Kind() Kind { return v.n.kind }

// Position is where the value begins.
func (v Value) Position() Position { return v.n.pos }

// Text is a scalar as it is written, without quotes. ${NAME} stays as it is.
func (v Value) Text() string { return v.n.text }

// Items are those of a list.
func (v Value) Items() []Value {
	items := make([]Value, len(v.n.items))
	for i, n := range v.n.items {
		items[i] = Value{n}
	}
	return items
}

// Entries are those of a mapping, in the order of the file.
func (v Value) Entries() []Entry {
	entries := make([]Entry, len(v.n.entries))
	for i, e := range v.n.entries {
		entries[i] = Entry{e.pos, e.key, Value{e.value}}
	}
	return entries
}

// JSON is the value as JSON, its keys in the order of the file. The error is a Problems.
func (v Value) JSON() (json.RawMessage, error) {
	d := &decoder{file: v.n.pos.File}
	var b bytes.Buffer
	if d.writeJSON(&b, v.n, "a value that becomes JSON"); len(d.problems) > 0 {
		return nil, d.problems
	}
	return b.Bytes(), nil
}

// ParseDuration reads a duration as the agents file has them: 30s, 90m, 1h30m, 7d or 1d12h.
func ParseDuration(s string) (time.Duration, error) { return parseDuration(s) }

// Sorted brings problems into the order of the file.
func (ps Problems) Sorted() Problems { return ps.sorted() }
