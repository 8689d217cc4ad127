package patchtool

import (
	"context"
	"fmt"
)

// update applies the hunks of a section to the text of its file. Its error says which hunk does not fit and why.
func (s *section) update(ctx context.Context, data string) (string, error) {
	lines := split(data)
	file := newIndex(texts(lines))
	var out []line
	done := 0 // lines of the file that are dealt with
	for i := range s.hunks {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		h := &s.hunks[i]
		at, err := h.locate(file, done)
		if err != nil {
			short, ok := h.withoutBlanks()
			if !ok {
				return "", s.misfit(i, err)
			}
			var again error
			if at, again = short.locate(file, done); again != nil {
				return "", s.misfit(i, err)
			}
			h = short
		}
		out = append(out, lines[done:at]...)
		out = h.replace(out, lines, at)
		done = at + len(h.old())
	}
	out = append(out, lines[done:]...)
	return join(finish(lines, out)), nil
}

func (s *section) misfit(i int, err error) error {
	return fmt.Errorf("%s, hunk %d (line %d of the patch): %w", quote(s.path), i+1, s.hunks[i].line, err)
}

// locate finds the one place of a file, at from or after it, that the hunk belongs to.
func (h *hunk) locate(file *index, from int) (int, error) {
	heading, err := h.heading(file, from)
	if err != nil {
		return 0, err
	}
	old := h.old()
	switch {
	case len(old) == 0:
		return h.insertion(file, heading)
	case h.end:
		return atEnd(file, old, heading.next)
	}
	var nearest miss
	for _, same := range []likeness{exact, trimmed} {
		// The heading may also be the first line of the context again.
		for _, start := range []int{heading.next, heading.at} {
			found, near := file.find(old, start, same)
			if len(found) == 1 || len(found) > 1 && heading.unique {
				return found[0], nil
			}
			if len(found) > 1 {
				return 0, fmt.Errorf("its context is in the file more than once, at lines %d and %d; add lines to it, or put an @@ line before it that is in the file only once", found[0]+1, found[1]+1)
			}
			if near.matched > nearest.matched {
				nearest = near
			}
		}
	}
	return 0, nearest.describe(file.lines, old, from)
}

// place is where the headings of a hunk lead to.
type place struct {
	at, next int  // the last heading's line, and the one after it; without headings both are where the search begins
	unique   bool // there is a heading, and it is not in the rest of the file a second time
}

func (h *hunk) heading(file *index, from int) (place, error) {
	p := place{at: from, next: from}
	for _, heading := range h.headings {
		found, _ := file.find([]string{heading}, p.next, exact)
		if len(found) == 0 {
			found, _ = file.find([]string{heading}, p.next, bare)
		}
		if len(found) == 0 {
			return p, fmt.Errorf("there is no line %s in the file after line %d; what follows @@ is a whole line of the file", quote(heading), p.next)
		}
		p = place{at: found[0], next: found[0] + 1, unique: len(found) == 1}
	}
	return p, nil
}

// insertion is the place of a hunk that only adds lines.
func (h *hunk) insertion(file *index, heading place) (int, error) {
	switch {
	case h.end || len(file.lines) == 0:
		return len(file.lines), nil
	case len(h.headings) == 0:
		return 0, fmt.Errorf("it adds lines and does not say where; add lines of context, or %q after it", markEOF)
	case !heading.unique:
		return 0, fmt.Errorf("the line %s is in the file more than once; add lines of context", quote(h.headings[len(h.headings)-1]))
	}
	return heading.next, nil
}

func atEnd(file *index, old []string, from int) (int, error) {
	at := len(file.lines) - len(old)
	for _, same := range []likeness{exact, trimmed} {
		if at < from {
			break
		}
		if found, _ := file.find(old, at, same); len(found) > 0 {
			return at, nil
		}
	}
	return 0, fmt.Errorf("its context is not at the end of the file, as %q says", markEOF)
}

// miss is how far a search came.
type miss struct {
	matched int // so many lines of the context were found together
	after   int // the line of the file after them, from 0
}

func (m miss) describe(file, old []string, from int) error {
	switch {
	case m.matched == 0:
		return fmt.Errorf("its context is not in the file after line %d: no line is %s", from, quote(old[0]))
	case m.after >= len(file):
		return fmt.Errorf("its context is not in the file after line %d: the nearest place ends with the file, and the patch has %s then", from, quote(old[m.matched]))
	}
	return fmt.Errorf("its context is not in the file after line %d: at the nearest place, line %d of the file is %s, and the patch has %s",
		from, m.after+1, quote(file[m.after]), quote(old[m.matched]))
}
