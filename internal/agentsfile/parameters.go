package agentsfile

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"

	"countersign/agent/rawtool"
)

// parameters returns the JSON Schema in the mapping with its keys in the order of the file: it is sent to the model as
// it is, and part of what people's decisions are bound to.
func (d *decoder) parameters(n *node) json.RawMessage {
	var b bytes.Buffer
	before := len(d.problems)
	d.writeJSON(&b, n, "parameters")
	if len(d.problems) > before {
		return nil
	}
	if _, err := rawtool.Validator(b.Bytes()); err != nil {
		d.problem(n.pos, "parameters are no usable JSON Schema: %v", err)
		return nil
	}
	var s struct {
		Type       any
		Required   []string
		Properties map[string]any
	}
	if json.Unmarshal(b.Bytes(), &s) != nil || s.Type != "object" {
		d.problem(n.pos, "parameters are the schema of an object; write `type: object`")
		return nil
	}
	for _, name := range s.Required {
		if s.Properties[name] == nil {
			d.problem(n.pos, "parameters require %q, which is not among their properties", name)
		}
	}
	return b.Bytes()
}

// writeJSON writes a value of the file as JSON; what says what it is. Nothing is expanded: a schema is shown and
// digested as it is.
func (d *decoder) writeJSON(b *bytes.Buffer, n *node, what string) {
	switch n.kind {
	case kindMapping:
		b.WriteByte('{')
		for i, e := range n.entries {
			if i > 0 {
				b.WriteByte(',')
			}
			writeString(b, e.key)
			b.WriteByte(':')
			d.writeJSON(b, e.value, what)
		}
		b.WriteByte('}')
	case kindSequence:
		b.WriteByte('[')
		for i, item := range n.items {
			if i > 0 {
				b.WriteByte(',')
			}
			d.writeJSON(b, item, what)
		}
		b.WriteByte(']')
	case kindString:
		d.noVariables(n, what)
		writeString(b, n.text)
	case kindNull:
		b.WriteString("null")
	case kindNumber:
		d.writeNumber(b, n)
	default:
		b.WriteString(n.text)
	}
}

func (d *decoder) writeNumber(b *bytes.Buffer, n *node) {
	f, err := strconv.ParseFloat(n.text, 64)
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		d.problem(n.pos, "%s is no number that JSON can hold", n.text)
		return
	}
	text, err := json.Marshal(f)
	if err != nil {
		d.problem(n.pos, "%s is no number that JSON can hold", n.text)
		return
	}
	b.Write(text)
}

func writeString(b *bytes.Buffer, s string) {
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s)         // a string always encodes
	b.Truncate(b.Len() - 1) // Encode ends with a newline
}
