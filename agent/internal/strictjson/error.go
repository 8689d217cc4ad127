package strictjson

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Error says why a text was refused and where. Its text repeats no values of the input, only keys on the way to the
// place, and those shortened.
type Error struct {
	Pointer string // JSON pointer of the value, as far as it is known
	Offset  int    // byte offset where reading stopped; -1 when it says nothing
	Reason  string
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Reason)
	if e.Pointer != "" {
		b.WriteString(" at ")
		b.WriteString(e.Pointer)
	}
	if e.Offset >= 0 {
		b.WriteString(" (byte ")
		b.WriteString(strconv.Itoa(e.Offset))
		b.WriteString(")")
	}
	return b.String()
}

// Under puts a key or index in front of the pointer; callers use it while unwinding.
func (e *Error) Under(segment string) *Error {
	e.Pointer = "/" + pointerEscaper.Replace(Excerpt(segment)) + e.Pointer
	return e
}

var pointerEscaper = strings.NewReplacer("~", "~0", "/", "~1")

// Excerpt shortens s to something that may stand in an error message.
func Excerpt(s string) string {
	const limit = 40
	s = strings.ToValidUTF8(s, "\uFFFD")
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	return string([]rune(s)[:limit]) + "…"
}
