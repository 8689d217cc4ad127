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

	away  []Delegation
	glass Emergency
	now   time.Time
}

// asked is when the requests of these tests were asked.
var asked = time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)

func (o *organisation) Delegations(WorkspaceID) []Delegation { return o.away }

func (o *organisation) Emergency(WorkspaceID) Emergency { return o.glass }

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
	o := &organisation{regular: map[UserID]bool{}, groups: map[string][]UserID{}, now: asked}
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
	for range rapid.IntRange(0, 3).Draw(t, "delegations") {
		o.away = append(o.away, Delegation{
			From: rapid.SampledFrom(o.people).Draw(t, "from"), To: rapid.SampledFrom(o.people).Draw(t, "to"),
			Until: asked.Add(time.Duration(rapid.IntRange(0, 3).Draw(t, "until")) * time.Hour),
		})
	}
	o.away = slices.DeleteFunc(o.away, func(d Delegation) bool { return d.From == d.To })
	return o
}

func (o *organisation) drawRequirement(t *rapid.T) Requirement {
	q := Requirement{
		Policy: "p", DenyQuorum: rapid.IntRange(1, 2).Draw(t, "deny"), SelfApproval: rapid.Bool().Draw(t, "self"),
	}
	for range rapid.IntRange(1, 3).Draw(t, "seats") {
		q.Seats = append(q.Seats, Seat{Approvers: o.drawSet(t)})
	}
	if hours := rapid.IntRange(0, 2).Draw(t, "escalation"); hours > 0 {
		q.Escalation = Escalation{After: time.Duration(2*hours-1) * time.Hour, To: o.drawSet(t)}
	}
	return q
}

func (o *organisation) drawSet(t *rapid.T) (a Approvers) {
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
	return a
}

// names is the oracle's way of saying who is in a set.
func (o *organisation) names(a Approvers, u UserID) bool {
	return slices.Contains(a.Users, u) || a.ChannelMembers && slices.Contains(o.channel, u) ||
		slices.ContainsFunc(a.Groups, func(g string) bool { return slices.Contains(o.groups[g], u) })
}

// sits is the oracle's way of saying who may take a seat, at once or once the second set may too.
func (o *organisation) sits(q *Requirement, a Approvers, r *Request, v voter) bool {
	for _, u := range v.people() {
		if !o.regular[u] || u == r.Requester && !q.SelfApproval {
			return false
		}
	}
	if v.on != "" && !slices.ContainsFunc(o.away, func(d Delegation) bool {
		return d.From == v.on && d.To == v.by && o.now.Before(d.Until)
	}) {
		return false
	}
	late := q.Escalation.After > 0 && !o.now.Before(asked.Add(q.Escalation.After))
	return o.names(a, v.principal()) || late && o.names(q.Escalation.To, v.principal())
}

func (o *organisation) may(q *Requirement, r *Request, v voter) bool {
	return slices.ContainsFunc(q.Seats, func(s Seat) bool { return o.sits(q, s.Approvers, r, v) })
}

// fills tries every assignment of people to seats.
func (o *organisation) fills(q *Requirement, r *Request, people []voter, seat int) bool {
	if seat == len(q.Seats) {
		return true
	}
	for i, v := range people {
		if o.sits(q, q.Seats[seat].Approvers, r, v) {
			rest := slices.Delete(slices.Clone(people), i, i+1)
			if o.fills(q, r, rest, seat+1) {
				return true
			}
		}
	}
	return false
}

// drawRequest is a pending request of somebody, under the recorded requirement and perhaps another one by now.
func (o *organisation) drawRequest(t *rapid.T) *Request {
	r := &Request{RequestHead: RequestHead{
		Workspace: "T1", ID: "req_1", Kind: agent.Confirm, Status: RequestPending, Place: Place{Channel: "C1"},
		Requester: rapid.SampledFrom(o.people).Draw(t, "requester"), Requirement: o.demand, Created: asked,
	}}
	if rapid.Bool().Draw(t, "expires") {
		r.Expires = asked.Add(150 * time.Minute)
	}
	if rapid.Bool().Draw(t, "policy changed") {
		o.demand = o.drawRequirement(t)
	}
	return r
}

// TestJudge compares the judgement with the definition, over random organisations in which people come and go, are away
// and stand in for each other, and time passes: a request is approved when, and only when, different people who may do
// so now have affirmed and can take all seats.
func TestJudge(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		o := drawOrganisation(t)
		r := o.drawRequest(t)
		for n := range rapid.IntRange(1, 8).Draw(t, "votes") {
			o.vote(t, r, n)
			if r.Status != RequestPending {
				return
			}
			voters := append(r.voters(true), r.voters(false)...)
			if len(voters) > 0 && rapid.Bool().Draw(t, "a voter leaves") {
				o.regular[rapid.SampledFrom(voters).Draw(t, "leaver").by] = false
			}
			o.now = o.now.Add(time.Duration(rapid.IntRange(0, 30).Draw(t, "minutes")) * time.Minute)
			if r.overdue(o.now) {
				return
			}
		}
	})
}

// as is the oracle's way of saying as whom somebody answers, and whether they may.
func (o *organisation) as(r *Request, d *Decision, both []*Requirement) (voter, bool) {
	allowed := func(v voter) bool { return o.may(both[0], r, v) && o.may(both[1], r, v) }
	if own := d.voter(); d.For != "" || allowed(own) {
		return own, allowed(own)
	}
	var possible []voter
	for _, del := range o.away {
		if v := (voter{d.By, del.From}); del.To == d.By && allowed(v) && !slices.Contains(possible, v) {
			possible = append(possible, v)
		}
	}
	if len(possible) == 1 {
		return possible[0], true
	}
	return voter{}, false
}

// vote has somebody answer, perhaps for somebody else, and compares.
func (o *organisation) vote(t *rapid.T, r *Request, n int) {
	both := []*Requirement{&r.Requirement, &o.demand}
	left := slices.DeleteFunc(slices.Clone(o.people), func(u UserID) bool {
		return !o.may(&r.Requirement, r, voter{by: u}) || r.decidedBy(u) != nil
	})
	if len(left) == 0 || rapid.IntRange(0, 2).Draw(t, "anybody") == 0 {
		left = o.people
	}
	d := Decision{
		ID: DecisionID(fmt.Sprint("dec_", n)), By: rapid.SampledFrom(left).Draw(t, "voter"),
		Verdict: rapid.SampledFrom([]Verdict{Approve, Approve, Reject}).Draw(t, "verdict"),
	}
	if rapid.IntRange(0, 3).Draw(t, "says for whom") == 0 {
		d.For = rapid.SampledFrom(o.people).Draw(t, "for")
	}
	if d.For == d.By {
		d.For = ""
	}
	g := newGatherer(o, o, r.conversation(), time.Now())
	g.decision(t.Context(), d, []*Request{r})
	before := cloneHead(&r.RequestHead)
	got, err := judge(&r.RequestHead, &g.facts, &d, o.now)
	if !headsEqual(before, &r.RequestHead) {
		t.Fatal("judging has changed the request")
	}
	v, allowed := o.as(r, &d, both)
	for _, u := range v.people() {
		allowed = allowed && r.decidedBy(u) == nil
	}
	if allowed != (err == nil) {
		t.Fatalf("vote of %+v: %v, allowed %v", d, err, allowed)
	}
	if err != nil {
		return
	}
	if d.For = got.on; d.voter() != v {
		t.Fatalf("counts as one of %+v, want %+v", d.voter(), v)
	}
	apply(r, d, got)
	if want := o.expect(r, d.Verdict.Affirms(), both); got.status != want {
		t.Fatalf("status %q, want %q; decisions %+v of %+v", got.status, want, r.Decisions, both)
	}
	o.distinct(t, r, got.status, both)
	r.Status = RequestPending
	if got.status != "" {
		r.Status = got.status
	}
}

// distinct checks what no order of answers may break: nobody takes part in two answers, and an approval has as many
// people as there are seats, who may approve, and of whom none is the requester unless the policy lets them.
func (o *organisation) distinct(t *rapid.T, r *Request, status RequestStatus, both []*Requirement) {
	seen := map[UserID]bool{}
	voters := append(r.voters(true), r.voters(false)...)
	for _, v := range voters {
		for _, u := range v.people() {
			if seen[u] {
				t.Fatalf("%s takes part in two answers: %+v", u, voters)
			}
			seen[u] = true
		}
	}
	if status != RequestApproved {
		return
	}
	for _, q := range both {
		if len(r.voters(true)) < len(q.Seats) {
			t.Fatalf("approved by %+v, for %d seats", r.voters(true), len(q.Seats))
		}
		for _, v := range r.voters(true) {
			if !o.may(q, r, v) {
				t.Fatalf("approved, and the vote of %+v still counts", v)
			}
			if slices.Contains(v.people(), r.Requester) && !q.SelfApproval {
				t.Fatalf("the requester has taken part in %+v", v)
			}
		}
	}
}

// TestJudgeOfAnEmergency lets nobody break the glass but regular people whom it is for, and who did not ask.
func TestJudgeOfAnEmergency(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		o := drawOrganisation(t)
		o.glass = Emergency{People: o.drawSet(t)}
		o.glass.People.ChannelMembers = false
		r := o.drawRequest(t)
		d := Decision{By: rapid.SampledFrom(o.people).Draw(t, "voter"), Verdict: BreakGlass}
		g := newGatherer(o, o, r.conversation(), time.Now())
		g.decision(t.Context(), d, []*Request{r})
		got, err := judge(&r.RequestHead, &g.facts, &d, o.now)
		allowed := o.regular[d.By] && d.By != r.Requester && o.names(o.glass.People, d.By)
		if allowed != (err == nil) || allowed != (got.status == RequestApproved) {
			t.Fatalf("%+v, %v; allowed %v", got, err, allowed)
		}
	})
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
	rightful := func(affirm bool) (all []voter) {
		for _, v := range r.voters(affirm) {
			if o.may(both[0], r, v) && o.may(both[1], r, v) {
				all = append(all, v)
			}
		}
		return all
	}
	yes, no := rightful(true), rightful(false)
	if affirms && o.fills(both[0], r, yes, 0) && o.fills(both[1], r, yes, 0) {
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
			could = append(could, voter{by: u})
		}
	}
	last := *o
	for _, q := range both {
		last.now = o.now
		if end := asked.Add(q.Escalation.After); r.Expires.IsZero() || end.Before(r.Expires) {
			last.now = latest(o.now, end)
		}
		last.away = slices.Clone(o.away)
		for i := range last.away {
			if o.now.Before(last.away[i].Until) { // who has answered for somebody has done so
				last.away[i].Until = last.now.Add(time.Hour)
			}
		}
		if !last.fills(q, r, could, 0) {
			return RequestRejected
		}
	}
	return ""
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
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
