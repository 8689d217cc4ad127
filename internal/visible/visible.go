// Package visible renders text of models, people and servers, so that a reader sees everything that is in it and
// nothing in it has an effect: no character that hides, reorders or pads text, and none that a terminal obeys, is left
// as it is. Cards and the command line share it.
package visible

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Mode says what white space means in a text.
type Mode int

// The modes. In all of them but Prose, long runs of spaces and line breaks are counted instead of shown.
const (
	OneLine   Mode = iota // a line break is escaped like any control character
	ManyLines             // line breaks are kept
	Source                // so is indentation, tabs are drawn, and spaces at the end of a line are counted: for scripts
	Patch                 // as Source, but for the single space that is an empty line of a patch
	Prose                 // so are indentation and empty lines: for answers, which nobody decides about
)

const (
	maxSpaces = 8  // longer runs push text out of sight and are counted instead
	maxIndent = 40 // as maxSpaces, where a line of source begins
	maxBreaks = 4
	maxMarks  = 3 // combining marks on one letter
)

// Tab stands for a tab in Source, where its first character is not used otherwise.
const Tab = "⇥   "

// Line renders a text on one line. See Text.
func Line(s string) string {
	shown, _ := Text(s, OneLine)
	return shown
}

// Text renders s. Letters, digits, punctuation, symbols and single spaces stay; everything that shows nothing, reorders
// text or pads it becomes \u{XXXX}, or \u{XXXX*N} for runs of N, and a byte that is no text \u{#XX}. escaped reports
// whether anything was.
//
// Two different texts are never rendered to the same: a backslash that could be taken for an escape is escaped itself.
// Nor are they drawn alike, wherever a line is drawn by the Unicode Bidirectional Algorithm, from the left or from the
// side of its first letter (see Mark): a text of Hebrew or Arabic alone stays as it is, one that mixes directions says
// in which order it is written. Canonically equivalent forms are told apart, and words of Latin, Cyrillic and Greek
// letters of which another word looks the same; letters of the older alphabets that are drawn like Latin ones are
// written out. What is not told apart is what only some fonts draw alike, such as l, I and 1, and single characters of
// East Asian scripts. In Prose nothing is marked or told apart so: people decide nothing by it.
func Text(s string, mode Mode) (shown string, escaped bool) {
	var b strings.Builder
	b.Grow(len(s))
	foreign := mode != Prose && !isASCII(s)
	marks := maxMarks // a mark needs something to sit on
	at := lineStart
	var before rune
	word, words := 0, honest // where the word ends that i is in, and how its letters are shown
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		limit := maxSpaces
		if (mode == Source || mode == Patch) && at != lineText {
			limit = maxIndent
		}
		if (mode == Source || mode == Patch) && r == ' ' && endsLine(s[i:]) {
			limit = 0
			if mode == Patch && at == lineStart && !strings.HasPrefix(s[i:], "  ") {
				limit = 1
			}
		}
		at = at.behind(r)
		if n := run(s[i:], r, limit); n > 0 && mode != Prose {
			escaped = true
			if n == 1 {
				b.WriteString(`\u{20}`)
			} else {
				fmt.Fprintf(&b, `\u{%X*%d}`, r, n)
			}
			marks, before = maxMarks, 0
			i += n
			continue
		}
		if foreign && i >= word && inWord(r) {
			name := wordAt(s[i:])
			word, words = i+len(name), judge(name)
			if words == like {
				b.WriteRune(Mark)
			}
		}
		as := before
		before = r
		switch {
		case r > ' ' && r < 0x7F && r != '\\': // most of every text
			b.WriteByte(byte(r))
			marks = 0
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\u{#%02X}`, s[i]) // a byte that is no text
			escaped, marks = true, maxMarks
		case r == '\n' && mode != OneLine:
			b.WriteByte('\n')
			marks = maxMarks
		case r == '\t' && (mode == Source || mode == Patch):
			b.WriteString(Tab)
			marks = maxMarks
		case r == '⇥' && (mode == Source || mode == Patch):
			b.WriteString(`\u{21E5}`)
			escaped, marks = true, maxMarks
		case r == '\\' && strings.HasPrefix(s[i:], `\u{`):
			b.WriteString(`\u{5C}`)
			escaped, marks = true, maxMarks
		case r == Mark, foreign && (looksLikeOther(as, r) || words == written && i < word && writtenOut(r)):
			fmt.Fprintf(&b, `\u{%X}`, r)
			escaped, marks, before = true, maxMarks, 0
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
			escaped, marks, before = true, maxMarks, 0
		}
		i += size
	}
	if foreign {
		return ordered(b.String()), escaped
	}
	return b.String(), escaped
}

// writtenOut reports whether a letter of a word of several alphabets is written out: those that are not Latin.
func writtenOut(r rune) bool {
	return r >= utf8.RuneSelf && unicode.IsLetter(r) && !unicode.Is(unicode.Latin, r) && alphabet(r) != nil
}

// endsLine reports whether nothing but spaces stands before the end of the line at the start of s.
func endsLine(s string) bool {
	rest := strings.TrimLeft(s, " ")
	return rest == "" || rest[0] == '\n'
}

// column says where in a line of source a character stands.
type column int

const (
	lineStart  column = iota
	lineIndent        // only spaces stand before it. A line of a patch begins behind its mark
	lineText
)

// behind returns where the character after r stands.
func (c column) behind(r rune) column {
	switch {
	case r == '\n':
		return lineStart
	case c != lineText && r == ' ', c == lineStart && (r == '+' || r == '-'):
		return lineIndent
	}
	return lineText
}

// run returns the length of a run of spaces or line breaks at the start of s when it is too long to show: longer than
// limit, for spaces.
func run(s string, r rune, limit int) int {
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

// isShown reports whether a character is seen as something of its own, or as a mark on what is before it.
func isShown(r rune) bool {
	return r == ' ' || unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.P, unicode.S) && !blank(r)
}

// blank reports whether a letter, mark or symbol shows nothing, by Unicode's tables or in the usual fonts.
func blank(r rune) bool {
	switch r {
	case 0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0, 0xFFFC, 0x13441, 0x13442, 0x16FE4, 0x1D159:
		return true
	}
	return unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}
