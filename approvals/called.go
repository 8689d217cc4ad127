package approvals

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"
)

// Called says who is called to a request, and where. Whoever is in none of its lists is not called: they may find the
// request in a list.
type Called struct {
	// Planned says that it was found out whom to call; earlier versions did not.
	Planned bool `json:"planned,omitempty"`
	// Copies are the audiences beside the request's own place that are shown its card.
	Copies []Copy `json:"copies,omitempty"`
	// Users and Groups are mentioned in the place itself.
	Users  []UserID `json:"users,omitempty"`
	Groups []string `json:"groups,omitempty"`
	// Bare says that people of other organisations read the place: what is called is shown to the copies alone.
	Bare bool `json:"bare,omitempty"`
}

// The audiences that a Copy can be for.
const (
	copyPerson  = "dm:"
	copyChannel = "channel:"
	copyHome    = "home:"
)

// CopyFor is the copy for a person alone, CopyIn the one for the people of a channel.
func CopyFor(u UserID) Copy         { return Copy(copyPerson + u.Local()) }
func CopyIn(channel string) Copy    { return Copy(copyChannel + channel) }
func (c Copy) of(kind string) bool  { return strings.HasPrefix(string(c), kind) }
func (c Copy) name() (local string) { _, local, _ = strings.Cut(string(c), ":"); return local }

// Person returns whom alone the copy is for; false: it is for more people.
func (c Copy) Person(ws WorkspaceID) (UserID, bool) {
	return NewUserID(ws, c.name()), c.of(copyPerson)
}

// Home returns whose own page the copy is; false: it is a message.
func (c Copy) Home(ws WorkspaceID) (UserID, bool) {
	return NewUserID(ws, c.name()), c.of(copyHome)
}

// Channel returns the channel whose people the copy is for; false: it is not for those of a channel of its own.
func (c Copy) Channel() (string, bool) { return c.name(), c.of(copyChannel) }

// queueOf names the queue of a copy of what is shown of runs in the place. Those for one person, or one channel, have
// one queue, wherever the runs are.
func queueOf(at Place, c Copy) Place {
	if !c.of(copyPerson) && !c.of(copyChannel) && !c.of(copyHome) {
		return at
	}
	return Place{Surface: at.Surface, Channel: c.name(), Direct: !c.of(copyChannel)}
}

// add takes over whom o calls beside those whom t calls. Nobody is called twice.
func (t *Called) add(o Called) {
	t.Planned, t.Bare = t.Planned || o.Planned, t.Bare || o.Bare
	for _, c := range o.Copies {
		t.Copies = with(t.Copies, c)
	}
	for _, u := range o.Users {
		if !slices.Contains(t.Copies, CopyFor(u)) {
			t.Users = with(t.Users, u)
		}
	}
	for _, g := range o.Groups {
		t.Groups = with(t.Groups, g)
	}
}

// The bounds of whom somebody calls one by one.
const (
	mostCalled = 20
	// smallGroup is how large a group is at most of which everybody is looked for in the channel one by one.
	smallGroup = 10
	// mostCopies is how many copies a request has at most.
	mostCopies = 40
)

// calling finds out whom to call to a request.
type calling struct {
	roll
	Called
	naming  Naming
	members map[UserID]bool // of the channel, once they were listed
	again   bool            // people were called before: where nobody says who sees the place, they do
}

func newCalling(g *gatherer, r *Request, now time.Time, bare bool) *calling {
	asked := *r
	if asked.Created.IsZero() { // not asked yet
		asked.Created = now
	}
	c := &calling{
		roll:   roll{gatherer: g, r: &asked, current: &r.Requirement, now: now},
		naming: r.Requirement.Notify.Named,
	}
	c.Planned, c.Bare = true, bare
	if channel := r.Requirement.Notify.Channel; channel != "" && (r.Place.Direct || channel != r.Place.Channel) {
		c.Copies = []Copy{CopyIn(channel)}
	}
	return c
}

// called returns whom r calls of the sets; without sets, of those who may take its seats. now is the store's time.
// Where it cannot be found out whether somebody sees the place, they get a copy; and whoever is named and cannot be
// looked up is called, for only a reminder looks again. bare: what is called is not shown in the place.
func (g *gatherer) called(ctx context.Context, r *Request, now time.Time, bare bool, sets ...Approvers) Called {
	c := newCalling(g, r, now, bare)
	if len(sets) == 0 {
		sets = r.Requirement.sets()
	}
	c.all(ctx, sets)
	return c.Called
}

// notCalled returns the copies for people whom r has not called and would call now: they came to a group since, or
// have left the channel. Where it cannot be found out who sees the place, nobody is called until the next reminder.
func (g *gatherer) notCalled(ctx context.Context, r *Request, now time.Time) []Copy {
	c := newCalling(g, r, now, r.Called.Bare)
	c.again = true
	sets := r.Requirement.sets()
	if !r.Escalated.IsZero() {
		sets = append(sets, r.Requirement.Escalation.To)
	}
	c.all(ctx, sets)
	return without(c.Copies, r.Called.Copies)
}

// sets are those whose people may take the seats.
func (q *Requirement) sets() (sets []Approvers) {
	for _, seat := range q.Seats {
		sets = append(sets, seat.Approvers)
	}
	return sets
}

// all calls the people of several sets.
func (c *calling) all(ctx context.Context, sets []Approvers) {
	if c.naming == NamingNone && !c.Called.Bare {
		return
	}
	for i, set := range sets {
		if !slices.ContainsFunc(sets[:i], set.equal) {
			c.set(ctx, set)
		}
	}
}

// set calls the people of one set. Members of the channel are not named, and see the card there; where it is not shown
// there, the first of them are called.
func (c *calling) set(ctx context.Context, a Approvers) {
	c.lookUp(ctx, a.Users)
	c.lookInChannel(ctx, a.Users)
	for _, u := range a.Users {
		if c.could(ctx, u) {
			c.person(u, c.sees(ctx, u))
			c.standIns(ctx, u)
		}
	}
	for _, group := range a.Groups {
		c.group(ctx, group)
	}
	if !a.ChannelMembers || !c.Called.Bare {
		return
	}
	found, err := c.people(ctx, Approvers{ChannelMembers: true}, mostCalled+1)
	if err != nil {
		return
	}
	c.lookUp(ctx, found)
	for _, u := range found {
		if c.could(ctx, u) {
			c.person(u, false)
		}
	}
}

// could is roll.could, and true also of people who cannot be looked up now: whether their answer counts is found out
// when they give it.
func (c *calling) could(ctx context.Context, u UserID) bool {
	if c.roll.could(ctx, u) {
		return true
	}
	if c.r.decidedBy(u) != nil || !c.current.SelfApproval && slices.Contains(c.r.Principals(), u) {
		return false
	}
	err := c.mayDecide(&c.r.RequestHead, c.current, u, c.now)
	return errors.Is(err, ErrUnavailable) && !errors.Is(err, errNotGathered)
}

// person calls one person.
func (c *calling) person(u UserID, sees bool) {
	direct := c.naming == NamingDM || c.Called.Bare || c.naming == NamingAuto && !sees
	switch copyOf := CopyFor(u); {
	case slices.Contains(c.Copies, copyOf):
	case direct && len(c.Copies) < mostCalled:
		c.Copies = append(c.Copies, copyOf)
		c.Called.Users = without(c.Called.Users, []UserID{u})
	case !direct && len(c.Called.Users) < mostCalled:
		c.Called.Users = with(c.Called.Users, u)
	}
}

// group calls a group: by its handle where that reaches only people who could answer, or more than are called one by
// one, or where nobody says who is in it; the members who do not see the card there by themselves.
func (c *calling) group(ctx context.Context, group string) {
	members, err := c.gatherer.group(ctx, group)
	if err != nil {
		if !c.Called.Bare && errors.Is(err, ErrUnavailable) {
			c.Called.Groups = with(c.Called.Groups, group)
		}
		return
	}
	c.lookUp(ctx, members)
	could := slices.DeleteFunc(slices.Clone(members), func(u UserID) bool { return !c.could(ctx, u) })
	if len(could) > smallGroup {
		c.listMembers(ctx)
	}
	if c.naming != NamingMention {
		c.lookInChannel(ctx, could)
	}
	var seeing, blind []UserID
	for _, u := range could {
		if c.naming == NamingMention || c.sees(ctx, u) {
			seeing = append(seeing, u)
		} else {
			blind = append(blind, u)
		}
	}
	byHandle := !c.Called.Bare && len(seeing) > 0 && (len(could) == len(members) || len(seeing) > smallGroup)
	if c.naming == NamingDM {
		byHandle = byHandle && len(could) > mostCalled
	}
	if byHandle {
		c.Called.Groups = with(c.Called.Groups, group)
	}
	if byHandle && len(could) > mostCalled { // whoever is not there is one of many
		return
	}
	for _, u := range blind {
		c.person(u, false)
	}
	for _, u := range seeing {
		if !byHandle {
			c.person(u, true)
		}
	}
	for _, u := range could {
		c.standIns(ctx, u)
	}
}

// standIns calls those who decide for u while u is away.
func (c *calling) standIns(ctx context.Context, u UserID) {
	for _, d := range c.delegates(ctx, u, true) {
		c.person(d, c.sees(ctx, d))
	}
}

// sees reports whether u sees what is posted in the place.
func (c *calling) sees(ctx context.Context, u UserID) bool {
	switch {
	case c.Called.Bare:
		return false
	case c.at.place.Direct:
		return u == c.at.requester
	case c.members != nil:
		return c.members[u]
	}
	in, err := c.inItsChannel(ctx, u)
	return in && err == nil || err != nil && c.again
}

// lookInChannel asks for what sees needs to know of those of the people who could answer, at once.
func (c *calling) lookInChannel(ctx context.Context, people []UserID) {
	if c.Called.Bare || c.members != nil {
		return
	}
	c.askUntilKnown(ctx, func(open openQuestions) {
		for _, u := range people[:min(len(people), maxLookups)] {
			if c.mayDecide(&c.r.RequestHead, c.current, u, c.now) == nil {
				open.channelOf(u)
			}
		}
	})
}

// listMembers asks once for all people of the channel rather than for many one by one.
func (c *calling) listMembers(ctx context.Context) {
	if c.members != nil || c.at.place.Direct || c.Called.Bare {
		return
	}
	c.members = map[UserID]bool{}
	all, err := c.dir.ChannelMembers(ctx, c.at.ws, c.at.place.Channel)
	if err != nil {
		if c.again {
			c.members = nil // they are asked about one by one
		}
		return
	}
	for _, u := range all {
		c.members[u] = true
	}
}

// open reports whether it is known that people of other organisations read the place.
func (g *gatherer) open() bool {
	return !g.at.place.Direct && g.told.Knows(FactChannel) && g.told.Channel.External
}

// call asks the directory whom r calls of the sets.
func (w *Worker) call(ctx context.Context, r *Request, now time.Time, bare bool, sets ...Approvers) Called {
	return newGatherer(w.directory, w.policy, r.conversation(), noTime).called(ctx, r, now, bare, sets...)
}
