package approvals

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Progress says what it still takes to approve a pending request, by what is known now of people and policies. It is
// for showing to people: Decide asks anew.
type Progress struct {
	// Current is what the policy demands now. It has to be met beside what was recorded with the request.
	Current Requirement
	// Changed says that Current asks other people, or more of them, than what was recorded.
	Changed bool
	// Missing are the seats of the recorded requirement, MissingNow those of Current, that nobody takes who has
	// approved, with the people who could.
	Missing, MissingNow []Seat
	// MissingBefore are those of RequestHead.Inherited, in its order.
	MissingBefore [][]Seat
	// Uncounted are people who have approved and could not any more: their answers will not count.
	Uncounted []UserID
}

// Left returns how many more people have to approve at least.
func (p *Progress) Left() int {
	n := max(len(p.Missing), len(p.MissingNow))
	for _, seats := range p.MissingBefore {
		n = max(n, len(seats))
	}
	return n
}

// DenyQuorum returns how many rejections settle the request: as many as the laxest of the requirements asks for.
func (p *Progress) DenyQuorum(r *RequestHead) int {
	least := r.Requirement.DenyQuorum
	for _, q := range r.demands(&p.Current) {
		least = min(least, q.DenyQuorum)
	}
	return least
}

// Progress returns what it still takes to approve r, which is pending. ErrUnavailable: the policy fails. Whoever
// cannot be looked up now is taken to count.
func (s *Service) Progress(ctx context.Context, r *Request) (*Progress, error) {
	now, err := s.now(ctx)
	var p *Progress
	if err == nil {
		p, err = newGatherer(s.directory, s.policy, r.conversation(), noTime).progress(ctx, r, now)
	}
	if err != nil {
		return nil, fmt.Errorf("progress of request %s: %w", r.ID, err)
	}
	return p, nil
}

// progress is Service.Progress by the answers that were gathered; it asks for those that are missing.
func (g *gatherer) progress(ctx context.Context, r *Request, now time.Time) (*Progress, error) {
	current, err := g.demand(ctx, r)
	if err != nil {
		return nil, err
	}
	p := &Progress{
		Current: current, Changed: !r.Requirement.asks(current),
		Missing: r.Requirement.Seats, MissingNow: current.Seats,
	}
	for i := range r.Inherited {
		p.MissingBefore = append(p.MissingBefore, r.Inherited[i].Seats)
	}
	voters := r.voters(true)
	if len(voters) == 0 && r.Requirement.Escalation.After == 0 && current.Escalation.After == 0 {
		p.leaveOut(r.demands(&current))
		return p, nil
	}
	var counted []voter
	g.asOf(now).rights(ctx, voterIDs(voters), r.demands(&current)...)
	for _, v := range voters {
		if errors.Is(g.mayAnswerBoth(&r.RequestHead, &current, v, now), ErrUnauthorized) {
			p.Uncounted = append(p.Uncounted, v.by)
		} else {
			counted = append(counted, v)
		}
	}
	p.Missing = g.untaken(r.terms(&r.Requirement, now), counted)
	p.MissingNow = p.Missing
	if p.Changed {
		p.MissingNow = g.untaken(r.terms(&current, now), counted)
	}
	for i := range r.Inherited {
		p.MissingBefore[i] = g.untaken(r.terms(&r.Inherited[i], now), counted)
	}
	p.leaveOut(r.demands(&current))
	return p, nil
}

// leaveOut takes the people out of the missing seats whom one of the requirements does not name: whoever answers has to
// be one of those that each of them asks. A seat may be left that nobody can take.
func (p *Progress) leaveOut(demands []*Requirement) {
	barred := func(u UserID) bool {
		return slices.ContainsFunc(demands, func(q *Requirement) bool { return !q.mayName(u) })
	}
	for _, seats := range append([]*[]Seat{&p.Missing, &p.MissingNow}, pointers(p.MissingBefore)...) {
		kept := slices.Clone(*seats)
		for i := range kept {
			kept[i].Approvers.Users = slices.DeleteFunc(slices.Clone(kept[i].Approvers.Users), barred)
		}
		*seats = kept
	}
}

func pointers[T any](all []T) (to []*T) {
	for i := range all {
		to = append(to, &all[i])
	}
	return to
}

// mayName reports whether the person can be one of those whom the requirement asks, by its words alone: they do not say
// who is in a group or a channel.
func (q *Requirement) mayName(u UserID) bool {
	of := func(a Approvers) bool { return len(a.Groups) > 0 || a.ChannelMembers || slices.Contains(a.Users, u) }
	return of(q.Escalation.To) || slices.ContainsFunc(q.Seats, func(s Seat) bool { return of(s.Approvers) })
}

// changed is progress where the policy asks others by now than were recorded with r; nil where it does not, or where
// that cannot be found out.
func (g *gatherer) changed(ctx context.Context, r *Request, now time.Time) *Progress {
	current, err := g.demand(ctx, r)
	if err != nil || r.Requirement.asks(current) {
		return nil
	}
	p, _ := g.progress(ctx, r, now)
	return p
}

// asks reports whether o asks the same of the same people. How long an approval lasts does not matter.
func (q Requirement) asks(o Requirement) bool {
	return slices.EqualFunc(q.Seats, o.Seats, Seat.equal) && q.DenyQuorum == o.DenyQuorum &&
		q.SelfApproval == o.SelfApproval && q.Escalation.equal(o.Escalation)
}

// untaken returns the seats that are left when as many as possible are taken by these people, without those people.
// Where the people could move to other seats and leave any of several free, each of the seats is for all who could take
// one of them.
func (f *facts) untaken(t *terms, voters []voter) []Seat {
	if len(voters) == 0 {
		return t.Seats
	}
	var people []UserID
	for _, v := range voters {
		people = append(people, v.people()...)
	}
	edges := make([][]int, len(t.Seats))
	for i, seat := range t.Seats {
		for j, v := range voters {
			if !errors.Is(f.maySit(t, seat, v), ErrUnauthorized) {
				edges[i] = append(edges[i], j)
			}
		}
	}
	most := taken(edges, len(voters))
	var free []Seat // each of which can stay free
	for i, seat := range t.Seats {
		if taken(slices.Delete(slices.Clone(edges), i, i+1), len(voters)) == most {
			seat.Approvers.Users = without(seat.Approvers.Users, people)
			free = append(free, seat)
		}
	}
	left := len(t.Seats) - most
	if len(free) <= left {
		return free
	}
	anyOf := free[0]
	for _, seat := range free[1:] {
		anyOf.Approvers = anyOf.Approvers.or(seat.Approvers)
	}
	return slices.Repeat([]Seat{anyOf}, left)
}

// or returns the people of both sets.
func (a Approvers) or(o Approvers) Approvers {
	return Approvers{
		Users:          append(slices.Clip(a.Users), without(o.Users, a.Users)...),
		Groups:         append(slices.Clip(a.Groups), without(o.Groups, a.Groups)...),
		ChannelMembers: a.ChannelMembers || o.ChannelMembers,
	}
}

// without returns a copy of all that leaves out some.
func without[T comparable](all, some []T) []T {
	return slices.DeleteFunc(slices.Clone(all), func(v T) bool { return slices.Contains(some, v) })
}

// Granted reports whether the answers that settled the request made a grant: all of them were for later calls too, on
// terms that go together, and nobody's was on behalf of somebody else.
func (r *RequestHead) Granted() bool {
	if !r.granting() || r.forOthers() {
		return false
	}
	_, ok := r.narrowest()
	return ok
}

// Lasting reports whether the answer that settled the request holds for all later calls of the tool in the run too: all
// whose answers count said so, and nothing else.
func (r *RequestHead) Lasting() bool {
	d := r.Settler()
	return d != nil && d.standing() && r.standing()
}
