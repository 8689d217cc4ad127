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

// ask returns the kept answer, or asks and keeps what comes.
func ask[K comparable, V any](kept *answers[K, V], key K, question func() answer[V]) (V, error) {
	if a := kept.find(key); a != nil {
		return a.value, a.err
	}
	a := question()
	kept.put(key, a)
	return a.value, a.err
}

func (g *gatherer) person(ctx context.Context, u UserID) (Person, error) {
	return ask(&g.persons, u, func() answer[Person] { return g.askPerson(ctx, u) })
}

func (g *gatherer) group(ctx context.Context, group string) ([]UserID, error) {
	return ask(&g.groups, group, func() answer[[]UserID] { return g.askGroup(ctx, group) })
}

func (g *gatherer) inItsChannel(ctx context.Context, u UserID) (bool, error) {
	return ask(&g.channel, u, func() answer[bool] { return g.askChannel(ctx, u) })
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

// rights gathers what it takes to say whether each of the people may take a seat of the requirements, for themselves or
// as a delegate.
func (g *gatherer) rights(ctx context.Context, people []UserID, all ...*Requirement) {
	behind := len(people)
	for _, d := range g.delegations {
		if slices.Contains(people[:behind], d.To) {
			people = append(people[:len(people):len(people)], d.From)
		}
	}
	g.ownRights(ctx, people, all...)
}

// ownRights is rights without what people may do as delegates.
func (g *gatherer) ownRights(ctx context.Context, people []UserID, all ...*Requirement) {
	now := g.now
	if now.IsZero() {
		now = time.Now()
	}
	g.askUntilKnown(ctx, func(open openQuestions) {
		for _, u := range people {
			if who := open.person(u); who != nil && !who.Regular {
				continue
			}
			for _, q := range all {
				for _, seat := range q.Seats {
					open.membership(seat.Approvers, u)
				}
				if q.Escalation.After > 0 { // which may begin before the decision is judged
					open.membership(q.Escalation.To, u)
				}
				open.exceptions(q, u, now)
			}
		}
	})
}

// exceptions gathers whether the freezes of q that may be in force except u.
func (g *gatherer) exceptions(ctx context.Context, q *Requirement, u UserID) {
	now := g.now
	if now.IsZero() {
		now = time.Now()
	}
	g.askUntilKnown(ctx, func(open openQuestions) { open.exceptions(q, u, now) })
}

// membership asks until it is known that the set names u, or everything is asked.
func (g *gatherer) membership(ctx context.Context, a Approvers, u UserID) {
	g.askUntilKnown(ctx, func(open openQuestions) { open.membership(a, u) })
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
		for len(each) > 0 && len(found) < n {
			var next []UserID
			next, each = unseen(each, seen, n-len(found))
			regular, err := g.regulars(ctx, next, maxLookups-(len(seen)-len(next)))
			if err != nil {
				return nil, err
			}
			found = append(found, regular...)
		}
		if len(found) >= n {
			break // what else there is is not asked for
		}
	}
	return found, nil
}

// unseen splits off the first n people that are not in seen, and puts them there.
func unseen(all []UserID, seen map[UserID]bool, n int) (next, rest []UserID) {
	for i, u := range all {
		if len(next) == n {
			return next, all[i:]
		}
		if !seen[u] {
			seen[u] = true
			next = append(next, u)
		}
	}
	return next, nil
}

// regulars returns those of the people who are regular. At most so many are looked up, the others are taken for it.
func (g *gatherer) regulars(ctx context.Context, people []UserID, most int) ([]UserID, error) {
	looked := people[:max(0, min(most, len(people)))]
	persons := make([]answer[Person], len(looked))
	atOnce(len(looked), func(i int) error {
		persons[i].value, persons[i].err = g.known(ctx, looked[i])
		return persons[i].err
	})
	regular := make([]UserID, 0, len(people))
	for i, u := range people {
		if i < len(looked) {
			if err := persons[i].err; err != nil {
				return nil, err
			}
			if !persons[i].value.Regular || u.Workspace() != g.at.ws {
				continue
			}
		}
		regular = append(regular, u)
	}
	return regular, nil
}

// known is person for counting: a kept answer of the directory will do. It keeps nothing, so that several may be asked
// about at once.
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
