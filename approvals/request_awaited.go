package approvals

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// mostAwaited bounds how many people Awaited names one by one.
const mostAwaited = 10

// Awaited are people who could answer a pending request now: those whom somebody may call to it.
type Awaited struct {
	Users  []UserID
	Groups []string // user groups of which every member could
	// ChannelMembers says that members of the request's channel could; they are not named one by one.
	ChannelMembers bool
	// More says that there are others, or some of whom it cannot be found out now.
	More bool
}

// Awaited returns who of the sets could answer r now; without sets, of those who may take the seats that nobody takes
// who has approved. Whoever has answered, or may not, is not among them. ErrUnavailable: the policy fails.
func (s *Service) Awaited(ctx context.Context, r *Request, sets ...Approvers) (Awaited, error) {
	p, err := s.Progress(ctx, r)
	if err != nil {
		return Awaited{}, err
	}
	now, err := s.now(ctx)
	if err != nil {
		return Awaited{}, fmt.Errorf("who could answer request %s: %w", r.ID, err)
	}
	if len(sets) == 0 {
		for _, seat := range slices.Concat(p.Missing, p.MissingNow) {
			sets = append(sets, seat.Approvers)
		}
	}
	w := &roll{
		gatherer: newGatherer(s.directory, s.policy, r.conversation(), noTime).asOf(now), r: r,
		current: &p.Current, now: now,
	}
	for _, set := range sets {
		w.add(ctx, set)
	}
	return w.Awaited, nil
}

// roll finds out who could answer a request.
type roll struct {
	*gatherer
	Awaited
	r       *Request
	current *Requirement
	now     time.Time
	looked  int // how many people were looked at
}

// add looks at everybody whom the set names.
func (w *roll) add(ctx context.Context, a Approvers) {
	w.ChannelMembers = w.ChannelMembers || a.ChannelMembers
	w.lookUp(ctx, a.Users)
	for _, u := range a.Users {
		if w.could(ctx, u) {
			w.name(u)
			w.nameAll(w.delegates(ctx, u, false))
		}
	}
	for _, group := range a.Groups {
		if slices.Contains(w.Groups, group) {
			continue
		}
		members, err := w.group(ctx, group)
		if err != nil {
			w.More = true
			continue
		}
		w.lookUp(ctx, members)
		could := slices.DeleteFunc(slices.Clone(members), func(u UserID) bool { return !w.could(ctx, u) })
		if len(could) > 0 && len(could) == len(members) {
			w.Groups = append(w.Groups, group)
		} else {
			w.nameAll(could)
		}
		for _, u := range could {
			w.nameAll(w.delegates(ctx, u, false))
		}
	}
}

func (w *roll) nameAll(people []UserID) {
	for _, u := range people {
		w.name(u)
	}
}

func (w *roll) name(u UserID) {
	switch {
	case slices.Contains(w.Users, u):
	case len(w.Users) < mostAwaited:
		w.Users = append(w.Users, u)
	default:
		w.More = true
	}
}

// lookUp asks for what could needs to know of all these people, at once.
func (w *roll) lookUp(ctx context.Context, people []UserID) {
	var those []UserID
	for _, u := range people {
		if len(those) < maxLookups-w.looked && w.r.decidedBy(u) == nil {
			those = append(those, u)
		}
	}
	w.rights(ctx, those, &w.r.Requirement, w.current)
}

// could reports whether u could answer now. Whoever is too much to look up, or cannot be, is left out.
func (w *roll) could(ctx context.Context, u UserID) bool {
	if w.r.decidedBy(u) != nil {
		return false
	}
	if w.looked++; w.looked > maxLookups {
		w.More = true
		return false
	}
	w.rights(ctx, []UserID{u}, &w.r.Requirement, w.current)
	err := w.mayDecide(&w.r.RequestHead, w.current, u, w.now)
	w.More = w.More || errors.Is(err, ErrUnavailable)
	return err == nil
}

// delegates returns who could answer now for u, who could answer and is away; unsure: also whoever cannot be looked up.
func (w *roll) delegates(ctx context.Context, u UserID, unsure bool) (all []UserID) {
	for _, d := range w.delegations {
		if d.From != u || !w.now.Before(d.Until) || w.r.decidedBy(d.To) != nil || slices.Contains(all, d.To) {
			continue
		}
		if w.looked++; w.looked > maxLookups {
			w.More = true
			break
		}
		w.rights(ctx, []UserID{d.To}, &w.r.Requirement, w.current)
		err := w.mayAnswerBoth(&w.r.RequestHead, w.current, voter{d.To, u}, w.now)
		unknown := errors.Is(err, ErrUnavailable)
		w.More = w.More || unknown
		if err == nil || unsure && unknown && !errors.Is(err, errNotGathered) {
			all = append(all, d.To)
		}
	}
	return all
}
