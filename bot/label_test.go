package bot

import (
	"strings"
	"testing"
)

// TestLabelKeepsEscapesWhole cuts a text of escapes at every length: no half escape is left at its end.
func TestLabelKeepsEscapesWhole(t *testing.T) {
	t.Parallel()
	text := "a" + strings.Repeat("\u202e", 8)
	for limit := 2; limit < 60; limit++ {
		got := label(text, limit)
		rest := strings.ReplaceAll(got, `\u{`, "")
		if strings.Count(got, `\u{`) != strings.Count(got, "}") || strings.Contains(rest, `\`) {
			t.Errorf("cut to %d: %q", limit, got)
		}
	}
}
