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
	out := make([]byte, 0, size)
	for name, values := range form {
		for _, v := range values {
			if len(out) > 0 {
				out = append(out, '&')
			}
			out = append(appendEscaped(out, name), '=')
			out = appendEscaped(out, v)
		}
	}
	return out
}

func escapedLen(s string) int {
	n := len(s)
	for i := range len(s) {
		if !unreserved[s[i]] && s[i] != ' ' {
			n += 2
		}
	}
	return n
}

// appendEscaped appends s as url.QueryEscape writes it.
func appendEscaped(b []byte, s string) []byte {
	const hex = "0123456789ABCDEF"
	for i := range len(s) {
		switch c := s[i]; {
		case unreserved[c]:
			b = append(b, c)
		case c == ' ':
			b = append(b, '+')
		default:
			b = append(b, '%', hex[c>>4], hex[c&15])
		}
	}
	return b
}

// onlyField returns the value of a form's field, where the form has that field alone; false also where it is not
// encoded as it should be. Clicks come so, and are long: they are decoded into one piece of memory.
func onlyField(body []byte, name string) (value []byte, ok bool) {
	rest, ok := bytes.CutPrefix(body, []byte(name+"="))
	if !ok || bytes.ContainsAny(rest, "&;") {
		return nil, false
	}
	value = make([]byte, 0, len(rest))
	for i := 0; i < len(rest); i++ {
		switch c := rest[i]; c {
		case '+':
			value = append(value, ' ')
		case '%':
			if i+2 >= len(rest) {
				return nil, false
			}
			high, low := hexValue[rest[i+1]], hexValue[rest[i+2]]
			if high|low > 15 {
				return nil, false
			}
			value = append(value, high<<4|low)
			i += 2
		default:
			value = append(value, c)
		}
	}
	return value, true
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

// unreserved has the characters that stand for themselves in a form.
var unreserved = func() (set [256]bool) {
	for _, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~") {
		set[c] = true
	}
	return set
}()
