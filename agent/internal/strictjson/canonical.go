package strictjson

import (
	"slices"
	"strconv"
	"unicode/utf8"
)

// Limits of what Canonical reads.
const (
	MaxDepth = 64
	MaxBytes = 1 << 20
)

// Canonical checks data and returns its canonical form. It refuses everything that two readers could understand
// differently: duplicate keys, keys that differ only in case (encoding/json would merge them), text that is not valid
// UTF-8, halves of surrogate pairs, numbers that a float64 cannot hold exactly as written, nesting over MaxDepth, more
// than MaxBytes, and anything after the value. Errors are an *Error.
func Canonical(data []byte) ([]byte, error) {
	if len(data) > MaxBytes {
		return nil, &Error{Offset: -1, Reason: "more than " + strconv.Itoa(MaxBytes) + " bytes"}
	}
	return canonical(data, MaxDepth)
}

// CanonicalLarge is Canonical without the limit on size, and with four times the depth, for text that was written here.
func CanonicalLarge(data []byte) ([]byte, error) { return canonical(data, 4*MaxDepth) }

func canonical(data []byte, depth int) ([]byte, error) {
	if i := invalidUTF8(data); i >= 0 {
		return nil, &Error{Offset: i, Reason: "text is not valid UTF-8"}
	}
	w := writer{Reader: NewReader(data, depth), out: make([]byte, 0, len(data))}
	if err := w.value(); err != nil {
		return nil, err
	}
	if err := w.End(); err != nil {
		return nil, err
	}
	return w.out, nil
}

func invalidUTF8(data []byte) int {
	if utf8.Valid(data) {
		return -1
	}
	for i := 0; ; {
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && n <= 1 {
			return i
		}
		i += n
	}
}

// writer appends the canonical form of what it reads to out.
type writer struct {
	*Reader
	out     []byte
	members []member // members of all objects that are open, innermost last
	scratch []byte
}

// member is one member of an object: its key and where it stands in out.
type member struct {
	key        []byte
	start, end int
}

func (w *writer) value() *Error {
	switch w.Peek() {
	case '{':
		return w.object()
	case '[':
		return w.array()
	case '"':
		return w.string()
	case 't', 'f', 'n':
		tok, err := w.Literal()
		w.out = append(w.out, tok...)
		return err
	default:
		return w.number()
	}
}

func (w *writer) array() *Error {
	if err := w.Enter('['); err != nil {
		return err
	}
	w.out = append(w.out, '[')
	for n := 0; ; n++ {
		more, err := w.More(']', n == 0)
		if err != nil {
			return err
		}
		if !more {
			w.out = append(w.out, ']')
			return nil
		}
		if n > 0 {
			w.out = append(w.out, ',')
		}
		if err := w.value(); err != nil {
			return err.Under(strconv.Itoa(n))
		}
	}
}

func (w *writer) object() *Error {
	if err := w.Enter('{'); err != nil {
		return err
	}
	w.out = append(w.out, '{')
	base := len(w.members)
	for first := true; ; first = false {
		more, err := w.More('}', first)
		if err != nil {
			return err
		}
		if !more {
			break
		}
		if !first {
			w.out = append(w.out, ',')
		}
		if err := w.member(); err != nil {
			return err
		}
	}
	own := w.members[base:]
	if err := distinct(own); err != nil {
		return err
	}
	w.sort(own)
	w.members = w.members[:base]
	w.out = append(w.out, '}')
	return nil
}

func (w *writer) member() *Error {
	m := member{start: len(w.out)}
	key, err := w.Key()
	if err != nil {
		return err
	}
	if !utf8.Valid(key) {
		return w.Fail("half of a surrogate pair in a key")
	}
	m.key = key
	w.out = append(AppendQuoted(w.out, key), ':')
	if err := w.value(); err != nil {
		return err.Under(string(key))
	}
	m.end = len(w.out)
	w.members = append(w.members, m)
	return nil
}

// sort puts the members, which stand in out one after the other, in the order of their keys.
func (w *writer) sort(own []member) {
	byKey := func(a, b member) int { return compareUTF16(a.key, b.key) }
	if slices.IsSortedFunc(own, byKey) {
		return
	}
	start := own[0].start
	slices.SortFunc(own, byKey)
	w.scratch = w.scratch[:0]
	for i, m := range own {
		if i > 0 {
			w.scratch = append(w.scratch, ',')
		}
		w.scratch = append(w.scratch, w.out[m.start:m.end]...)
	}
	copy(w.out[start:], w.scratch)
}

func (w *writer) string() *Error {
	tok, escaped, err := w.String()
	if err != nil {
		return err
	}
	if !escaped {
		w.out = append(w.out, tok...)
		return nil
	}
	text, ok := AppendUnquoted(w.scratch[:0], tok)
	w.scratch = text
	if !ok {
		return w.Fail("half of a surrogate pair in a string")
	}
	w.out = AppendQuoted(w.out, text)
	return nil
}

func (w *writer) number() *Error {
	tok, err := w.Number()
	if err != nil {
		return err
	}
	out, reason := appendNumber(w.out, tok)
	if reason != "" {
		return w.Fail(reason)
	}
	w.out = out
	return nil
}
