package shape

import (
	"strconv"
	"strings"

	"countersign/agent/internal/strictjson"
)

// Schema returns the shape as a JSON Schema, in the form that providers' strict modes demand wherever that is possible:
// every property required, none beyond them. The text depends on the type alone, so digests are stable.
func (s *Shape) Schema() []byte { return s.appendSchema(nil) }

// text returns a text that can be written.
func text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func (s *Shape) appendSchema(b []byte) []byte {
	b = append(b, '{')
	if s.kind != shapeAny {
		b = s.appendType(b)
	}
	if s.doc != "" {
		b = strictjson.AppendQuoted(append(comma(b), `"description":`...), text(s.doc))
	}
	if s.format != "" {
		b = strictjson.AppendQuoted(append(comma(b), `"format":`...), s.format)
	}
	switch s.kind {
	case shapeString:
		b = s.appendEnum(b)
	case shapeArray:
		b = s.element.appendSchema(append(b, `,"items":`...))
		if s.length >= 0 {
			n := strconv.Itoa(s.length)
			b = append(b, `,"minItems":`+n+`,"maxItems":`+n...)
		}
	case shapeMap:
		b = s.element.appendSchema(append(b, `,"additionalProperties":`...))
	case shapeObject:
		b = s.appendProperties(b)
	}
	return append(b, '}')
}

func (s *Shape) appendType(b []byte) []byte {
	name := string(s.kind)
	if s.kind == shapeMap {
		name = string(shapeObject)
	}
	if s.nullable {
		return append(b, `"type":["`+name+`","null"]`...)
	}
	return append(b, `"type":"`+name+`"`...)
}

func (s *Shape) appendEnum(b []byte) []byte {
	if len(s.enum) == 0 {
		return b
	}
	b = append(b, `,"enum":[`...)
	for _, value := range s.enum {
		b = strictjson.AppendQuoted(commaIn(b, '['), value)
	}
	if s.nullable {
		b = append(b, `,null`...)
	}
	return append(b, ']')
}

func (s *Shape) appendProperties(b []byte) []byte {
	b = append(b, `,"properties":{`...)
	for _, p := range s.fields {
		b = append(strictjson.AppendQuoted(comma(b), p.name), ':')
		b = p.appendSchema(b)
	}
	b = append(b, `},"required":[`...)
	for _, p := range s.fields {
		b = strictjson.AppendQuoted(commaIn(b, '['), p.name)
	}
	return append(b, `],"additionalProperties":false`...)
}

func comma(b []byte) []byte { return commaIn(b, '{') }

// commaIn separates what comes next from what is there, unless the bracket was just opened.
func commaIn(b []byte, open byte) []byte {
	if b[len(b)-1] == open {
		return b
	}
	return append(b, ',')
}
