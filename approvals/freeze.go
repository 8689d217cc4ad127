package approvals

import (
	"slices"
	"strings"
	"time"
)

// Freeze is a time during which nobody affirms but some people, who must be approvers as at other times. Rejections
// stay possible, and so does saying what became of a call.
type Freeze struct {
	From   time.Time `json:"from"` // the first instant
	To     time.Time `json:"to"`   // the first instant after it
	Except Approvers `json:"except,omitzero"`
}

func (z Freeze) equal(o Freeze) bool {
	return z.From.Equal(o.From) && z.To.Equal(o.To) && z.Except.equal(o.Except)
}

// holds reports whether the freeze is in force.
func (z Freeze) holds(now time.Time) bool { return !now.Before(z.From) && now.Before(z.To) }

// freezeMargin is how far from now, by this process's clock, a freeze may begin or have ended for which people are
// looked up: the store's clock, which is the one that counts, may differ.
const freezeMargin = time.Hour

// near reports whether the freeze may be in force at a moment close to now.
func (z Freeze) near(now time.Time) bool {
	return !now.Before(z.From.Add(-freezeMargin)) && now.Before(z.To.Add(freezeMargin))
}

// asOf has g gather who is excepted from the freezes that are near by the store's time, now.
func (g *gatherer) asOf(now time.Time) *gatherer {
	g.now = now
	return g
}

// starts reports whether the verdict, once given by enough people, lets a call start. Values that somebody fills in do,
// where the tool's gate does not ask.
func (v Verdict) starts() bool { return v.Affirms() && (!v.alone() || v == ProvideInput) }

// thawed returns nil unless a freeze of the requirement keeps u from affirming: then ErrUnauthorized with the reason in
// words, or ErrUnavailable where it cannot be told whether u is excepted.
func (f *facts) thawed(q *Requirement, u UserID, now time.Time) error {
	z, err := f.freezeOn(q, u, now)
	if err != nil || z == nil {
		return err
	}
	why := wordsFrozen(q.name(), freezeTime(z.To), z.exceptions(wordsForAllBut))
	return RuleFrozen.refuse(ErrUnauthorized, "", why)
}

// freezeOn returns the freeze of the requirement that keeps u from affirming; nil: none does. The error is
// ErrUnavailable where it cannot be told whether u is excepted.
func (f *facts) freezeOn(q *Requirement, u UserID, now time.Time) (*Freeze, error) {
	for i := range q.Freeze {
		z := &q.Freeze[i]
		if !z.holds(now) {
			continue
		}
		excepted, err := f.in(z.Except, u)
		if err != nil {
			return nil, err
		}
		if !excepted {
			return z, nil
		}
	}
	return nil, nil
}

// thawedBoth applies thawed to what was recorded with r and to the current requirement.
func (f *facts) thawedBoth(r *RequestHead, current *Requirement, u UserID, now time.Time) error {
	for _, q := range r.demands(current) {
		if err := f.thawed(q, u, now); err != nil {
			return err
		}
	}
	return nil
}

// frozenOut returns the end of a freeze that excepts nobody and covers all the time in which a request made now could
// be answered; the zero time when there is none.
func (q *Requirement) frozenOut(now time.Time) time.Time {
	if q.ExpiresIn == 0 || q.OnExpiry == ExpiryKeep {
		return time.Time{}
	}
	for _, z := range q.Freeze {
		if z.Except.Empty() && z.holds(now) && z.holds(now.Add(q.ExpiresIn)) {
			return z.To
		}
	}
	return time.Time{}
}

// freezeTime writes an instant for people.
func freezeTime(t time.Time) string { return t.UTC().Format(wordsTimeUTC) }

// exceptions names those whom the freeze excepts, after lead; empty for nobody.
func (z Freeze) exceptions(lead string) string {
	if z.Except.Empty() {
		return ""
	}
	return lead + strings.Join(z.Except.words(), ", ")
}

// Describe says in plain words when nobody may affirm but whom. Users and groups appear with the ids that the surface
// knows.
func (z Freeze) Describe() string {
	return wordsFreeze(z.From, z.To, z.exceptions(""))
}

// Freezes returns the freezes that touch the time in which the pending request can be answered: those recorded with it
// and, where Progress is known, those of what is demanded now.
func (r *RequestHead) Freezes() []Freeze {
	all := slices.Clone(r.Requirement.Freeze)
	if r.Progress != nil {
		for _, z := range r.Progress.Current.Freeze {
			if !slices.ContainsFunc(all, z.equal) {
				all = append(all, z)
			}
		}
	}
	return slices.DeleteFunc(all, func(z Freeze) bool {
		return !z.To.After(r.Created) || !r.Expires.IsZero() && !z.From.Before(r.Expires)
	})
}
