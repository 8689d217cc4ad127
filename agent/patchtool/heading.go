package patchtool

import (
	"errors"
	"fmt"
	"strings"
)

// heading is where the headings of a hunk lead to.
type heading struct {
	from   int    // where the hunk before ended
	next   int    // the line to search from
	found  bool   // that is the one after the last heading
	unique bool   // and that is not in the rest of the file a second time
	absent string // the one heading, if it is nowhere
}

// heading looks for the lines of the file that stand above the hunk. A single one that is not there is passed over, as
// by the provider's own editor: the context may still be in one place only.
func (h *hunk) heading(file *index, from int) (heading, error) {
	p := heading{from: from, next: from}
	for i, text := range h.headings {
		first := i == 0
		switch {
		case first && file.before(text, from, exact):
		case p.follow(file, text, exact):
		case first && file.before(text, from, bare):
		case p.follow(file, text, bare):
		case h.marks > 1:
			return p, fmt.Errorf(
				"there is no line %s in the file after line %d; what follows @@ is a whole line of the file",
				quote(text), p.next)
		default:
			p.absent = text
		}
	}
	return p, nil
}

// follow goes on behind the next line that is like the heading.
func (p *heading) follow(file *index, text string, same likeness) bool {
	found, _ := file.find([]string{text}, p.next, same)
	if len(found) == 0 {
		return false
	}
	p.next, p.found, p.unique = found[0]+1, true, len(found) == 1
	return true
}

// problem says what is wrong with a heading that was passed over, or nothing.
func (p *heading) problem() error {
	switch {
	case p.absent == "":
		return nil
	case strings.HasPrefix(p.absent, "-") && strings.HasSuffix(p.absent, "@@"):
		return errors.New("there are no line numbers in this format; " +
			"write @@ alone, or @@ and a line of the file above the hunk")
	}
	return fmt.Errorf("there is no line %s in the file; what follows @@ is a whole line of it", quote(p.absent))
}
