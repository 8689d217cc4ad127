package bot

import (
	"bytes"
	"io"
	"net/url"
)

// readAll is io.ReadAll for a body that says how long it is, or a negative number: it is read into one piece of memory
// instead of growing ones. What the body claims gets it no more than mostAhead before it has sent as much.
func readAll(r io.Reader, length int64) ([]byte, error) {
	const mostAhead = 64 << 10
	var all bytes.Buffer
	all.Grow(int(min(max(length, 0), mostAhead)) + bytes.MinRead)
	_, err := all.ReadFrom(r)
	return all.Bytes(), err
}

// encodeForm is form.Encode, but for the order of the fields. It writes into one piece of memory: cards are long, and
// most of their characters are escaped.
func encodeForm(form url.Values) []byte {
	size := 0
	for name, values := range form {
		for _, v := range values {
			size += 2 + escapedLen(name) + escapedLen(v)
		}
	}
	out := make([]byte, size+escapeRoom)
	n := 0
	for name, values := range form {
		for _, v := range values {
			if n > 0 {
				out[n] = '&'
				n++
			}
			n += putEscaped(out[n:], name)
			out[n] = '='
			n++
			n += putEscaped(out[n:], v)
		}
	}
	return out[:n]
}

// formByte is how a character is written in a form: the first bytes of text. All are written, and what is too much is
// overwritten by the next: a branch for each character would cost several times as much.
type formByte struct {
	text [4]byte
	size int
}

// escapeRoom is how many bytes putEscaped may write behind what it returns.
const escapeRoom = len(formByte{}.text)

var formBytes = func() (of [256]formByte) {
	for c := range of {
		text := url.QueryEscape(string([]byte{byte(c)}))
		of[c].size = copy(of[c].text[:], text)
	}
	return of
}()

func escapedLen(s string) (n int) {
	for i := range len(s) {
		n += formBytes[s[i]].size
	}
	return n
}

// putEscaped writes s as url.QueryEscape does, and returns how many bytes that takes. out has escapeRoom more.
func putEscaped(out []byte, s string) (n int) {
	for i := range len(s) {
		e := &formBytes[s[i]]
		*(*[escapeRoom]byte)(out[n:]) = e.text
		n += e.size
	}
	return n
}

// onlyField returns the value of a form's field, where the form has that field alone; false also where it is not
// encoded as it should be. Clicks come so, and are long: they are decoded into one piece of memory.
func onlyField(body []byte, name string) (value []byte, ok bool) {
	rest, ok := bytes.CutPrefix(body, []byte(name+"="))
	if !ok || bytes.IndexByte(rest, '&') >= 0 || bytes.IndexByte(rest, ';') >= 0 {
		return nil, false
	}
	value = make([]byte, len(rest))
	n := 0
	for i := 0; i < len(rest); i++ {
		c := rest[i]
		if c == '%' {
			if i+2 >= len(rest) {
				return nil, false
			}
			high, low := hexValue[rest[i+1]], hexValue[rest[i+2]]
			if high|low > 15 {
				return nil, false
			}
			c = high<<4 | low
			i += 2
		} else if c == '+' {
			c = ' '
		}
		value[n] = c
		n++
	}
	return value[:n], true
}

// hexValue is what a hexadecimal digit says; more than 15 for what is none.
var hexValue = func() (of [256]byte) {
	for i := range of {
		of[i] = 16
	}
	for i, c := range []byte("0123456789abcdef") {
		of[c] = byte(i)
		of[bytes.ToUpper([]byte{c})[0]] = byte(i)
	}
	return of
}()
