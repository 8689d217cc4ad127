package approvals

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
)

// Replacement is the question about the same call that was put after another one had become stale, and what differs
// between the two.
type Replacement struct {
	ID        RequestID
	Arguments bool
	// Definition says that the tool is defined otherwise; Parts names which of its parts, as far as requests hold them:
	// "version", "description", "binding".
	Definition bool
	Parts      []string
	// Facts names what the call depends on and found changed: the lines of RequestContent.Facts, each without its
	// last word.
	Facts []string
}

// Differs reports whether anything does. Otherwise it was the approval alone that did not hold any more.
func (r *Replacement) Differs() bool { return r.Arguments || r.Definition || len(r.Facts) > 0 }

// nextOf returns which of all requests of the run has taken the place of r; nil for none.
func (r *RequestHead) nextOf(all []*RequestHead) *RequestHead {
	next := r.SupersededBy
	if r.Status == RequestStale {
		next = r.AskedAgain
	}
	for _, o := range all {
		switch {
		case next != "":
			if o.ID == next {
				return o
			}
		case r.Status == RequestStale && r.asksSame(o) && o.ID > r.ID && o.AskedAgain == "":
			// Records of earlier versions do not say it. Of two that do not, the one with the larger id is younger,
			// unless the clock was set back.
			return o
		}
	}
	return nil
}

// lastOf follows nextOf to its end; nil where there is no next one.
func (r *RequestHead) lastOf(all []*RequestHead) (last *RequestHead) {
	for range all { // at most as many steps as there are requests, should the records form a ring
		next := cmp.Or(last, r).nextOf(all)
		if next == nil {
			break
		}
		last = next
	}
	return last
}

// replacement compares what two requests about the same call show.
func (r *Request) replacement(next *Request) *Replacement {
	p := &Replacement{
		ID: next.ID, Arguments: !bytes.Equal(r.Arguments, next.Arguments), Definition: r.Definition != next.Definition,
	}
	was, is := &r.Tool, &next.Tool
	for _, part := range []struct {
		name string
		same bool
	}{
		{"version", was.Version == is.Version}, {"description", was.Description == is.Description},
		{"binding", slices.Equal(was.Binding, is.Binding)},
	} {
		if p.Definition && !part.same {
			p.Parts = append(p.Parts, part.name)
		}
	}
	p.Facts = unlike(r.Facts, next.Facts)
	return p
}

// unlike names the lines that one of the lists has and the other has not.
func unlike(a, b []string) (names []string) {
	for _, lists := range [][2][]string{{a, b}, {b, a}} {
		for _, line := range lists[0] {
			if slices.Contains(lists[1], line) {
				continue
			}
			name := line
			if i := strings.LastIndexByte(line, ' '); i > 0 {
				name = line[:i]
			}
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}
