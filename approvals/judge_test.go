package approvals

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"countersign/agent"
)

// organisation is a directory and a policy that change on the way.
type organisation struct {
	people  []UserID
	regular map[UserID]bool
	groups  map[string][]UserID
	channel []UserID
	demand  Requirement
	down    bool // nothing can be found out
}

var errDown = errors.New("the directory is down")

func (o *organisation) Person(_ context.Context, u UserID, _ time.Time) (Person, error) {
	if o.down {
		return Person{}, errDown
	}
	if !slices.Contains(o.people, u) {
		return Person{}, ErrNotFound
	}
	return Person{ID: u, Regular: o.regular[u], Why: "deactivated"}, nil
}

func (o *organisation) Members(_ context.Context, _ WorkspaceID, group string, _ time.Time) ([]UserID, error) {
	if o.down {
		return nil, errDown
	}
	all, ok := o.groups[group]
	if !ok {
		return nil, ErrNotFound
	}
	return all, nil
}

func (o *organisation) ChannelMembers(context.Context, WorkspaceID, string) ([]UserID, error) {
	if o.down {
		return nil, errDown
	}
	return o.channel, nil
}

func (o *organisation) InChannel(_ context.Context, _ WorkspaceID, _ string, u UserID, _ time.Time) (bool, error) {
	if o.down {
		return false, errDown
	}
	return slices.Contains(o.channel, u), nil
}

func (o *organisation) GroupsOf(context.Context, UserID, time.Time) ([]string, error) {
	return nil, errDown
}

func (o *organisation) Channel(context.Context, WorkspaceID, string, time.Time) (Channel, error) {
	return Channel{}, errDown
}

func (o *organisation) Requirement(context.Context, *Request, PolicyFacts) (Requirement, error) {
	return o.demand, nil
}

// drawOrganisation makes up to six people, three groups and a requirement.
func drawOrganisation(t *rapid.T) *organisation {
	o := &organisation{regular: map[UserID]bool{}, groups: map[string][]UserID{}}
	for i := range rapid.IntRange(2, 6).Draw(t, "people") {
		u := NewUserID("T1", fmt.Sprint("U", i))
		o.people = append(o.people, u)
		o.regular[u] = rapid.IntRange(0, 5).Draw(t, "regular") > 0
	}
	some := func(label string) []UserID {
		return slices.DeleteFunc(slices.Clone(o.people),
			func(UserID) bool { return rapid.IntRange(0, 3).Draw(t, label) == 0 })
	}
	for i := range 3 {
		o.groups[fmt.Sprint("S", i)] = some("group")
	}
	o.channel = some("channel")
	o.demand = o.drawRequirement(t)
	return o
}

func (o *organisation) drawRequirement(t *rapid.T) Requirement {
	q := Requirement{
		Policy: "p", DenyQuorum: rapid.IntRange(1, 2).Draw(t, "deny"), SelfApproval: rapid.Bool().Draw(t, "self"),
	}
	for range rapid.IntRange(1, 3).Draw(t, "seats") {
		var a Approvers
		switch rapid.IntRange(0, 3).Draw(t, "set") {
		case 0:
			a.Users = []UserID{rapid.SampledFrom(o.people).Draw(t, "user")}
		case 1:
			a.Groups = []string{fmt.Sprint("S", rapid.IntRange(0, 3).Draw(t, "group"))} // S3 is not there
		case 2:
			a.ChannelMembers = true
		case 3:
			a = Approvers{Groups: []string{"S0"}, Users: []UserID{rapid.SampledFrom(o.people).Draw(t, "user")}}
		}
		q.Seats = append(q.Seats, Seat{Approvers: a})
	}
	return q
}

// sits is the oracle's way of saying who may take a seat.
func (o *organisation) sits(q *Requirement, a Approvers, requester, u UserID) bool {
	if !o.regular[u] || u == requester && !q.SelfApproval {
		return false
	}
	if slices.Contains(a.Users, u) || a.ChannelMembers && slices.Contains(o.channel, u) {
		return true
	}
	return slices.ContainsFunc(a.Groups, func(g string) bool { return slices.Contains(o.groups[g], u) })
}

func (o *organisation) may(q *Requirement, requester, u UserID) bool {
	return slices.ContainsFunc(q.Seats, func(s Seat) bool { return o.sits(q, s.Approvers, requester, u) })
}

// fills tries every assignment of people to seats.
func (o *organisation) fills(q *Requirement, requester UserID, people []UserID, seat int) bool {
	if seat == len(q.Seats) {
		return true
	}
	for i, u := range people {
		if o.sits(q, q.Seats[seat].Approvers, requester, u) {
			rest := slices.Delete(slices.Clone(people), i, i+1)
			if o.fills(q, requester, rest, seat+1) {
				return true
			}
		}
	}
	return false
}

// TestJudge compares the judgement with the definition, over random organisations in which people come and go: a
// request is approved when, and only when, different people who may do so now have affirmed and can take all seats.
func TestJudge(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		o := drawOrganisation(t)
		r := &Request{RequestHead: RequestHead{
			Workspace: "T1", ID: "req_1", Kind: agent.Confirm, Status: RequestPending, Place: Place{Channel: "C1"},
			Requester: rapid.SampledFrom(o.people).Draw(t, "requester"), Requirement: o.demand,
		}}
		if rapid.Bool().Draw(t, "policy changed") {
			o.demand = o.drawRequirement(t)
		}
		for n := range rapid.IntRange(1, 8).Draw(t, "votes") {
			o.vote(t, r, n)
			if r.Status != RequestPending {
				return
			}
			voters := append(r.voters(true), r.voters(false)...)
			if len(voters) > 0 && rapid.Bool().Draw(t, "a voter leaves") {
				o.regular[rapid.SampledFrom(voters).Draw(t, "leaver")] = false
			}
		}
	})
}

// vote has somebody answer, and compares.
func (o *organisation) vote(t *rapid.T, r *Request, n int) {
	left := slices.DeleteFunc(slices.Clone(o.people), func(u UserID) bool {
		return !o.may(&r.Requirement, r.Requester, u) || r.decidedBy(u) != nil
	})
	if len(left) == 0 || rapid.IntRange(0, 4).Draw(t, "anybody") == 0 {
		left = o.people
	}
	d := Decision{
		ID: DecisionID(fmt.Sprint("dec_", n)), By: rapid.SampledFrom(left).Draw(t, "voter"),
		Verdict: rapid.SampledFrom([]Verdict{Approve, Approve, Reject}).Draw(t, "verdict"),
	}
	g := newGatherer(o, o, r.conversation(), time.Now())
	g.decision(t.Context(), d, []*Request{r})
	before := cloneHead(&r.RequestHead)
	got, err := judge(&r.RequestHead, &g.facts, &d, time.Now())
	if !headsEqual(before, &r.RequestHead) {
		t.Fatal("judging has changed the request")
	}
	both := []*Requirement{&r.Requirement, &o.demand}
	allowed := r.decidedBy(d.By) == nil
	for _, q := range both {
		allowed = allowed && o.may(q, r.Requester, d.By)
	}
	if allowed != (err == nil) {
		t.Fatalf("vote of %s: %v, allowed %v", d.By, err, allowed)
	}
	if err != nil {
		return
	}
	apply(r, d, got)
	if want := o.expect(r, d.Verdict.Affirms(), both); got.status != want {
		t.Fatalf("status %q, want %q; decisions %+v of %+v", got.status, want, r.Decisions, both)
	}
	for _, u := range r.voters(true) {
		rightful := o.may(both[0], r.Requester, u) && o.may(both[1], r.Requester, u)
		if got.status == RequestApproved && !rightful {
			t.Fatalf("approved, and the vote of %s still counts", u)
		}
	}
	r.Status = RequestPending
	if got.status != "" {
		r.Status = got.status
	}
}

// apply does to the request what the transaction does.
func apply(r *Request, d Decision, got ruling) {
	for i := range r.Decisions {
		if why := got.void[r.Decisions[i].By]; why != "" {
			r.Decisions[i].Void = why
		}
	}
	r.Decisions = append(r.Decisions, d)
}

// expect says by the definition how the decisions settle the request.
func (o *organisation) expect(r *Request, affirms bool, both []*Requirement) RequestStatus {
	rightful := func(affirm bool) (all []UserID) {
		for _, u := range r.voters(affirm) {
			if o.may(both[0], r.Requester, u) && o.may(both[1], r.Requester, u) {
				all = append(all, u)
			}
		}
		return all
	}
	yes, no := rightful(true), rightful(false)
	if affirms && o.fills(both[0], r.Requester, yes, 0) && o.fills(both[1], r.Requester, yes, 0) {
		return RequestApproved
	}
	if !affirms && len(no) >= min(both[0].DenyQuorum, both[1].DenyQuorum) {
		return RequestRejected
	}
	if len(r.voters(false)) == 0 {
		return ""
	}
	could := slices.Clone(yes)
	for _, u := range o.people {
		if r.decidedBy(u) == nil && o.regular[u] {
			could = append(could, u)
		}
	}
	for _, q := range both {
		if !o.fills(q, r.Requester, could, 0) {
			return RequestRejected
		}
	}
	return ""
}

func cloneHead(r *RequestHead) *RequestHead {
	c := *r
	c.Decisions = slices.Clone(r.Decisions)
	return &c
}

func headsEqual(a, b *RequestHead) bool {
	return a.Status == b.Status && a.Note == b.Note &&
		slices.EqualFunc(a.Decisions, b.Decisions, func(x, y Decision) bool {
			return x.ID == y.ID && x.Void == y.Void
		})
}

// TestJudgeFailsClosed has the directory answer nothing: no vote counts, whatever was kept of earlier answers.
func TestJudgeFailsClosed(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		o := drawOrganisation(t)
		o.down = true
		r := &Request{RequestHead: RequestHead{
			Workspace: "T1", ID: "req_1", Kind: agent.Confirm, Status: RequestPending, Place: Place{Channel: "C1"},
			Requester: o.people[0], Requirement: o.demand,
		}}
		d := Decision{By: rapid.SampledFrom(o.people).Draw(t, "voter"), Verdict: Approve}
		g := newGatherer(o, o, r.conversation(), time.Now())
		g.decision(t.Context(), d, []*Request{r})
		if _, err := judge(&r.RequestHead, &g.facts, &d, time.Now()); err == nil {
			t.Fatal("a vote counts although nobody knows whose it is")
		}
	})
}

// TestJudgeAsksNobody judges on facts that were gathered for somebody else: what was not asked is said to be so.
func TestJudgeAsksNobody(t *testing.T) {
	t.Parallel()
	o := &organisation{people: []UserID{"T1/U1", "T1/U2"}, regular: map[UserID]bool{"T1/U1": true, "T1/U2": true}}
	o.demand = Requirement{Seats: Quorum(1, Approvers{Users: o.people}), DenyQuorum: 1}
	r := &Request{RequestHead: RequestHead{
		Workspace: "T1", ID: "req_1", Kind: agent.Confirm, Status: RequestPending,
		Requester: "T1/U9", Requirement: o.demand,
	}}
	g := newGatherer(o, o, r.conversation(), time.Now())
	d := Decision{By: "T1/U1", Verdict: Approve}
	g.decision(t.Context(), d, []*Request{r})
	if _, err := judge(&r.RequestHead, &g.facts, &d, time.Now()); err != nil {
		t.Fatalf("control: %v", err)
	}
	d.By = "T1/U2"
	if _, err := judge(&r.RequestHead, &g.facts, &d, time.Now()); !errors.Is(err, errNotGathered) {
		t.Errorf("have %v, want errNotGathered", err)
	}
}

// TestTaken compares the matching with trying every assignment.
func TestTaken(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		people := rapid.IntRange(0, 5).Draw(t, "people")
		edges := make([][]int, rapid.IntRange(0, 4).Draw(t, "seats"))
		for i := range edges {
			for j := range people {
				if rapid.Bool().Draw(t, "edge") {
					edges[i] = append(edges[i], j)
				}
			}
		}
		var most func(seat int, used []bool) int
		most = func(seat int, used []bool) int {
			if seat == len(edges) {
				return 0
			}
			best := most(seat+1, used)
			for _, j := range edges[seat] {
				if !used[j] {
					used[j] = true
					best = max(best, 1+most(seat+1, used))
					used[j] = false
				}
			}
			return best
		}
		if got, want := taken(edges, people), most(0, make([]bool, people)); got != want {
			t.Errorf("%d seats taken, %d can be: %v", got, want, edges)
		}
	})
}

// TestJudgeCountsWhoIsLeft has others reject while the people who are left are looked up. As long as there may be more
// people than were looked for, nobody concludes that too few are left.
func TestJudgeCountsWhoIsLeft(t *testing.T) {
	t.Parallel()
	o := &organisation{regular: map[UserID]bool{}}
	for _, name := range []string{"1", "2", "3", "4", "5", "6", "7", "8"} {
		u := UserID("T1/U" + name)
		o.people = append(o.people, u)
		o.regular[u] = true
	}
	o.demand = Requirement{Seats: Quorum(2, Approvers{Users: o.people}), DenyQuorum: 8}
	r := &Request{RequestHead: RequestHead{
		Workspace: "T1", ID: "req_1", Kind: agent.Confirm, Status: RequestPending,
		Requester: "T1/U1", Requirement: o.demand,
	}}
	d := Decision{By: "T1/U2", Verdict: Reject}
	gathered := func() *facts {
		g := newGatherer(o, o, r.conversation(), time.Now())
		g.decision(t.Context(), d, []*Request{r})
		return &g.facts
	}
	f := gathered()
	r.Decisions = []Decision{{By: "T1/U3", Verdict: Reject}, {By: "T1/U4", Verdict: Reject}}
	if got, err := judge(&r.RequestHead, f, &d, time.Now()); !errors.Is(err, errNotGathered) {
		t.Errorf("four people are left: %+v, %v", got, err)
	}
	if got, err := judge(&r.RequestHead, gathered(), &d, time.Now()); err != nil || got.status != "" {
		t.Errorf("gathered again: %+v, %v", got, err)
	}
	for _, u := range o.people[4:7] {
		r.Decisions = append(r.Decisions, Decision{By: u, Verdict: Reject})
	}
	if got, err := judge(&r.RequestHead, gathered(), &d, time.Now()); err != nil || got.status != RequestRejected {
		t.Errorf("control, one person is left: %+v, %v", got, err)
	}
}
