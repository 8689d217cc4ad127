package approvals

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"
)

// gatherer asks the directory and the policy, and keeps the answers as facts. It asks each question once.
type gatherer struct {
	dir    Directory
	policy Policy
	since  time.Time   // answers must be as new; zero: kept ones will do
	now    time.Time   // of the store, about; zero: this process's
	told   PolicyFacts // what the policy wanted to know
	facts
}

func newGatherer(dir Directory, policy Policy, at conversation, since time.Time) *gatherer {
	g := &gatherer{dir: dir, policy: policy, since: since, facts: facts{
		at: at,
	}}
	if d, ok := policy.(Delegator); ok {
		g.delegations = d.Delegations(at.ws)
	}
	if e, ok := policy.(EmergencyPolicy); ok {
		g.emergency = e.Emergency(at.ws)
	}
	return g
}

// ask returns the kept answer, or asks and keeps what comes. Of what does not exist the answer is none.
func ask[K comparable, V any](kept *answers[K, V], key K, none V, question func() (V, error)) (V, error) {
	if a := kept.find(key); a != nil {
		return a.value, a.err
	}
	v, err := question()
	switch {
	case errors.Is(err, ErrNotFound):
		v, err = none, nil
	case err != nil:
		v, err = none, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	kept.put(key, answer[V]{v, err})
	return v, err
}

func (g *gatherer) person(ctx context.Context, u UserID) (Person, error) {
	return ask(&g.persons, u, Person{ID: u, Why: "unknown to the workspace"}, func() (Person, error) {
		return g.dir.Person(ctx, u, g.since)
	})
}

func (g *gatherer) group(ctx context.Context, group string) ([]UserID, error) {
	return ask(&g.groups, group, nil, func() ([]UserID, error) { return g.dir.Members(ctx, g.at.ws, group, g.since) })
}

func (g *gatherer) askChannel(ctx context.Context, u UserID) (bool, error) {
	return ask(&g.channel, u, false, func() (bool, error) {
		return g.dir.InChannel(ctx, g.at.ws, g.at.place.Channel, u, g.since)
	})
}

// demand asks the policy what it demands for r now. Its error is ErrUnavailable: while a policy fails nobody can
// approve.
func (g *gatherer) demand(ctx context.Context, r *Request) (Requirement, error) {
	if a := g.policies.find(r.ID); a != nil {
		return a.value, a.err
	}
	q, err := g.requirement(ctx, r)
	g.policies.put(r.ID, answer[Requirement]{q, err})
	return q, err
}

// right gathers what it takes to say whether u may take a seat of the requirements, for themselves or as a delegate.
func (g *gatherer) right(ctx context.Context, u UserID, all ...*Requirement) {
	g.ownRight(ctx, u, all...)
	for _, d := range g.delegations {
		if d.To == u {
			g.ownRight(ctx, d.From, all...)
		}
	}
}

func (g *gatherer) ownRight(ctx context.Context, u UserID, all ...*Requirement) {
	if who, err := g.person(ctx, u); err != nil || !who.Regular {
		return
	}
	for _, q := range all {
		for _, seat := range q.Seats {
			g.membership(ctx, seat.Approvers, u)
		}
		if q.Escalation.After > 0 { // which may begin before the decision is judged
			g.membership(ctx, q.Escalation.To, u)
		}
		g.exceptions(ctx, q, u)
	}
}

// exceptions gathers whether the freezes of q that may be in force except u.
func (g *gatherer) exceptions(ctx context.Context, q *Requirement, u UserID) {
	now := g.now
	if now.IsZero() {
		now = time.Now()
	}
	for _, z := range q.Freeze {
		if z.near(now) {
			g.membership(ctx, z.Except, u)
		}
	}
}

// membership asks until it is known that the set names u, or everything is asked.
func (g *gatherer) membership(ctx context.Context, a Approvers, u UserID) {
	if slices.Contains(a.Users, u) {
		return
	}
	for _, group := range a.Groups {
		if members, err := g.group(ctx, group); err == nil && slices.Contains(members, u) {
			return
		}
	}
	if a.ChannelMembers && !g.at.place.Direct {
		g.askChannel(ctx, u)
	}
}

// maxLookups bounds how many people are looked up to find out who could take a seat. Past it people are taken for
// regular; whoever answers is looked up in any case.
const maxLookups = 200

// candidates gathers, for each set of people that the requirement names, up to n+1 who could take a seat: one more than
// needed, because the requester may be among them. It looks again for a set of which fewer were looked for until now.
func (g *gatherer) candidates(ctx context.Context, q *Requirement, n int) {
	for _, seat := range q.Seats {
		key := seat.Approvers.key()
		if g.knows(key, n+1) {
			continue
		}
		found, err := g.people(ctx, seat.Approvers, n+1)
		g.left.put(key, answer[candidates]{candidates{found, n + 1}, err})
	}
}

// knows reports whether n of the set that key names were looked for, or everybody in it was found. What failed is not
// tried again.
func (g *gatherer) knows(key string, n int) bool {
	a := g.left.find(key)
	return a != nil && (a.err != nil || n <= a.value.sought || len(a.value.found) < a.value.sought)
}

func (g *gatherer) people(ctx context.Context, a Approvers, n int) (found []UserID, err error) {
	seen := map[UserID]bool{}
	for each, err := range g.lists(ctx, a) {
		if err != nil {
			return nil, err
		}
		for _, u := range each {
			if len(found) >= n {
				return found, nil
			}
			if seen[u] {
				continue
			}
			seen[u] = true
			if len(seen) <= maxLookups {
				who, err := g.known(ctx, u)
				if err != nil {
					return nil, err
				}
				if !who.Regular || u.Workspace() != g.at.ws {
					continue
				}
			}
			found = append(found, u)
		}
	}
	return found, nil
}

// known is person for counting: a kept answer of the directory will do.
func (g *gatherer) known(ctx context.Context, u UserID) (Person, error) {
	if a := g.persons.find(u); a != nil {
		return a.value, a.err
	}
	who, err := g.dir.Person(ctx, u, noTime)
	if errors.Is(err, ErrNotFound) {
		return Person{ID: u}, nil
	}
	if err != nil {
		err = fmt.Errorf("%w: look up %s: %w", ErrUnavailable, u, err)
	}
	return who, err
}

// lists yields the lists of people that make up the set, cheapest first. An error ends it.
func (g *gatherer) lists(ctx context.Context, a Approvers) iter.Seq2[[]UserID, error] {
	return func(yield func([]UserID, error) bool) {
		if !yield(a.Users, nil) {
			return
		}
		for _, group := range a.Groups {
			all, err := g.group(ctx, group)
			if !yield(all, err) || err != nil {
				return
			}
		}
		switch {
		case !a.ChannelMembers:
		case g.at.place.Direct:
			yield([]UserID{g.at.requester}, nil)
		default:
			all, err := g.dir.ChannelMembers(ctx, g.at.ws, g.at.place.Channel)
			if errors.Is(err, ErrNotFound) {
				all, err = nil, nil
			} else if err != nil {
				err = fmt.Errorf("%w: members of channel %s: %w", ErrUnavailable, g.at.place.Channel, err)
			}
			yield(all, err)
		}
	}
}
