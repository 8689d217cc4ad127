package strictjson

import "strconv"

// Reader walks through one JSON text and checks its grammar, RFC 8259. Duplicate keys, the range of numbers and the
// like are for its callers to judge. The zero value is not usable; call NewReader.
type Reader struct {
	data  []byte
	pos   int
	depth int
	max   int
}

// NewReader returns a Reader at the start of data that refuses values nested deeper than maxDepth.
func NewReader(data []byte, maxDepth int) *Reader { return &Reader{data: data, max: maxDepth} }

// Offset skips white space and returns the offset of the next byte.
func (r *Reader) Offset() int {
	r.Peek()
	return r.pos
}

// Since returns the text from start up to the next byte. It shares memory with what the Reader reads.
func (r *Reader) Since(start int) []byte { return r.data[start:r.pos:r.pos] }

// Fail returns an error at the current position.
func (r *Reader) Fail(reason string) *Error { return &Error{Offset: r.pos, Reason: reason} }

// Peek skips white space and returns the next byte, or 0 at the end of the text.
func (r *Reader) Peek() byte {
	for r.pos < len(r.data) {
		switch c := r.data[r.pos]; c {
		case ' ', '\t', '\n', '\r':
			r.pos++
		default:
			return c
		}
	}
	return 0
}

// End checks that nothing but white space is left.
func (r *Reader) End() *Error {
	if r.Peek(); r.pos < len(r.data) {
		return r.Fail("unexpected data after the value")
	}
	return nil
}

// Enter reads the opening bracket of an object or array.
func (r *Reader) Enter(open byte) *Error {
	if r.Peek() != open {
		return r.Fail("expected " + quoteByte(open))
	}
	if r.depth++; r.depth > r.max {
		return r.Fail("nested deeper than " + strconv.Itoa(r.max) + " levels")
	}
	r.pos++
	return nil
}

// More reports whether another element follows, reading the comma before it or the closing bracket after the last.
// first says that no element was read yet.
func (r *Reader) More(closing byte, first bool) (bool, *Error) {
	switch c := r.Peek(); {
	case c == closing:
		r.pos++
		r.depth--
		return false, nil
	case first:
		return true, nil
	case c == ',':
		r.pos++
		return true, nil
	default:
		return false, r.Fail("expected ',' or " + quoteByte(closing))
	}
}

// Key reads a member's name and the colon after it. The result is valid until the text changes.
func (r *Reader) Key() ([]byte, *Error) {
	_, key, err := r.key()
	return key, err
}

// key is Key that also returns the name as it is written, with its quotes.
func (r *Reader) key() (token, key []byte, err *Error) {
	token, escaped, err := r.String()
	if err != nil {
		return nil, nil, err
	}
	key = token[1 : len(token)-1]
	if escaped {
		key, _ = AppendUnquoted(nil, token)
	}
	if r.Peek() != ':' {
		return nil, nil, r.Fail("expected ':' after a key")
	}
	r.pos++
	return token, key, nil
}

// String reads a string and returns it with its quotes, and whether it holds escapes.
func (r *Reader) String() (tok []byte, escaped bool, err *Error) {
	if r.Peek() != '"' {
		return nil, false, r.Fail("expected a string")
	}
	start := r.pos
	for i := r.pos + 1; i < len(r.data); {
		c := r.data[i]
		if plain[c] {
			i++
			continue
		}
		if c == '"' {
			r.pos = i + 1
			return r.data[start:r.pos], escaped, nil
		}
		r.pos = i
		if c != '\\' {
			return nil, false, r.Fail("unescaped control character in a string")
		}
		n := escapeLen(r.data[i:])
		if n == 0 {
			return nil, false, r.Fail("invalid escape in a string")
		}
		escaped = true
		i += n
	}
	r.pos = len(r.data)
	return nil, false, r.Fail("string without an end")
}

// Number reads a number.
func (r *Reader) Number() ([]byte, *Error) {
	c := r.Peek()
	n := numberLen(r.data[r.pos:])
	switch {
	case n == 0 && (c == '-' || c >= '0' && c <= '9'):
		return nil, r.Fail("invalid number")
	case n == 0:
		return nil, r.Fail("expected a value")
	}
	tok := r.data[r.pos : r.pos+n]
	r.pos += n
	return tok, nil
}

// Literal reads true, false or null.
func (r *Reader) Literal() ([]byte, *Error) {
	r.Peek()
	rest := r.data[r.pos:]
	for _, word := range [...]string{"true", "false", "null"} {
		if len(rest) >= len(word) && string(rest[:len(word)]) == word {
			r.pos += len(word)
			return rest[:len(word)], nil
		}
	}
	return nil, r.Fail("expected a value")
}

// Object reads an object; member is called after each key and must read the value.
func (r *Reader) Object(member func(key []byte) error) error {
	return r.object(func(_, key []byte) error { return member(key) })
}

// object is Object that also tells how the key is written.
func (r *Reader) object(member func(token, key []byte) error) error {
	if err := r.Enter('{'); err != nil {
		return err
	}
	for first := true; ; first = false {
		more, err := r.More('}', first)
		if err != nil {
			return err
		}
		if !more {
			return nil
		}
		token, key, err := r.key()
		if err != nil {
			return err
		}
		if err := member(token, key); err != nil {
			return err
		}
	}
}

// Array reads an array; element is called before each element and must read it.
func (r *Reader) Array(element func() error) error {
	if err := r.Enter('['); err != nil {
		return err
	}
	for first := true; ; first = false {
		more, err := r.More(']', first)
		if err != nil {
			return err
		}
		if !more {
			return nil
		}
		if err := element(); err != nil {
			return err
		}
	}
}

// Skip reads any value and returns its text.
func (r *Reader) Skip() ([]byte, error) {
	start := r.Offset()
	if err := r.skip(); err != nil {
		return nil, err
	}
	return r.Since(start), nil
}

func (r *Reader) skip() error {
	switch r.Peek() {
	case '{':
		return r.Object(func([]byte) error { return r.skip() })
	case '[':
		return r.Array(r.skip)
	case '"':
		if _, _, err := r.String(); err != nil {
			return err
		}
	case 't', 'f', 'n':
		if _, err := r.Literal(); err != nil {
			return err
		}
	default:
		if _, err := r.Number(); err != nil {
			return err
		}
	}
	return nil
}

func quoteByte(c byte) string { return "'" + string(rune(c)) + "'" }
