package approvals

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"
)

// Delegation lets a person decide for another one, who is away. It passes on what the absent person may decide
// themselves, and nothing that they may decide only for somebody else.
type Delegation struct {
	From, To UserID
	Until    time.Time // the first instant at which it holds no longer
}

// Delegator is a Policy that knows who decides for people who are away. A Policy that is none has no delegations.
type Delegator interface {
	Delegations(ws WorkspaceID) []Delegation
}

// voter is who gives an answer: a person, perhaps on behalf of another one.
type voter struct {
	by UserID
	on UserID // on whose behalf; empty: their own
}

func (d *Decision) voter() voter { return voter{d.By, d.For} }

// voterIDs are the people who give the answers.
func voterIDs(all []voter) []UserID {
	ids := make([]UserID, len(all))
	for i, v := range all {
		ids[i] = v.by
	}
	return ids
}

// principal is the person who counts: who takes the seat.
func (v voter) principal() UserID { return cmp.Or(v.on, v.by) }

// people are those who take part in the answer. None of them takes part in another one to the same request.
func (v voter) people() []UserID {
	if v.on == "" {
		return []UserID{v.by}
	}
	return []UserID{v.by, v.on}
}

// delegated returns ErrUnauthorized unless the voter answers for themselves, or for somebody who lets them now.
func (f *facts) delegated(v voter, now time.Time) error {
	if v.on == "" || slices.ContainsFunc(f.delegations, func(d Delegation) bool {
		return d.To == v.by && d.From == v.on && now.Before(d.Until)
	}) {
		return nil
	}
	return refuse(ErrUnauthorized, wordsNoDelegate)
}

// stands returns as whom the person of d answers r. Whoever does not say so answers for themselves if they may, and
// else for the one person for whom they may and who has no answer yet. Whoever has answered is not asked for whom they
// would once more.
func (f *facts) stands(r *RequestHead, current *Requirement, d *Decision, now time.Time) (voter, error) {
	own := d.voter()
	err := f.mayAnswerBoth(r, current, own, now)
	if own.on != "" || d.Standing != nil || !errors.Is(err, ErrUnauthorized) {
		return own, err
	}
	var possible []voter
	var unknown error
	for _, del := range f.delegations {
		if del.To != d.By || !now.Before(del.Until) {
			continue
		}
		v := voter{d.By, del.From}
		if slices.Contains(possible, v) {
			continue
		}
		switch may := f.mayAnswerBoth(r, current, v, now); {
		case may == nil:
			possible = append(possible, v)
		case !errors.Is(may, ErrUnauthorized):
			unknown = may
		}
	}
	switch {
	case unknown != nil:
		return own, unknown
	case len(possible) == 0:
		return own, err
	}
	left := slices.DeleteFunc(slices.Clone(possible), func(v voter) bool { return r.decidedBy(v.on) != nil })
	switch {
	case len(left) == 1:
		return left[0], nil
	case len(left) == 0 || r.decidedBy(d.By) != nil:
		return possible[0], nil
	}
	return own, severally(left)
}

// severally refuses an answer that could be for several people.
func severally(all []voter) error {
	var ids, names []string
	for _, v := range all {
		ids, names = append(ids, string(v.on)), append(names, v.on.Local())
	}
	return RuleForWhom.refuse(ErrUnauthorized, strings.Join(ids, " "), wordsForWhom(join(names)))
}

// mayDecide is stands for somebody who has not answered yet, and does not say as whom they would. A delegate of several
// may: for whom, they say with their answer.
func (f *facts) mayDecide(r *RequestHead, current *Requirement, u UserID, now time.Time) error {
	_, err := f.stands(r, current, &Decision{By: u}, now)
	if refused, ok := errors.AsType[*Refusal](err); ok && refused.Rule == RuleForWhom {
		return nil
	}
	return err
}

func join(all []string) string { return strings.Join(all, ", ") }
