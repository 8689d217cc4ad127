package bot

import (
	"slices"

	"countersign/approvals"
)

// whoDecides says in plain words whom it takes, and who among them does not decide. The people and groups are
// mentioned, so that they learn of the question.
func whoDecides(r *approvals.Request, q approvals.Requirement) phrase {
	p := whoSits(r, q)
	set, uniform := q.Uniform()
	if r.Place.Direct && uniform && set.ChannelMembers && len(set.Users)+len(set.Groups) == 0 {
		return wordsAnswerOf(r.Requester)
	}
	if p == nil {
		return phrase{wordsNobodyMay}
	}
	if !q.SelfApproval {
		apart := []approvals.UserID{r.Requester}
		for _, u := range r.Editors {
			if u != r.Requester {
				apart = append(apart, u)
			}
		}
		p = append(p, wordsNot)
		p = append(p, persons(apart)...)
	}
	if q.DenyQuorum > 1 {
		p = append(p, wordsToReject(q.DenyQuorum))
	}
	return p
}

// whoSits names the people of whom some are needed to answer r; nil: nobody is, or nobody can be one of them.
func whoSits(r *approvals.Request, q approvals.Requirement) phrase {
	set, uniform := q.Uniform()
	switch {
	case len(q.Seats) == 0 || untakable(q.Seats):
		return nil
	case uniform:
		return append(phrase{wordsCountOf(len(q.Seats))}, named(r, set)...)
	}
	p := phrase{wordsOneEachOf}
	for i, seat := range q.Seats {
		p = append(append(p, []any{"", "; ", wordsSemicolonAnd}[joint(i, len(q.Seats))]), named(r, seat.Approvers)...)
	}
	return p
}

// untakable reports whether there is a seat that nobody can take.
func untakable(seats []approvals.Seat) bool {
	return slices.ContainsFunc(seats, func(s approvals.Seat) bool { return s.Approvers.Empty() })
}

// named lists a set of people who may answer r; more than a handful are counted. The channel whose members may is
// named: the reader may be elsewhere.
func named(r *approvals.Request, a approvals.Approvers) phrase {
	const most = 10
	var all []any
	for _, u := range a.Users {
		all = append(all, u)
	}
	for _, g := range a.Groups {
		all = append(all, group(g))
	}
	more := len(all) - most
	all = all[:min(len(all), most)]
	var p phrase
	for i, who := range all {
		if i > 0 {
			p = append(p, ", ")
		}
		p = append(p, who)
	}
	if a.ChannelMembers {
		if len(all) > 0 {
			p = append(p, ", ")
		}
		p = append(p, channelMembers(r)...)
	}
	if more > 0 {
		p = append(p, wordsAndMore(more))
	}
	return p
}

// channelMembers names the members of the channel where r was asked for; of a direct conversation that is the
// requester.
func channelMembers(r *approvals.Request) phrase {
	if r.Place.Direct {
		return phrase{r.Requester}
	}
	return phrase{wordsMembersOf, room(r.Place.Channel)}
}
