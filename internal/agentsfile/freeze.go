package agentsfile

import (
	"errors"
	"time"
)

// Freeze is a time during which nobody approves but some people.
type Freeze struct {
	Position
	From   time.Time // the first instant
	To     time.Time // the first instant after it
	Except People    // may be empty
}

// decodeFreeze reads the list of freezes. Both ends are dates or instants: a date is a day in UTC, of which from means
// the beginning and to the end, so that the days named are frozen whole; an instant has its offset, and to is the first
// that is not frozen.
func (o *object) decodeFreeze() (all []Freeze) {
	for _, n := range o.list("freeze") {
		const what = "an entry of freeze"
		f := o.decoder.object(n, what, freezeKeys)
		if n.kind != kindMapping {
			continue
		}
		f.require(what, "from", "to")
		z := Freeze{Position: n.pos, From: f.instant("from", 0), To: f.instant("to", 1)}
		if e := f.values["except"]; e != nil {
			z.Except = o.decoder.decodePeople(e, "except")
		}
		if !z.From.IsZero() && !z.To.IsZero() && !z.From.Before(z.To) {
			o.problem(n.pos, "this freeze ends before it begins; from comes before to")
		}
		all = append(all, z)
	}
	return all
}

var errInstant = errors.New("neither a date nor an instant")

// instant returns the value of the key in UTC, of a date the beginning of the day that is so many days later; the zero
// time when absent or wrong.
func (o *object) instant(key string, days int) time.Time {
	n := o.of(key, kindString)
	if n == nil {
		return time.Time{}
	}
	o.noVariables(n, key)
	t, err := parseInstant(n.text, days)
	if err != nil {
		o.problem(n.pos, "%s is a date, such as 2026-12-24, or an instant with its offset, such as "+
			"2026-12-24T18:00:00Z or 2026-12-24T18:00:00+01:00, not %q", key, n.text)
	}
	return t
}

func parseInstant(text string, days int) (time.Time, error) {
	t, err := time.Parse(time.DateOnly, text)
	if err == nil {
		t = t.AddDate(0, 0, days)
	} else if t, err = time.Parse(time.RFC3339, text); err != nil {
		return time.Time{}, errInstant
	}
	if t.Year() < 2000 || t.Year() > 2200 { // surely a slip, and years beyond 9999 cannot be stored
		return time.Time{}, errInstant
	}
	return t.UTC(), nil
}
