// Package visibletest is what tests of rendered text share.
package visibletest

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// Original reads back what visible.Text has rendered; it is the proof that nothing was lost.
func Original(t interface{ Fatalf(string, ...any) }, s string) string {
	s = strings.ReplaceAll(s, "ˑ", "") // visible.Mark; one that was there is escaped
	var b strings.Builder
	for s != "" {
		rest, ok := strings.CutPrefix(s, `\u{`)
		if !ok {
			_, size := utf8.DecodeRuneInString(s)
			b.WriteString(s[:size])
			s = s[size:]
			continue
		}
		body, after, ok := strings.Cut(rest, "}")
		if !ok {
			t.Fatalf("an escape without an end: %q", s)
		}
		s = after
		if hexed, isByte := strings.CutPrefix(body, "#"); isByte {
			n, err := strconv.ParseUint(hexed, 16, 8)
			if err != nil {
				t.Fatalf("escape %q: %v", body, err)
			}
			b.WriteByte(byte(n))
			continue
		}
		hexed, times, counted := strings.Cut(body, "*")
		r, err := strconv.ParseUint(hexed, 16, 32)
		if err != nil {
			t.Fatalf("escape %q: %v", body, err)
		}
		n := 1
		if counted {
			if n, err = strconv.Atoi(times); err != nil {
				t.Fatalf("escape %q: %v", body, err)
			}
		}
		b.WriteString(strings.Repeat(string(rune(r)), n))
	}
	return b.String()
}

// Hostile draws texts in which the interesting characters are frequent.
func Hostile() *rapid.Generator[string] {
	return rapid.StringOf(rapid.OneOf(
		rapid.RuneFrom([]rune(`\u{}#*5C "'`+"\n\t\r `<>&@!:|*_~")),
		rapid.RuneFrom([]rune{
			0x202E, 0x200B, 0x2066, 0xFE0F, 0xE0041, 0x301, 0x489, 0xA0, 0x3164, 0x2800, 0xFFFD, 0x1F600, 'é',
		}),
		rapid.Rune(),
	))
}
