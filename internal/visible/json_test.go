package visible

import (
	"bytes"
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"countersign/internal/visible/visibletest"
)

// TestJSONShowsTricks writes out what a terminal would obey or hide, and nothing else.
func TestJSONShowsTricks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ why, in, out string }{
		{"plain", `{"to": "Zoë & 東京 ✅"}` + "\n", `{"to": "Zoë & 東京 ✅"}` + "\n"},
		{"a control sequence of one character", "\"\u009b2J\"", `"\u009b2J"`},
		{"delete", "\"\x7f\"", `"\u007f"`},
		{"right to left", "\"\u202e\"", `"\u202e"`},
		{"a tag", "\"\U000E0041\"", `"\udb40\udc41"`},
		{"a byte that is no text", "\"\x9b\"", `"\ufffd"`},
		{"a mark on its letter", "\"e\u0301\"", "\"e\u0301\""},
	} {
		if got := string(JSON([]byte(c.in))); got != c.out {
			t.Errorf("%s: %q became %q, want %q", c.why, c.in, got, c.out)
		}
	}
}

// TestJSONKeepsTheValue reads back any text that was encoded.
func TestJSONKeepsTheValue(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := visibletest.Hostile().Draw(t, "text")
		encoded, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		shown := JSON(encoded)
		var back string
		if err := json.Unmarshal(shown, &back); err != nil || back != in {
			t.Fatalf("%q became %s, which reads %q, %v", in, shown, back, err)
		}
		for _, r := range string(bytes.Trim(shown, `"`)) {
			if r == '\x1b' || r >= 0x7F && r <= 0x9F {
				t.Fatalf("%q became %q, which a terminal obeys", in, shown)
			}
		}
	})
}
