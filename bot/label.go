package bot

import (
	"unicode/utf8"

	"countersign/internal/visible"
)

// label renders a short text of somebody else for one line, at most limit characters.
func label(s string, limit int) string {
	out := visible.Line(s)
	if utf8.RuneCountInString(out) <= limit {
		return out
	}
	return string([]rune(out)[:limit-1]) + "…"
}
