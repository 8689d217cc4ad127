package bot

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// walker steps through JSON in one pass and looks at nothing but what it is asked for. What it steps over is not
// checked to be JSON.
type walker struct {
	raw  []byte
	at   int  // what is looked at
	lost bool // raw is not what it should be
}

// is reports whether c comes next.
func (w *walker) is(c byte) bool { return w.at < len(w.raw) && w.raw[w.at] == c }

// pass steps over c.
func (w *walker) pass(c byte) {
	w.lost = w.lost || !w.is(c)
	w.at++
}

func (w *walker) space() {
	for w.at < len(w.raw) && w.raw[w.at] <= ' ' && (w.is(' ') || w.is('\t') || w.is('\n') || w.is('\r')) {
		w.at++
	}
}

// word steps over a word, such as null, and reports whether it came next.
func (w *walker) word(word string) bool {
	if w.at >= len(w.raw) || !bytes.HasPrefix(w.raw[w.at:], []byte(word)) {
		return false
	}
	w.at += len(word)
	return true
}

// members yields the names of the members of an object, which are good until the next one; null has none. Whoever gets
// a name reads the value, or leaves it.
func (w *walker) members(yield func(name []byte) bool) {
	if w.word("null") {
		return
	}
	w.pass('{')
	for w.space(); !w.lost && !w.is('}'); w.space() {
		name := w.label()
		w.space()
		w.pass(':')
		w.space()
		if begin := w.at; !w.lost && !yield(name) {
			return
		} else if w.at == begin {
			w.value()
		}
		w.comma('}')
	}
	w.pass('}')
}

// elements yields the numbers of the elements of a list; null has none. Whoever gets one reads it, or leaves it.
func (w *walker) elements(yield func(n int) bool) {
	if w.word("null") {
		return
	}
	w.pass('[')
	w.space()
	for n := 0; !w.lost && !w.is(']'); n++ {
		if begin := w.at; !yield(n) {
			return
		} else if w.at == begin {
			w.value()
		}
		w.comma(']')
		w.space()
	}
	w.pass(']')
}

// comma steps over the comma in front of another member or element; there is none in front of the end.
func (w *walker) comma(end byte) {
	if w.space(); w.is(end) {
		return
	}
	w.pass(',')
	if w.space(); w.is(end) {
		w.lost = true
	}
}

// whole reports whether nothing but space follows, and everything so far was what it should be.
func (w *walker) whole() bool {
	w.space()
	return !w.lost && w.at == len(w.raw)
}

// string reads a string; null leaves it as it was.
func (w *walker) string(into *string) {
	if w.word("null") {
		return
	}
	s, ok := w.name()
	if w.lost = w.lost || !ok; ok {
		*into = s
	}
}

// bool reads true or false; null leaves it as it was.
func (w *walker) bool(into *bool) {
	switch {
	case w.word("true"):
		*into = true
	case w.word("false"):
		*into = false
	default:
		w.lost = w.lost || !w.word("null")
	}
}

// rest has encoding/json read a value.
func (w *walker) rest(into any) {
	begin := w.at
	w.value()
	w.lost = w.lost || json.Unmarshal(w.raw[begin:w.at], into) != nil
}

// value steps over a value of any kind.
func (w *walker) value() {
	switch {
	case w.is('"'):
		w.text()
	case w.is('{') || w.is('['):
		w.nested()
	default:
		n := bytes.IndexAny(w.raw[min(w.at, len(w.raw)):], ",]} \t\r\n")
		w.lost = w.lost || n <= 0 || !scalar(w.raw[w.at:w.at+n])
		w.at += max(n, 0)
	}
}

// scalar reports whether text may be a number, true, false or null.
func scalar(text []byte) bool {
	switch string(text) {
	case "true", "false", "null":
		return true
	}
	return !bytes.ContainsFunc(text, func(r rune) bool { return !strings.ContainsRune("0123456789+-.eE", r) })
}

// deepest is how many objects and lists may be open within each other in what is stepped over.
const deepest = 64

// nested steps over an object or a list.
func (w *walker) nested() {
	var open [deepest]byte // what is to close them
	for depth := 0; !w.lost && w.at < len(w.raw); {
		switch c := w.raw[w.at]; c {
		case '"':
			w.text()
			continue
		case '{', '[':
			if depth == deepest {
				w.lost = true
				return
			}
			open[depth] = c + 2 // in ASCII
			depth++
		case '}', ']':
			depth--
			w.lost = open[depth] != c
		}
		if w.at++; depth == 0 {
			return
		}
	}
	w.lost = true
}

// text steps over a string and returns what is between its quotes.
func (w *walker) text() []byte {
	w.pass('"')
	begin := w.at
	for !w.lost && w.at < len(w.raw) {
		n := bytes.IndexByte(w.raw[w.at:], '"')
		if n < 0 {
			break
		}
		w.at += n + 1
		inside := w.raw[begin : w.at-1]
		if !bytes.HasSuffix(inside, []byte(`\`)) || (len(inside)-len(bytes.TrimRight(inside, `\`)))%2 == 0 {
			return inside
		}
	}
	w.lost = true
	return nil
}

// label steps over the name of a member and returns what it says.
func (w *walker) label() []byte {
	begin := w.at
	inside := w.text()
	if w.lost || literal(inside) {
		return inside
	}
	w.at = begin
	name, ok := w.name()
	w.lost = w.lost || !ok
	return []byte(name)
}

// name steps over a string and returns what it says.
func (w *walker) name() (name string, ok bool) {
	begin := w.at
	inside := w.text()
	if w.lost {
		return "", false
	}
	if literal(inside) {
		return string(inside), true
	}
	return name, json.Unmarshal(w.raw[begin:w.at], &name) == nil
}

// literal reports whether a string says just what stands between its quotes.
func literal(inside []byte) bool {
	ascii := true
	for _, c := range inside {
		if c < ' ' || c == '\\' {
			return false
		}
		ascii = ascii && c < utf8.RuneSelf
	}
	return ascii || utf8.Valid(inside)
}
