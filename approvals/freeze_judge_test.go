package approvals

import (
	"errors"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// drawFreeze makes a freeze around now, or one that is over or to come.
func (o *organisation) drawFreeze(t *rapid.T, now time.Time) Freeze {
	from := now.Add(time.Duration(rapid.IntRange(-2, 1).Draw(t, "from")) * time.Minute)
	z := Freeze{From: from, To: from.Add(time.Duration(rapid.IntRange(1, 3).Draw(t, "minutes")) * time.Minute)}
	if rapid.Bool().Draw(t, "with exceptions") {
		z.Except.Users = []UserID{rapid.SampledFrom(o.people).Draw(t, "excepted")}
		z.Except.Groups = []string{"S0"}
	}
	return z
}

// excepts is the oracle's way of saying whom the freeze excepts.
func (o *organisation) excepts(z Freeze, u UserID) bool {
	return slices.Contains(z.Except.Users, u) ||
		slices.ContainsFunc(z.Except.Groups, func(g string) bool { return slices.Contains(o.groups[g], u) })
}

// TestJudgeFreeze holds over random organisations: with freezes a vote comes to what it comes to without them, except
// that nobody affirms in one who is not excepted, and no request is approved with such a vote.
func TestJudgeFreeze(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		o, now := drawOrganisation(t), time.Now()
		r := &Request{RequestHead: RequestHead{
			Workspace: "T1", ID: "req_1", Kind: "confirm", Status: RequestPending, Place: Place{Channel: "C1"},
			Requester: rapid.SampledFrom(o.people).Draw(t, "requester"), Requirement: o.demand,
		}}
		for i := range rapid.IntRange(0, 3).Draw(t, "votes before") {
			by := o.people[i%len(o.people)]
			if r.decidedBy(by) == nil && o.may(&o.demand, r.Requester, by) {
				r.Decisions = append(r.Decisions, Decision{By: by, Verdict: Approve})
			}
		}
		d := Decision{
			ID: "dec_1", By: rapid.SampledFrom(o.people).Draw(t, "voter"),
			Verdict: rapid.SampledFrom([]Verdict{Approve, Reject}).Draw(t, "verdict"),
		}
		ask := func() (ruling, error) {
			g := newGatherer(o, o, r.conversation(), now)
			g.decision(t.Context(), d, []*Request{r})
			return judge(&r.RequestHead, &g.facts, &d, now)
		}
		without, errWithout := ask()
		freezes := []Freeze{o.drawFreeze(t, now)}
		if rapid.Bool().Draw(t, "recorded") {
			r.Requirement.Freeze = freezes
		} else {
			o.demand.Freeze = freezes
		}
		barred := func(u UserID) bool {
			return slices.ContainsFunc(freezes, func(z Freeze) bool {
				return !now.Before(z.From) && now.Before(z.To) && !o.excepts(z, u)
			})
		}
		got, err := ask()
		switch {
		case d.Verdict == Approve && errWithout == nil && barred(d.By):
			if !errors.Is(err, ErrUnauthorized) {
				t.Fatalf("%s affirmed in a freeze: %+v, %v", d.By, got, err)
			}
		case (err == nil) != (errWithout == nil):
			t.Fatalf("%s by %s: %v, without freezes %v", d.Verdict, d.By, err, errWithout)
		case err == nil && got.status == RequestApproved:
			for _, u := range append(r.voters(true), d.By) {
				if got.void[u] == "" && barred(u) {
					t.Fatalf("approved with the vote of %s", u)
				}
			}
		case err == nil && got.status != without.status && without.status != RequestApproved:
			t.Fatalf("%q, without freezes %q", got.status, without.status)
		}
	})
}

// TestStricterPolicyNeverPermitsMore holds over random organisations: whatever is demanded beside what was recorded,
// an answer that counts under both counts under the recorded one alone, and what both let settle as approved the
// recorded one alone does too.
func TestStricterPolicyNeverPermitsMore(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		o, now := drawOrganisation(t), time.Now()
		alone := o.demand
		r := &Request{RequestHead: RequestHead{
			Workspace: "T1", ID: "req_1", Kind: "confirm", Status: RequestPending, Place: Place{Channel: "C1"},
			Requester: rapid.SampledFrom(o.people).Draw(t, "requester"), Requirement: alone,
		}}
		added := o.drawRequirement(t)
		added.Freeze = []Freeze{o.drawFreeze(t, now)}
		for range rapid.IntRange(1, 5).Draw(t, "votes") {
			d := Decision{By: rapid.SampledFrom(o.people).Draw(t, "voter"), Verdict: Approve}
			judged := func(current Requirement) (ruling, error) {
				o.demand = current
				g := newGatherer(o, o, r.conversation(), now)
				g.decision(t.Context(), d, []*Request{r})
				return judge(&r.RequestHead, &g.facts, &d, now)
			}
			got, err := judged(added)
			base, errBase := judged(alone)
			if err == nil && errBase != nil {
				t.Fatalf("%s may answer under both and not under one: %v", d.By, errBase)
			}
			if err == nil && got.status == RequestApproved && base.status != RequestApproved {
				t.Fatalf("approved under both and %q under one", base.status)
			}
			if err != nil {
				continue
			}
			apply(r, d, got)
			if got.status != "" {
				seats := map[UserID]bool{}
				for _, u := range r.voters(true) {
					seats[u] = true
				}
				if most := max(len(alone.Seats), len(added.Seats)); len(seats) < most {
					t.Fatalf("approved by %d people, and there are %d seats", len(seats), most)
				}
				return
			}
		}
	})
}
