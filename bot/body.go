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

// unreserved has the characters that stand for themselves in a form.
var unreserved = func() (set [256]bool) {
	for _, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~") {
		set[c] = true
	}
	return set
}()
