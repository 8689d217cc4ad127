package cli

import (
	"testing"
	"unicode"
)

// TestVisible writes out what a terminal would hide or obey, and nothing else.
func TestVisible(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ why, in, want string }{
		{"plain", `{"to": "Zoë & 東京 ✅"}`, `{"to": "Zoë & 東京 ✅"}`},
		{"escape sequence", "\x1b[2Jx", `\u{001B}[2Jx`},
		{"carriage return", "a\rb", `a\u{000D}b`},
		{"right to left", "a\u202eb", `a\u{202E}b`},
		{"zero width", "a\u200bb", `a\u{200B}b`},
		{"variation selector", "a\ufe0fb", `a\u{FE0F}b`},
		{"filler", "a\u3164b", `a\u{3164}b`},
		{"blank that is no space", "a\u00a0b", `a\u{00A0}b`},
		{"tag", "a\U000e0041b", `a\u{E0041}b`},
	} {
		if got := visible(c.in); got != c.want {
			t.Errorf("%s: %q, want %q", c.why, got, c.want)
		}
	}
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if isShown(r) && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Z, r) && r != ' ') {
			t.Fatalf("%U is shown as it is", r)
		}
	}
}
