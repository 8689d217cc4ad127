package bot

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// omit names the members of a JSON object that nobody here reads: nil leaves the whole member out, anything else what
// it names of the object in it.
type omit map[string]omit

// without returns the JSON object raw with null for the values that o names, so that what decodes it need not pass over
// them twice: the blocks of a message are most of what Slack sends with a click, and of what it answers. What is left
// out is not checked to be JSON. A raw that makes no sense comes back as it is, for the decoder to refuse.
func without(raw []byte, o omit) []byte {
	p := pruner{raw: raw}
	p.space()
	if p.object(o); p.lost || p.kept == 0 {
		return raw
	}
	return append(p.out, raw[p.kept:]...)
}

// pruner copies JSON, but for what is left out.
type pruner struct {
	raw  []byte
	at   int // what is looked at
	kept int // raw is in out, or left out, up to here
	out  []byte
	lost bool // raw is not what it should be
}

// is reports whether c comes next.
func (p *pruner) is(c byte) bool { return p.at < len(p.raw) && p.raw[p.at] == c }

// pass steps over c.
func (p *pruner) pass(c byte) {
	p.lost = p.lost || !p.is(c)
	p.at++
}

func (p *pruner) space() {
	for p.is(' ') || p.is('\t') || p.is('\n') || p.is('\r') {
		p.at++
	}
}

// object steps over an object and leaves out of it what o names.
func (p *pruner) object(o omit) {
	p.pass('{')
	for p.space(); !p.lost && !p.is('}'); p.space() {
		p.member(o)
		if p.space(); !p.is('}') {
			p.pass(',')
		}
	}
	p.pass('}')
}

func (p *pruner) member(o omit) {
	name := p.text()
	p.space()
	p.pass(':')
	p.space()
	inner, named := o[string(name)]
	begin := p.at
	switch {
	case named && inner != nil && p.is('{'):
		p.object(inner)
	case named && inner == nil:
		p.value()
		p.leaveOut(begin)
	default:
		p.value()
	}
}

// leaveOut puts null in the place of what has been stepped over since begin.
func (p *pruner) leaveOut(begin int) {
	if p.lost {
		return
	}
	p.out = append(append(p.out, p.raw[p.kept:begin]...), "null"...)
	p.kept = p.at
}

// value steps over a value of any kind.
func (p *pruner) value() {
	switch {
	case p.is('"'):
		p.text()
	case p.is('{') || p.is('['):
		p.nested()
	default:
		n := bytes.IndexAny(p.raw[min(p.at, len(p.raw)):], ",]} \t\r\n")
		p.lost = p.lost || n <= 0
		p.at += n
	}
}

// nested steps over an object or a list.
func (p *pruner) nested() {
	for depth := 0; !p.lost && p.at < len(p.raw); {
		switch p.raw[p.at] {
		case '"':
			p.text()
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		if p.at++; depth == 0 {
			return
		}
	}
	p.lost = true
}

// text steps over a string and returns what is between its quotes.
func (p *pruner) text() []byte {
	p.pass('"')
	begin := p.at
	for !p.lost && p.at < len(p.raw) {
		n := bytes.IndexByte(p.raw[p.at:], '"')
		if n < 0 {
			break
		}
		p.at += n + 1
		inside := p.raw[begin : p.at-1]
		if (len(inside)-len(bytes.TrimRight(inside, `\`)))%2 == 0 {
			return inside
		}
	}
	p.lost = true
	return nil
}

// name steps over a string and returns what it says.
func (p *pruner) name() (name string, ok bool) {
	begin := p.at
	inside := p.text()
	if p.lost {
		return "", false
	}
	if utf8.Valid(inside) && bytes.IndexByte(inside, '\\') < 0 {
		return string(inside), true
	}
	return name, json.Unmarshal(p.raw[begin:p.at], &name) == nil
}
