package bot

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// unvisible reads back what visible wrote; it is the proof that nothing was lost.
func unvisible(t interface{ Fatalf(string, ...any) }, s string) string {
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

func TestEveryCodePointIsVisible(t *testing.T) {
	t.Parallel()
	const chunk = 0x400
	for from := rune(0); from <= unicode.MaxRune; from += chunk {
		var alone, within strings.Builder
		for r := from; r < from+chunk; r++ {
			if utf8.ValidRune(r) {
				alone.WriteString(" " + string(r)) // nothing a mark could sit on
				within.WriteString("a" + string(r))
			}
		}
		for _, in := range []string{alone.String(), within.String()} {
			out, escaped := visible(in, oneLine)
			if escaped != (out != in) {
				t.Fatalf("from U+%04X: escaped is %v, changed is %v", from, escaped, out != in)
			}
			for _, shown := range out {
				if !seen(shown) {
					t.Fatalf("U+%04X is shown as it is", shown)
				}
			}
			if back := unvisible(t, out); back != in {
				t.Fatalf("from U+%04X: the text does not come back", from)
			}
		}
	}
}

// seen is the allow-list written the other way round: by general category, and by name of what fonts leave empty.
func seen(r rune) bool {
	if r >= ' ' && r < 0x7F {
		return true
	}
	if unicode.In(r, unicode.C, unicode.Z) || !unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.P, unicode.S) {
		return false
	}
	for _, span := range [][2]rune{
		{0x034F, 0x034F}, {0x115F, 0x1160}, {0x17B4, 0x17B5}, {0x180B, 0x180F}, {0x2800, 0x2800}, {0x3164, 0x3164},
		{0xFE00, 0xFE0F}, {0xFFA0, 0xFFA0}, {0xE0000, 0xE0FFF},
	} {
		if r >= span[0] && r <= span[1] {
			return false
		}
	}
	return true
}

// hostile draws texts in which the interesting characters are frequent.
func hostile() *rapid.Generator[string] {
	return rapid.StringOf(rapid.OneOf(
		rapid.RuneFrom([]rune(`\u{}#*5C "'`+"\n\t\r `<>&@!:|*_~")),
		rapid.RuneFrom([]rune{0x202E, 0x200B, 0x2066, 0xFE0F, 0xE0041, 0x301, 0x489, 0xA0, 0x3164, 0x2800, 0xFFFD, 0x1F600, 'é'}),
		rapid.Rune(),
	))
}

func TestVisibleIsInjective(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := hostile().Draw(t, "text") + string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"))
		for _, mode := range []lines{oneLine, manyLines, prose} {
			out, _ := visible(in, mode)
			if back := unvisible(t, out); back != in {
				t.Fatalf("%q became %q, which reads %q", in, out, back)
			}
		}
		out, _ := visible(in, source)
		if back := unvisible(t, strings.ReplaceAll(out, drawnTab, "\t")); back != in {
			t.Fatalf("as source, %q became %q, which reads %q", in, out, back)
		}
	})
}

func FuzzVisible(f *testing.F) {
	for _, seed := range []string{"", `\u{202E}`, "a\u202Eb", `\\u{`, "\xff", strings.Repeat(" ", 40), "e\u0301\u0301\u0301\u0301"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		out, _ := visible(in, oneLine)
		if back := unvisible(t, out); back != in {
			t.Fatalf("%q became %q, which reads %q", in, out, back)
		}
	})
}

func TestVisibleShowsTricks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, out, why string }{
		{"rm \u202Efdp.txt", `rm \u{202E}fdp.txt`, "text that reads backwards"},
		{"safe\u200B.example", `safe\u{200B}.example`, "two hosts that look the same"},
		{"a\U000E0072\U000E006D", `a\u{E0072}\u{E006D}`, "tag characters spell words nobody sees"},
		{"echo ok" + strings.Repeat(" ", 300) + "; rm -rf /", `echo ok\u{20*300}; rm -rf /`, "padding pushes the end out of sight"},
		{"a b  c", "a b  c", "ordinary spaces stay"},
		{`C:\users`, `C:\users`, "ordinary backslashes stay"},
		{`\u{202E}`, `\u{5C}u{202E}`, "what only looks like an escape"},
		{"\u0301x", `\u{301}x`, "a mark on nothing"},
		{"e\u0301", "e\u0301", "a mark on its letter"},
		{"Z" + strings.Repeat("\u0353", 9), "Z" + strings.Repeat("\u0353", 3) + strings.Repeat(`\u{353}`, 6), "a pile of marks covers its surroundings"},
		{"10\u00A0000", `10\u{A0}000`, "a space that is none"},
		{"\u3164", `\u{3164}`, "a letter that shows nothing"},
		{"one\ntwo", `one\u{A}two`, "a line break in one line"},
	} {
		if got, _ := visible(c.in, oneLine); got != c.out {
			t.Errorf("%s: %q became %q, want %q", c.why, c.in, got, c.out)
		}
	}
}

func TestPiecesJoinToTheText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(hostile(), rapid.String(), rapid.StringOfN(rapid.RuneFrom([]rune(`ab \"{}u0`)), 0, 4000, -1)).Draw(t, "text")
		text, _ = visible(text, manyLines)
		limit := rapid.IntRange(60, 400).Draw(t, "limit")
		parts := pieces(text, limit)
		if strings.Join(parts, "") != text {
			t.Fatalf("the pieces of %q do not join to it: %q", text, parts)
		}
		for i, p := range parts {
			if units(p) > limit || p == "" && len(parts) > 1 {
				t.Fatalf("piece %d of %d has %d units, limit %d", i, len(parts), units(p), limit)
			}
			if n := strings.LastIndex(p, `\u{`); n >= 0 && !strings.Contains(p[n:], "}") {
				t.Fatalf("piece %d ends within an escape: %q", i, p)
			}
		}
	})
}

func TestPiecesPreferBreaks(t *testing.T) {
	t.Parallel()
	words := strings.Repeat("word ", 300)
	for i, p := range pieces(words, 400) {
		if !strings.HasSuffix(p, " ") {
			t.Errorf("piece %d does not end at a space: %q", i, p)
		}
	}
	both := strings.Repeat("two words\n", 100)
	for i, p := range pieces(both, 95) {
		if !strings.HasSuffix(p, "\n") {
			t.Errorf("piece %d does not end at a line's end: %q", i, p)
		}
	}
}

func TestReadableKeepsProse(t *testing.T) {
	t.Parallel()
	in := "Done.\r\n\r\n\tcode\u00A0here\n" + strings.Repeat(" ", 12) + "indented ❤\uFE0F \u202Etrick"
	want := "Done.\n\n code here\n" + strings.Repeat(" ", 12) + "indented ❤ \\u{202E}trick"
	if got := readable(in); got != want {
		t.Errorf("readable(%q) = %q, want %q", in, got, want)
	}
}

func ExampleClient() {
	_, err := NewClient(ClientConfig{Token: "xoxp-a-user-token"})
	fmt.Println(err)
	// Output: slack client: SLACK_BOT_TOKEN must be a bot token, which starts with xoxb-
}
