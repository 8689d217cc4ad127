package agent

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"
)

// What a state may grow to, so that whatever is written can be read again: see maxStateBytes. Sizes are those of the
// saved form.
const (
	maxItemsBytes  = 96 << 20  // of all items; an answer stands in the head too, and the rest is for calls under way
	maxOutputBytes = 1 << 20   // of one output, of what people and programs say, and of what a call depends on
	maxCount       = 1<<53 - 1 // of what is counted; beyond it JSON numbers are not exact
	maxTurnLimit   = math.MaxInt32
)

const (
	textOutputCut  = "\n[The output was cut here: it is %d bytes long.]"
	textNativeLost = "The call was carried out, but its output is too long to be kept: it is %d bytes long."
	textNoRoom     = "The call was carried out, but its output of %d bytes is not kept: the run has become too long."
)

// quotedLen returns how long a text is as a JSON string, or a little more.
func quotedLen(s string) int {
	n := 2
	for i := range len(s) {
		n += quotedByte(s[i])
	}
	return n
}

func quotedByte(c byte) int {
	switch {
	case c == '"', c == '\\', c == '\n', c == '\r', c == '\t':
		return 2
	case c < ' ', c == 0xE2: // which begins U+2028 and U+2029
		return 6
	}
	return 1
}

// savedLen returns how long the item is in its saved form, or a little more.
func (it *Item) savedLen() int {
	const members = 160 // names, type, role and punctuation
	n := members + len(it.Raw) + quotedLen(it.Agent)
	if it.Raw == nil {
		n += quotedLen(it.ID) + quotedLen(it.Text) + quotedLen(it.CallID)
		n += quotedLen(it.Name) + quotedLen(it.Arguments) + quotedLen(it.Output)
	}
	return n
}

func savedLen(items []Item) int {
	n := 0
	for i := range items {
		n += items[i].savedLen()
	}
	return n
}

// checkRoom reports whether the state has room for the items.
func (s *RunState) checkRoom(items []Item) error {
	if n := savedLen(items); n > maxItemsBytes-s.size {
		return fmt.Errorf("a run may hold %d MiB, and %d bytes more do not fit", maxItemsBytes>>20, n)
	}
	return nil
}

// limited returns an output that is not too long to be kept, and says what is missing.
func limited(out ToolOutput) ToolOutput {
	if n := len(out.Native); n > maxOutputBytes {
		out.Native = nil
		if out.Text == "" {
			out.Text = fmt.Sprintf(textNativeLost, n)
		}
	}
	if quotedLen(out.Text) > maxOutputBytes {
		note := fmt.Sprintf(textOutputCut, len(out.Text))
		out.Text = cutText(out.Text, maxOutputBytes-quotedLen(note)) + note // not too long when it is looked at again
	}
	return out
}

// fitting returns the output, or what is said in its place where the state has no room for it.
func (s *RunState) fitting(out ToolOutput) ToolOutput {
	if n := quotedLen(out.Text) + len(out.Native); n > maxItemsBytes-s.size {
		return ToolOutput{Text: fmt.Sprintf(textNoRoom, n), Failed: out.Failed}
	}
	return out
}

// cutText returns the beginning of a text that is no longer than limit as a JSON string.
func cutText(s string, limit int) string {
	n := 2
	for i := range len(s) {
		if n += quotedByte(s[i]); n <= limit {
			continue
		}
		for i > 0 && !utf8.RuneStart(s[i]) {
			i--
		}
		return strings.Clone(s[:i])
	}
	return s
}

// shortText returns a text as it can be kept.
func shortText(s string) string { return cutText(validText(s), maxOutputBytes) }

// checkWritten refuses what could not be read again.
func checkWritten(data json.RawMessage) error {
	if len(data) > maxStateBytes {
		return fmt.Errorf("%w: the run has become too long to be saved: %d bytes", ErrConfig, len(data))
	}
	return nil
}

// bounded returns a sum of counts, of which a negative one is none.
func bounded(a, b int64) int64 { return min(a+min(max(b, 0), maxCount), maxCount) }
