package visible

import (
	"bytes"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"
)

// JSON renders JSON text for a terminal: what Line would write out becomes \uXXXX. The value stays the same, as such
// characters are only within strings. A byte that is no text becomes the replacement character, as which it is read
// anyway.
func JSON(text []byte) []byte {
	var b bytes.Buffer
	b.Grow(len(text))
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		switch {
		case r == '\n' || r >= ' ' && r < 0x7F || r != utf8.RuneError && isShown(r):
			b.Write(text[:size])
		case r > 0xFFFF:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		text = text[size:]
	}
	return b.Bytes()
}
