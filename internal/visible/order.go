package visible

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/bidi"
)

// Mark stands before what would otherwise be drawn like something else: before a word that has only letters which look
// like Latin ones, at the start of a line that mixes directions, and before a number that would be drawn on the other
// side of the right-to-left text before it. It is a letter that is seen and written from left to right, no control; in
// a text it is escaped.
const Mark = 'ˑ'

// ordered makes rendered text be drawn so that one can tell in which order it is written. Text of Hebrew or Arabic
// letters, spaces and punctuation alone is left as it is.
func ordered(shown string) string {
	if !strings.ContainsFunc(shown, func(r rune) bool { return r >= 0x590 && rightToLeft(direction(r)) }) {
		return shown
	}
	var b strings.Builder
	for line := range strings.SplitAfterSeq(shown, "\n") {
		orderLine(&b, line)
	}
	return b.String()
}

// orderLine writes one line. A number belongs to the text that it stands between, so that only one that follows
// right-to-left text and is followed by none is ambiguous: it looks like one that precedes.
func orderLine(b *strings.Builder, line string) {
	if !mixesDirections(line) {
		b.WriteString(line)
		return
	}
	b.WriteRune(Mark)
	behindRight, inNumber, both := false, false, bothDigits(line)
	for i, r := range line {
		class := direction(r)
		if both && class == bidi.AN { // side by side with European digits, both their orders can be drawn alike
			fmt.Fprintf(b, `\u{%X}`, r)
			behindRight, inNumber = false, false
			continue
		}
		number := class == bidi.EN || class == bidi.AN
		if number && !inNumber && behindRight && !rightFollows(line[i:], both) {
			b.WriteRune(Mark)
			behindRight = false
		}
		switch {
		case class == bidi.L:
			behindRight = false
		case rightToLeft(class):
			behindRight = true
		}
		inNumber = number
		b.WriteRune(r)
	}
}

// mixesDirections reports whether a line has right-to-left text and letters or digits that are none.
func mixesDirections(line string) bool {
	right, left := false, false
	for _, r := range line {
		switch class := direction(r); {
		case class == bidi.AN: // drawn from left to right, within text of the other direction
			right, left = true, true
		case rightToLeft(class):
			right = true
		case class == bidi.L, class == bidi.EN:
			left = true
		}
	}
	return right && left
}

// bothDigits reports whether a line has European and Arabic digits.
func bothDigits(line string) bool {
	return strings.ContainsAny(line, "0123456789") &&
		strings.ContainsFunc(line, func(r rune) bool { return r >= 0x590 && direction(r) == bidi.AN })
}

// rightFollows reports whether the next letter is one that is written from right to left. What is written out is not.
func rightFollows(s string, both bool) bool {
	for _, r := range s {
		switch class := direction(r); {
		case class == bidi.L, both && class == bidi.AN:
			return false
		case class == bidi.R, class == bidi.AL:
			return true
		}
	}
	return false
}

func rightToLeft(c bidi.Class) bool { return c == bidi.R || c == bidi.AL || c == bidi.AN }

func direction(r rune) bidi.Class {
	if r < utf8.RuneSelf {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z':
			return bidi.L
		case r >= '0' && r <= '9':
			return bidi.EN
		}
		return bidi.ON
	}
	p, _ := bidi.LookupRune(r)
	return p.Class()
}
