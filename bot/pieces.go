package bot

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// pieces cuts text into parts of at most limit UTF-16 units, the unit in which Slack's limits are safe. Joined, they
// are exactly the text. A cut falls behind a line break or a space when one is near, never inside an escape sequence
// and never between a letter and its mark.
func pieces(text string, limit int) []string {
	var out []string
	for end := prefix(text, limit); end < len(text); end = prefix(text, limit) {
		cut := cutAt(text, end)
		out = append(out, text[:cut])
		text = text[cut:]
	}
	return append(out, text)
}

// units counts UTF-16 code units.
func units(s string) int {
	n := 0
	for _, r := range s {
		n++
		if r > 0xFFFF {
			n++
		}
	}
	return n
}

// cutAt returns where to cut a text, at end at the latest.
func cutAt(text string, end int) int {
	window := text[:end]
	for _, sep := range []string{"\n", " "} {
		if i := strings.LastIndex(window, sep); i >= len(window)/2 {
			return i + len(sep)
		}
	}
	cut := outsideEscape(window)
	for cut > len(window)/2 && startsWithMark(text[cut:]) {
		_, size := utf8.DecodeLastRuneInString(text[:cut])
		cut -= size
	}
	return cut
}

// prefix returns the length in bytes of the longest prefix of at most limit units.
func prefix(text string, limit int) int {
	n := 0
	for i, r := range text {
		n++
		if r > 0xFFFF {
			n++
		}
		if n > limit {
			return i
		}
	}
	return len(text)
}

// outsideEscape returns the length of window without an escape sequence that it may cut in two. The longest ones,
// \u{10FFFF} and a counted run, are shorter than maxEscape.
func outsideEscape(window string) int {
	const maxEscape = 20
	from := max(0, len(window)-maxEscape)
	if i := strings.LastIndex(window[from:], `\u{`); i >= 0 && !strings.Contains(window[from+i:], "}") {
		return from + i
	}
	tail := window[from:]
	if i := strings.LastIndexByte(tail, '\\'); i >= 0 && len(tail)-i < len(`\u0000`) {
		for i > 0 && tail[i-1] == '\\' {
			i--
		}
		if from+i > 0 {
			return from + i
		}
	}
	return len(window)
}

func startsWithMark(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.Is(unicode.M, r)
}
