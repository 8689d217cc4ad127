package approvals_test

import (
	"testing"

	"countersign/approvals"
)

// TestImpossible finds what nobody can meet by the words of the policy alone, and says so of nothing else.
func TestImpossible(t *testing.T) {
	t.Parallel()
	users := func(all ...approvals.UserID) approvals.Approvers { return approvals.Approvers{Users: all} }
	seats := func(all ...approvals.Approvers) (s []approvals.Seat) {
		for _, a := range all {
			s = append(s, approvals.Seat{Approvers: a})
		}
		return s
	}
	group, members := approvals.Approvers{Groups: []string{"S1"}}, approvals.Approvers{ChannelMembers: true}
	for _, c := range []struct {
		why          string
		seats        []approvals.Seat
		self, direct bool
		want         bool
	}{
		{"no seat", nil, true, false, true},
		{"one other person", seats(users(bob)), false, false, false},
		{"only the requester", seats(users(ann)), false, false, true},
		{"only the requester, who may", seats(users(ann)), true, false, false},
		{"two of one other", approvals.Quorum(2, users(ann, bob)), false, false, true},
		{"two of two others", approvals.Quorum(2, users(bob, cara)), false, false, false},
		{"one person for two sets", seats(users(bob), users(bob)), false, false, true},
		{"one set can spare the person", seats(users(bob), users(bob, cara)), false, false, false},
		{"a group may be large", approvals.Quorum(5, group), false, false, false},
		{"a channel may be large", approvals.Quorum(5, members), false, false, false},
		{"a direct message has the requester alone", seats(members), false, true, true},
		{"who may decide there", seats(members), true, true, false},
		{"but not twice", approvals.Quorum(2, members), true, true, true},
	} {
		q := approvals.Requirement{Seats: c.seats, SelfApproval: c.self}
		if got := q.Impossible(ann, approvals.Place{Channel: "C1", Direct: c.direct}); got != c.want {
			t.Errorf("%s: %v", c.why, got)
		}
	}
}
