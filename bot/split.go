package bot

import (
	"strings"
)

// split cuts a long text into parts of at most the given number of UTF-16 units and of bytes. Joined, they are exactly
// the text. A cut falls between paragraphs or lines, and not inside a fenced block of code or a table where that fits
// into a part of its own; where there is no line end at all it falls as pieces cuts.
func split(text string, units, bytes int) []string {
	var out []string
	fenced := false // the text begins inside a fence
	for {
		end := min(prefix(text, units), prefixBytes(text, bytes))
		if end >= len(text) {
			return append(out, text)
		}
		cut := splitAt(text, end, fenced, func(s string) bool {
			return prefix(s, units) == len(s) && len(s) <= bytes
		})
		out = append(out, text[:cut])
		fenced = outline(text[:cut], fenced).fenced
		text = text[cut:]
	}
}

// prefixBytes returns the length of the longest prefix of at most limit bytes that ends with a whole character, but of
// one character at least.
func prefixBytes(text string, limit int) int {
	if len(text) <= limit {
		return len(text)
	}
	end := 0
	for i, r := range text {
		next := i + len(string(r))
		if next > limit && i > 0 {
			break
		}
		end = next
	}
	return end
}

// splitAt returns where to cut, at end at the latest. fits reports whether something fits into a part.
func splitAt(text string, end int, fenced bool, fits func(string) bool) int {
	o := outline(text[:end], fenced)
	apart := max(o.paragraph, o.line)
	switch {
	case o.paragraph >= end/2:
		return o.paragraph
	case o.line >= end/2:
		return o.line
	case apart > 0 && (o.inside <= apart || fits(block(text[apart:]))):
		if o.inside <= apart { // behind it stands one long line
			return max(apart, cutAt(text, end))
		}
		return apart
	case o.inside > 0:
		return o.inside
	}
	return cutAt(text, end)
}

// ends are where a text may be cut: behind the last line that ends a paragraph, or a line, outside of fences and
// tables, and behind the last line inside of one. Zero: nowhere.
type ends struct {
	paragraph, line, inside int
	fenced                  bool // the text ends inside a fence
}

func outline(text string, fenced bool) ends {
	o := ends{fenced: fenced}
	at := 0
	for line := range strings.Lines(text) {
		at += len(line)
		fence := isFence(line)
		if fence {
			o.fenced = !o.fenced
		}
		if !strings.HasSuffix(line, "\n") {
			break
		}
		switch next := text[at:]; {
		case o.fenced, isRow(line) && (isRow(next) || next == ""):
			o.inside = at
		case fence || strings.TrimSpace(line) == "":
			o.paragraph = at
		default:
			o.line = at
		}
	}
	return o
}

// block returns the fence or table with which a text begins.
func block(text string) string {
	if !isFence(text) && !isRow(text) {
		return ""
	}
	fence := isFence(text)
	at := 0
	for line := range strings.Lines(text) {
		if !fence && !isRow(line) {
			break
		}
		at += len(line)
		if fence && at > len(line) && isFence(line) {
			break
		}
	}
	return text[:at]
}

func isFence(line string) bool {
	line = strings.TrimLeft(line, " ")
	return strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~")
}

func isRow(line string) bool { return strings.HasPrefix(strings.TrimLeft(line, " "), "|") }
