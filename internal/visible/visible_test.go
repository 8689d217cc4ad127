package visible

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"countersign/internal/visible/visibletest"

	"pgregory.net/rapid"
)

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
			out, escaped := Text(in, OneLine)
			if escaped != (out != in) {
				t.Fatalf("from U+%04X: escaped is %v, changed is %v", from, escaped, out != in)
			}
			for _, shown := range out {
				if !seen(shown) {
					t.Fatalf("U+%04X is shown as it is", shown)
				}
			}
			if back := visibletest.Original(t, out); back != in {
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

func TestTextIsInjective(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := visibletest.Hostile().Draw(t, "text") + string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"))
		for _, mode := range []Mode{OneLine, ManyLines, Prose} {
			out, _ := Text(in, mode)
			if back := visibletest.Original(t, out); back != in {
				t.Fatalf("%q became %q, which reads %q", in, out, back)
			}
		}
		out, _ := Text(in, Source)
		if back := visibletest.Original(t, strings.ReplaceAll(out, Tab, "\t")); back != in {
			t.Fatalf("as source, %q became %q, which reads %q", in, out, back)
		}
	})
}

func FuzzText(f *testing.F) {
	for _, seed := range []string{"", `\u{202E}`, "a\u202Eb", `\\u{`, "\xff", strings.Repeat(" ", 40),
		"e\u0301\u0301\u0301\u0301"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		out, _ := Text(in, OneLine)
		if back := visibletest.Original(t, out); back != in {
			t.Fatalf("%q became %q, which reads %q", in, out, back)
		}
	})
}

func TestTextShowsTricks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, out, why string }{
		{"a ", "a ", "a space at the end of one line"},
		{"rm \u202Efdp.txt", `rm \u{202E}fdp.txt`, "text that reads backwards"},
		{"safe\u200B.example", `safe\u{200B}.example`, "two hosts that look the same"},
		{"a\U000E0072\U000E006D", `a\u{E0072}\u{E006D}`, "tag characters spell words nobody sees"},
		{"echo ok" + strings.Repeat(" ", 300) + "; rm -rf /", `echo ok\u{20*300}; rm -rf /`,
			"padding pushes the end out of sight"},
		{"a b  c", "a b  c", "ordinary spaces stay"},
		{`C:\users`, `C:\users`, "ordinary backslashes stay"},
		{`\u{202E}`, `\u{5C}u{202E}`, "what only looks like an escape"},
		{"\u0301x", `\u{301}x`, "a mark on nothing"},
		{"x\u0301", "x\u0301", "a mark on its letter"},
		{"e\u0301", `e\u{301}`, "a letter that is also one character"},
		{"kill א 12 34", "ˑkill א ˑ12 34", "a number behind Hebrew"},
		{"kill 34 12 א", "ˑkill 34 12 א", "a number before Hebrew"},
		{"שלום, עולם!", "שלום, עולם!", "Hebrew"},
		{"مرحبا بالعالم", "مرحبا بالعالم", "Arabic"},
		{"לשלם 250 שקל", "ˑלשלם 250 שקל", "a number within Hebrew"},
		{"привет, мир", "привет, мир", "Russian"},
		{"он и она", "он и она", "Russian of small words"},
		{"а", "ˑа", "a Russian word that looks Latin"},
		{"раyраl", `\u{440}\u{430}y\u{440}\u{430}l`, "two alphabets in a word"},
		{"ΑΒΕ", `\u{391}\u{392}\u{395}`, "Greek that looks Latin"},
		{"λόγος", "λόγος", "Greek"},
		{"T シャツ 東京 서울", "T シャツ 東京 서울", "Japanese and Korean"},
		{"−rf", `\u{2212}rf`, "a minus that is no hyphen"},
		{"\u212A", `\u{212A}`, "a sign that is another letter"},
		{"naïve café", "naïve café", "French"},
		{"Z" + strings.Repeat("\u0353", 9), "Z" + strings.Repeat("\u0353", 3) + strings.Repeat(`\u{353}`, 6),
			"a pile of marks covers its surroundings"},
		{"10\u00A0000", `10\u{A0}000`, "a space that is none"},
		{"\u3164", `\u{3164}`, "a letter that shows nothing"},
		{"one\ntwo", `one\u{A}two`, "a line break in one line"},
	} {
		if got, _ := Text(c.in, OneLine); got != c.out {
			t.Errorf("%s: %q became %q, want %q", c.why, c.in, got, c.out)
		}
	}
}
