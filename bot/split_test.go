package bot

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestSplitLosesNothing: whatever the text, the parts joined are the text, none is larger than allowed, none is empty.
func TestSplitLosesNothing(t *testing.T) {
	t.Parallel()
	line := rapid.OneOf(
		rapid.SampledFrom([]string{"```", "~~~ go", "| a | b |", "|---|---|", "", "  ", "a short line", "\\u{202E}"}),
		rapid.StringN(0, 60, -1), rapid.StringMatching(`(word |é|語|😀){0,40}`))
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(line, 1, 40).Draw(t, "lines"), "\n")
		most, bytes := rapid.IntRange(40, 200).Draw(t, "units"), rapid.IntRange(60, 300).Draw(t, "bytes")
		parts := split(text, most, bytes)
		if strings.Join(parts, "") != text {
			t.Fatalf("lost something: %q", parts)
		}
		for i, p := range parts {
			if units(p) > most || len(p) > bytes || p == "" && len(parts) > 1 {
				t.Fatalf("part %d has %d units, %d bytes: %q", i, units(p), len(p), p)
			}
		}
	})
}

func TestSplitKeepsBlocksWhole(t *testing.T) {
	t.Parallel()
	fence := "```go\n" + strings.Repeat("x := 1\n\n", 6) + "```\n"
	table := "| a | b |\n|---|---|\n" + strings.Repeat("| 1 | 2 |\n", 5)
	for name, c := range map[string]struct{ text, want string }{
		"a fence that fits into a part":    {"Intro.\n" + strings.Repeat("y", 20) + "\n" + fence + "End.", fence},
		"a table that fits into a part":    {"Intro.\n" + strings.Repeat("y", 20) + "\n" + table + "\nEnd.", table},
		"a paragraph rather than its line": {strings.Repeat("a b c\n", 9) + "\n" + strings.Repeat("d e f\n", 6), "\n"},
	} {
		parts := split(c.text, 80, 1000)
		whole := false
		for _, p := range parts {
			whole = whole || strings.Contains(p, c.want)
		}
		if len(parts) < 2 || !whole {
			t.Errorf("%s: %q", name, parts)
		}
	}
	// A fence that is larger than a part is cut between its lines.
	long := "```\n" + strings.Repeat("one line of code\n", 30) + "```\n"
	for _, p := range split(long, 80, 1000) {
		if !strings.HasSuffix(p, "\n") {
			t.Errorf("cut inside a line: %q", p)
		}
	}
	two := strings.Repeat("a b c\n", 9) + "\n" + strings.Repeat("d e f\n", 6)
	if first := split(two, 80, 1000)[0]; !strings.HasSuffix(first, "\n\n") {
		t.Errorf("not cut between the paragraphs: %q", first)
	}
}

// TestSplitBoundsBytes: characters of three bytes fill a part sooner.
func TestSplitBoundsBytes(t *testing.T) {
	t.Parallel()
	parts := split(strings.Repeat("語", 8000), answerPart, answerBytes)
	if len(parts) != 2 || len(parts[0]) > answerBytes {
		t.Errorf("%d parts, the first of %d bytes", len(parts), len(parts[0]))
	}
}
