package bot

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"countersign/internal/visible"
	"countersign/internal/visible/visibletest"
)

// unvisible reads back what was rendered visible.
func unvisible(t interface{ Fatalf(string, ...any) }, s string) string {
	return visibletest.Original(t, s)
}

// hostile draws texts in which the interesting characters are frequent.
func hostile() *rapid.Generator[string] { return visibletest.Hostile() }

func TestPiecesJoinToTheText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		long := rapid.StringOfN(rapid.RuneFrom([]rune(`ab \"{}u0`)), 0, 4000, -1)
		text := rapid.OneOf(hostile(), rapid.String(), long).Draw(t, "text")
		text, _ = visible.Text(text, visible.ManyLines)
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
