// Package oneline makes foreign texts fit for errors and logs.
package oneline

import (
	"strings"
	"unicode"
)

// Of keeps a text on one line, printable, and to at most limit runes; an ellipsis says that it was cut.
func Of(s string, limit int) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, strings.ToValidUTF8(s, "\uFFFD"))
	if r := []rune(s); len(r) > limit {
		s = string(r[:limit]) + "…"
	}
	return strings.TrimSpace(s)
}
