package approvals

import (
	"bytes"
	"slices"
	"strings"

	"countersign/agent"
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

// replaced fills in what has taken the place of a stale request.
func (r *Request) replaced(tx Tx) error {
	all, err := tx.RequestsOfRun(r.Workspace, r.Run)
	if err != nil {
		return err
	}
	for _, o := range all {
		if o.Interruption != r.Interruption || o.Kind != r.Kind || o.ID <= r.ID {
			continue
		}
		next, err := tx.Request(o.Workspace, o.ID)
		if err != nil {
			return err
		}
		r.Replaced = r.replacement(next)
		return nil
	}
	return nil
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

// complement fills in of a request that is shown to people what its own record does not hold. publicURL is where
// callbacks arrive.
func (r *Request) complement(tx Tx, publicURL string) error {
	switch {
	case r.Status == RequestStale:
		return r.replaced(tx)
	case r.Status == RequestPending && r.Kind == agent.Confirm:
		return r.neighbours(tx)
	case r.Status == RequestPending && r.Kind == agent.ExternalResult:
		r.Callbacks = publicURL != "" && !r.IsQuestion()
	}
	return nil
}
