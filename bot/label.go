package bot

import (
	"strings"

	"countersign/internal/visible"
)

// label renders a short text of somebody else for one line, at most limit characters as units counts them.
func label(s string, limit int) string {
	out := visible.Line(s)
	if prefix(out, limit) == len(out) {
		return out
	}
	cut := out[:prefix(out, limit-1)]
	i := strings.LastIndexByte(cut, '\\')
	if i >= 0 && !strings.Contains(cut[i:], "}") && len(cut)-i < len(`\u{10FFFF}`) {
		cut = cut[:i] // not in the middle of an escape
	}
	return cut + "…"
}
