package bot

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// lines says what white space means in a text.
type lines int

const (
	oneLine   lines = iota // a line break is escaped like any control character
	manyLines              // line breaks are kept
	prose                  // so are indentation and empty lines: for answers, which nobody decides about
)

const (
	maxSpaces = 8 // longer runs push text out of sight and are counted instead
	maxBreaks = 4
	maxMarks  = 3 // combining marks on one letter
)

// visible renders text so that a reader sees everything that is in it. Letters, digits, punctuation, symbols and
// single spaces stay; everything that shows nothing, reorders text or pads it becomes \u{XXXX}, or \u{XXXX*N} for runs
// of N. Two different texts never look the same afterwards: a backslash that could be taken for an escape is escaped
// itself. escaped reports whether anything was.
func visible(s string, mode lines) (out string, escaped bool) {
	var b strings.Builder
	b.Grow(len(s))
	marks := maxMarks // a mark needs something to sit on
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if n := run(s[i:], r); n > 0 && mode != prose {
			escaped = true
			fmt.Fprintf(&b, `\u{%X*%d}`, r, n)
			marks = maxMarks
			i += n
			continue
		}
		switch {
		case r > ' ' && r < 0x7F && r != '\\': // most of every text
			b.WriteByte(byte(r))
			marks = 0
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\u{#%02X}`, s[i]) // a byte that is no text
			escaped, marks = true, maxMarks
		case r == '\n' && mode != oneLine:
			b.WriteByte('\n')
			marks = maxMarks
		case r == '\\' && strings.HasPrefix(s[i:], `\u{`):
			b.WriteString(`\u{5C}`)
			escaped, marks = true, maxMarks
		case unicode.Is(unicode.M, r) && !blank(r) && marks < maxMarks:
			b.WriteRune(r)
			marks++
		case r == ' ' || unicode.In(r, unicode.L, unicode.N, unicode.P, unicode.S) && !blank(r):
			b.WriteRune(r)
			marks = 0
			if r == ' ' {
				marks = maxMarks
			}
		default:
			fmt.Fprintf(&b, `\u{%X}`, r)
			escaped, marks = true, maxMarks
		}
		i += size
	}
	return b.String(), escaped
}

// run returns the length of a run of spaces or line breaks at the start of s when it is too long to show.
func run(s string, r rune) int {
	limit := maxSpaces
	switch r {
	case ' ':
	case '\n':
		limit = maxBreaks
	default:
		return 0
	}
	n := len(s) - len(strings.TrimLeft(s, string(r)))
	if n <= limit {
		return 0
	}
	return n
}

// blank reports whether a letter, mark or symbol shows nothing, by Unicode's tables or in the usual fonts.
func blank(r rune) bool {
	switch r {
	case 0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0, 0xFFFC, 0x13441, 0x13442, 0x16FE4, 0x1D159:
		return true
	}
	return unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// label renders a short text of somebody else for one line, at most limit characters.
func label(s string, limit int) string {
	out, _ := visible(s, oneLine)
	if utf8.RuneCountInString(out) <= limit {
		return out
	}
	return string([]rune(out)[:limit-1]) + "…"
}
