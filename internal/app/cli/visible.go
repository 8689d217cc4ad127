package cli

import (
	"fmt"
	"strings"
	"unicode"
)

// invisible are letters and symbols by their class that leave nothing to see, and the marks that change what is
// before them without a trace.
var invisible = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x00AD, Hi: 0x00AD, Stride: 1}, {Lo: 0x034F, Hi: 0x034F, Stride: 1}, {Lo: 0x115F, Hi: 0x1160, Stride: 1},
		{Lo: 0x17B4, Hi: 0x17B5, Stride: 1}, {Lo: 0x180B, Hi: 0x180F, Stride: 1}, {Lo: 0x2800, Hi: 0x2800, Stride: 1},
		{Lo: 0x3164, Hi: 0x3164, Stride: 1}, {Lo: 0xFE00, Hi: 0xFE0F, Stride: 1}, {Lo: 0xFFA0, Hi: 0xFFA0, Stride: 1},
	},
	R32: []unicode.Range32{{Lo: 0xE0000, Hi: 0xE0FFF, Stride: 1}},
}

// isShown reports whether a terminal shows the character as something of its own.
func isShown(r rune) bool {
	return unicode.IsPrint(r) && r != unicode.ReplacementChar && !unicode.Is(invisible, r)
}

// visible writes out what a terminal would hide or obey.
func visible(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r == ' ' || isShown(r) {
			b.WriteRune(r)
			continue
		}
		fmt.Fprintf(&b, "\\u{%04X}", r)
	}
	return b.String()
}
