package patchtool

import (
	"context"
	"fmt"
	"strings"
)

// update applies the hunks of a section to the text of its file. Its error says which hunk does not fit and why.
func (s *section) update(ctx context.Context, data string) (string, error) {
	lines, end := split(data)
	file := newIndex(lines)
	var out []string
	done := 0 // lines of the file that are in out, or removed
	from := 0 // where the next hunk is looked for
	for i := range s.hunks {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		h := &s.hunks[i]
		at, err := h.locate(file, from)
		if err != nil {
			short, ok := h.withoutBlanks()
			if !ok {
				return "", s.misfit(i, err)
			}
			var again error
			if at, again = short.locate(file, from); again != nil {
				return "", s.misfit(i, err)
			}
			h = short
		}
		for _, c := range h.pieces(at) {
			if c.at < done {
				return "", s.misfit(i, fmt.Errorf("at line %d it changes what the hunk before has changed", c.at+1))
			}
			out = append(append(out, lines[done:c.at]...), c.added...)
			done = c.at + c.removed
		}
		from = at + len(h.old())
	}
	out = append(out, lines[done:]...)
	return strings.Join(out, end), nil
}

func (s *section) misfit(i int, err error) error {
	return fmt.Errorf("%s, hunk %d (line %d of the patch): %w", quote(s.path), i+1, s.hunks[i].line, err)
}

// locate finds the one place of a file, at from or after it, that the hunk belongs to: where the provider's own editor
// finds it, if there is no other place that could be meant.
func (h *hunk) locate(file *index, from int) (int, error) {
	heading, err := h.heading(file, from)
	if err != nil {
		return 0, err
	}
	old := h.old()
	if len(old) == 0 {
		return h.insertion(file, heading)
	}
	if at := file.end() - len(old); h.end {
		for same := range likenesses {
			if file.matches(old, at, same) {
				return at, nil
			}
		}
	}
	var nearest miss
	for same := range likenesses {
		found, near := file.find(old, heading.next, same)
		if len(found) > 0 && (!h.end || found[0]+len(old) <= file.end()) {
			return found[0], h.sure(file, found[0], same, heading)
		}
		if near.matched > nearest.matched {
			nearest = near
		}
	}
	if heading.found && (file.matches(old, heading.next-1, exact) || file.matches(old, heading.next-1, trimmed)) {
		return heading.next - 1, nil // the heading is the first line of the context again
	}
	return 0, both(heading.problem(), nearest.describe(file, old, from))
}

// both is one error with the text of two, of which the first may be nil.
func both(a, b error) error {
	if a == nil {
		return b
	}
	return fmt.Errorf("%w; %w", a, b)
}

// sure returns an error when the context is in another place too that could be meant.
func (h *hunk) sure(file *index, at int, same likeness, heading heading) error {
	if heading.unique {
		return nil
	}
	for l := exact; l <= same; l++ {
		found, _ := file.find(h.old(), heading.from, l)
		for _, other := range found {
			// What a final line end leaves is no line that is meant.
			if other != at && other+len(h.old()) <= file.end() {
				return both(heading.problem(),
					fmt.Errorf("its context is in the file more than once, at lines %d and %d; "+
						"add lines to it, or put an @@ line before it that is in the file only once",
						min(at, other)+1, max(at, other)+1))
			}
		}
	}
	return nil
}

// insertion is the place of a hunk that only adds lines.
func (h *hunk) insertion(file *index, heading heading) (int, error) {
	switch {
	case h.end:
		return file.end(), nil
	case file.empty():
		return heading.from, nil
	case heading.found && !heading.unique:
		last := quote(h.headings[len(h.headings)-1])
		return 0, fmt.Errorf("the line %s is in the file more than once; add lines of context", last)
	case heading.found:
		return heading.next, nil
	}
	return 0, both(heading.problem(),
		fmt.Errorf("it adds lines and does not say where; add lines of context, or %q after it", markEOF))
}

// miss is how far a search came.
type miss struct {
	matched int // so many lines of the context were found together
	after   int // the line of the file after them, from 0
}

func (m miss) describe(file *index, old []string, from int) error {
	switch {
	case m.matched == 0:
		return fmt.Errorf("its context is not in the file after line %d: no line is %s", from, quote(old[0]))
	case m.after >= file.end():
		return fmt.Errorf("its context is not in the file after line %d: the nearest place ends with the file, "+
			"and the patch has %s then", from, quote(old[m.matched]))
	}
	return fmt.Errorf("its context is not in the file after line %d: at the nearest place, line %d of the file "+
		"is %s, and the patch has %s",
		from, m.after+1, quote(file.lines[m.after]), quote(old[m.matched]))
}
