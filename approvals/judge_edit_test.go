package approvals

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"countersign/agent"
)

// TestEditNeverLowers changes a call over random organisations, once or twice, under policies that demand anything of
// each version, and has people answer in any order. The changed call is approved only when different people who stand
// behind no version of it, where that is not allowed, could take all seats of what was demanded of each version.
func TestEditNeverLowers(t *testing.T) {
	t.Parallel()
	approved := 0
	rapid.Check(t, func(t *rapid.T) {
		for range 40 { // few changes are ones that people could make, and approve
			r, versions, o := drawEdited(t)
			if r == nil {
				continue
			}
			o.answerAll(t, r)
			if r.Status != RequestApproved {
				continue
			}
			approved++
			for i := range versions {
				q := &versions[i].demanded
				voters := slices.DeleteFunc(r.voters(true), func(v voter) bool {
					edited := slices.ContainsFunc(v.people(), func(u UserID) bool {
						return slices.ContainsFunc(versions, func(v version) bool {
							return slices.Contains(v.editors, u)
						})
					})
					return !q.SelfApproval && edited
				})
				if !o.fills(q, r, voters, 0) {
					t.Fatalf("approved by %v: version %d demanded %+v", r.voters(true), i, q)
				}
			}
		}
	})
	if approved == 0 {
		t.Error("nothing was approved: the property was not tried")
	}
}

// version is a call as the model wrote it, or as somebody made it, perhaps for somebody else.
type version struct {
	editors  []UserID
	demanded Requirement
}

// drawEdited draws a request about a call that people have changed, with its versions; nil where
// the people drawn may not change it, or nobody could approve it.
func drawEdited(t *rapid.T) (*Request, []version, *organisation) {
	o := drawOrganisation(t)
	r := &Request{RequestHead: RequestHead{
		Workspace: "T1", ID: "req_1", Kind: agent.Confirm, Status: RequestPending, Place: Place{Channel: "C1"},
		Requester: rapid.SampledFrom(o.people).Draw(t, "requester"), Requirement: o.demand, Digest: agent.Digest{1},
		Created: o.now,
	}}
	versions := []version{{demanded: o.demand}}
	for i := range rapid.IntRange(1, 2).Draw(t, "edits") {
		editor := rapid.SampledFrom(o.people).Draw(t, "editor")
		g := newGatherer(o, o, r.conversation(), time.Now())
		d := Decision{ID: "dec_e", By: editor, Verdict: Edit, Digest: r.Digest}
		g.decision(t.Context(), d, []*Request{r})
		result, err := judge(&r.RequestHead, &g.facts, &d, o.now)
		if err != nil {
			return nil, nil, nil
		}
		v := voter{editor, result.on}
		next := r.revisedBy(v, agent.Interruption{Digest: agent.Digest{byte(i + 2)}})
		next.ID, next.Status, next.Created = RequestID(fmt.Sprint("req_", i+2)), RequestPending, o.now
		o.demand = o.drawRequirement(t)
		if err := g.demandNext(t.Context(), r, next, o.now); err != nil {
			return nil, nil, nil
		}
		versions = append(versions, version{v.people(), o.demand})
		r = next
	}
	return r, versions, o
}

// answerAll has everybody answer in a random order, until the request is settled.
func (o *organisation) answerAll(t *rapid.T, r *Request) {
	for _, u := range rapid.Permutation(o.people).Draw(t, "order") {
		if r.Status != RequestPending {
			return
		}
		g := newGatherer(o, o, r.conversation(), time.Now())
		d := Decision{ID: DecisionID("dec_" + u), By: u, Verdict: Approve, Digest: r.Digest}
		g.decision(t.Context(), d, []*Request{r})
		if got, err := judge(&r.RequestHead, &g.facts, &d, o.now); err == nil {
			d.For = got.on
			apply(r, d, got)
			if got.status != "" {
				r.Status = got.status
			}
		}
	}
}

// TestEditLowersWithoutInheritance is the control of TestEditNeverLowers: without what was demanded before, or without
// the editors, the same answers approve more.
func TestEditLowersWithoutInheritance(t *testing.T) {
	t.Parallel()
	o := &organisation{
		people:  []UserID{"T1/U0", "T1/U1", "T1/U2"},
		regular: map[UserID]bool{"T1/U0": true, "T1/U1": true, "T1/U2": true},
		channel: []UserID{"T1/U0", "T1/U1", "T1/U2"},
	}
	o.demand = Requirement{Policy: "low", Seats: Quorum(1, Approvers{ChannelMembers: true}), DenyQuorum: 1}
	high := Requirement{Policy: "high", Seats: Quorum(1, Approvers{Users: []UserID{"T1/U2"}}), DenyQuorum: 1}
	for _, tt := range []struct {
		why       string
		inherited []Requirement
		editors   []UserID
		want      bool
	}{
		{"what was demanded before counts", []Requirement{high}, nil, false},
		{"the control without it", nil, nil, true},
		{"an editor counts as a requester", nil, []UserID{"T1/U1"}, false},
	} {
		r := &Request{RequestHead: RequestHead{
			Workspace: "T1", ID: "req_1", Kind: agent.Confirm, Status: RequestPending, Place: Place{Channel: "C1"},
			Requester: "T1/U0", Requirement: o.demand, Inherited: tt.inherited, Editors: tt.editors,
		}}
		g := newGatherer(o, o, r.conversation(), time.Now())
		d := Decision{ID: "dec_1", By: "T1/U1", Verdict: Approve}
		g.decision(t.Context(), d, []*Request{r})
		got, err := judge(&r.RequestHead, &g.facts, &d, o.now)
		if approved := err == nil && got.status == RequestApproved; approved != tt.want {
			t.Errorf("%s: %v, %v", tt.why, got.status, err)
		}
	}
}
