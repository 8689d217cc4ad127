package approvals

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// people answers who somebody is and which sets they are in. It asks the directory once for each question and keeps
// the answer for as long as it lives: one call of a Service method.
type people struct {
	dir      Directory
	persons  map[UserID]Person
	groups   map[string][]UserID
	channels map[string][]UserID
	present  map[presence]bool
	// since is when the earliest question that counts was put; the zero time: an answer of the last minute will do.
	since time.Time
	// closed forbids further questions: inside a transaction nobody is asked, and what was not asked before counts as
	// unknown.
	closed bool
}

// presence asks whether somebody is in a channel.
type presence struct {
	channel string
	user    UserID
}

func newPeople(dir Directory) *people {
	return &people{
		dir: dir, persons: map[UserID]Person{}, groups: map[string][]UserID{}, channels: map[string][]UserID{},
		present: map[presence]bool{},
	}
}

// errNotAsked is returned inside a transaction for a question that was not asked before it.
var errNotAsked = fmt.Errorf("%w: not asked before the transaction", ErrUnavailable)

// known returns the kept answer, or asks and keeps it.
func known[K comparable, V any](p *people, kept map[K]V, key K, ask func() (V, error)) (V, error) {
	if v, ok := kept[key]; ok {
		return v, nil
	}
	var none V
	if p.closed {
		return none, errNotAsked
	}
	v, err := ask()
	if err != nil {
		return none, err
	}
	kept[key] = v
	return v, nil
}

func (p *people) person(ctx context.Context, u UserID) (Person, error) {
	return known(p, p.persons, u, func() (Person, error) {
		who, err := p.dir.Person(ctx, u, p.since)
		if errors.Is(err, ErrNotFound) {
			return Person{ID: u, Why: "unknown to the workspace"}, nil
		}
		if err != nil {
			return Person{}, fmt.Errorf("%w: look up %s: %w", ErrUnavailable, u, err)
		}
		return who, nil
	})
}

func (p *people) group(ctx context.Context, ws WorkspaceID, group string) ([]UserID, error) {
	return known(p, p.groups, group, func() ([]UserID, error) {
		all, err := p.dir.Members(ctx, ws, group, p.since)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return nil, fmt.Errorf("%w: members of group %s: %w", ErrUnavailable, group, err)
		}
		return all, nil
	})
}

func (p *people) channel(ctx context.Context, ws WorkspaceID, channel string) ([]UserID, error) {
	return known(p, p.channels, channel, func() ([]UserID, error) {
		all, err := p.dir.ChannelMembers(ctx, ws, channel)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return nil, fmt.Errorf("%w: members of channel %s: %w", ErrUnavailable, channel, err)
		}
		return all, nil
	})
}

func (p *people) inChannel(ctx context.Context, ws WorkspaceID, channel string, u UserID) (bool, error) {
	return known(p, p.present, presence{channel, u}, func() (bool, error) {
		in, err := p.dir.InChannel(ctx, ws, channel, u, p.since)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return false, fmt.Errorf("%w: look for %s in channel %s: %w", ErrUnavailable, u, channel, err)
		}
		return in, nil
	})
}

// regular returns ErrUnauthorized unless u is a full, active member of the workspace.
func (p *people) regular(ctx context.Context, ws WorkspaceID, u UserID) error {
	if u.Workspace() != ws {
		return fmt.Errorf("%w: of another workspace", ErrUnauthorized)
	}
	who, err := p.person(ctx, u)
	if err != nil {
		return err
	}
	if !who.Regular {
		why := who.Why
		if why == "" {
			why = "not a regular member of the workspace"
		}
		return fmt.Errorf("%w: %s", ErrUnauthorized, why)
	}
	return nil
}

// conversation is what a set of people may depend on.
type conversation struct {
	ws        WorkspaceID
	place     Place
	requester UserID
}

func (r *Request) conversation() conversation {
	return conversation{ws: r.Workspace, place: r.Place, requester: r.Requester}
}

// in reports whether the set names u. It does not say whether u is regular.
func (p *people) in(ctx context.Context, a Approvers, at conversation, u UserID) (bool, error) {
	if slices.Contains(a.Users, u) {
		return true, nil
	}
	for _, g := range a.Groups {
		all, err := p.group(ctx, at.ws, g)
		if err != nil || slices.Contains(all, u) {
			return err == nil, err
		}
	}
	switch {
	case !a.ChannelMembers:
		return false, nil
	case at.place.Direct:
		return u == at.requester, nil
	}
	return p.inChannel(ctx, at.ws, at.place.Channel, u)
}

// lists yields the lists of people that make up the set, cheapest first. An error ends it.
func (p *people) lists(ctx context.Context, a Approvers, at conversation) func(yield func([]UserID, error) bool) {
	return func(yield func([]UserID, error) bool) {
		if !yield(a.Users, nil) {
			return
		}
		for _, g := range a.Groups {
			all, err := p.group(ctx, at.ws, g)
			if !yield(all, err) || err != nil {
				return
			}
		}
		if !a.ChannelMembers {
			return
		}
		if at.place.Direct {
			yield([]UserID{at.requester}, nil)
			return
		}
		yield(p.channel(ctx, at.ws, at.place.Channel))
	}
}

// maxLookups bounds how many people are looked up to find out whether a quorum exists.
const maxLookups = 200

// enough reports whether at least n people could approve under q, without those that but names, and how many were
// found: looking ends at n. Past maxLookups it assumes that there are enough; whoever answers is checked in any case.
func (p *people) enough(ctx context.Context, q Requirement, at conversation, n int, but func(UserID) bool) (bool, int, error) {
	seen := map[UserID]bool{}
	found := 0
	for each, err := range p.lists(ctx, q.Approvers, at) {
		if err != nil {
			return false, found, err
		}
		for _, u := range each {
			if seen[u] || but(u) {
				continue
			}
			seen[u] = true
			err := p.seat(ctx, q, at, u)
			if err == nil {
				found++
			} else if !errors.Is(err, ErrUnauthorized) {
				return false, found, err
			}
			if found >= n || len(seen) > maxLookups {
				return true, found, nil
			}
		}
	}
	return false, found, nil
}

// seat is the one place that says who may answer under a requirement: a regular person of the workspace, in the
// approvers, and not the requester unless self-approval is allowed. Otherwise it returns ErrUnauthorized with the
// reason in words, or ErrUnavailable.
func (p *people) seat(ctx context.Context, q Requirement, at conversation, u UserID) error {
	if err := p.regular(ctx, at.ws, u); err != nil {
		return err
	}
	if u == at.requester && !q.SelfApproval {
		return fmt.Errorf("%w: %s", ErrUnauthorized, "the requester does not decide about their own request")
	}
	ok, err := p.in(ctx, q.Approvers, at, u)
	if err != nil {
		return err
	}
	if !ok {
		return fmt.Errorf("%w: not an approver under %s", ErrUnauthorized, q.name())
	}
	return nil
}

// mayAnswer applies seat to the requirement recorded with r and to the current one: both must be satisfied.
func (p *people) mayAnswer(ctx context.Context, r *Request, current Requirement, u UserID) error {
	if err := p.seat(ctx, r.Requirement, r.conversation(), u); err != nil {
		return err
	}
	if r.Requirement.equal(current) {
		return nil
	}
	return p.seat(ctx, current, r.conversation(), u)
}

// maySee says whether u may see what r holds: its requester, the people of its channel, and who may decide it.
func (p *people) maySee(ctx context.Context, r *Request, current Requirement, u UserID) error {
	if err := p.regular(ctx, r.Workspace, u); err != nil {
		return err
	}
	if u == r.Requester {
		return nil
	}
	member, err := p.in(ctx, Approvers{ChannelMembers: true}, r.conversation(), u)
	if member || err != nil {
		return err
	}
	return p.mayAnswer(ctx, r, current, u)
}
