package celpolicy

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"countersign/approvals"
)

func TestStatic(t *testing.T) {
	t.Parallel()
	s := &Static{
		Name: "default", Users: []string{"U1"}, Groups: []string{"S1"}, ChannelMembers: true, Quorum: 2, DenyQuorum: 1,
		SelfApproval: true, ExpiresIn: time.Hour, OnExpiry: approvals.ExpiryKeep, ValidFor: time.Minute,
		Always: []approvals.Scope{approvals.ScopeRun},
	}
	got, err := s.Requirement(t.Context(),
		&approvals.Request{RequestHead: approvals.RequestHead{Workspace: "T9"}}, approvals.PolicyFacts{})
	if err != nil {
		t.Fatal(err)
	}
	want := approvals.Requirement{
		Policy: "default", DenyQuorum: 1, SelfApproval: true, ExpiresIn: time.Hour, OnExpiry: approvals.ExpiryKeep,
		ValidFor: time.Minute, Always: []approvals.Scope{approvals.ScopeRun},
		Seats: approvals.Quorum(2, approvals.Approvers{
			Users: []approvals.UserID{"T9/U1"}, Groups: []string{"S1"}, ChannelMembers: true,
		}),
	}
	want.Hash = got.Hash // see TestHash
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	s.AllOf = []Set{{Groups: []string{"S1"}}, {Users: []string{"U2"}}}
	want.Seats = []approvals.Seat{
		{Approvers: approvals.Approvers{Groups: []string{"S1"}}},
		{Approvers: approvals.Approvers{Users: []approvals.UserID{"T9/U2"}}},
	}
	if got, err = s.Requirement(t.Context(),
		&approvals.Request{RequestHead: approvals.RequestHead{Workspace: "T9"}}, approvals.PolicyFacts{}); err != nil {
		t.Fatal(err)
	}
	want.Hash = got.Hash
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("one of each:", diff)
	}
}

// TestStaticFailsClosed shows that an incomplete policy lets nobody approve.
func TestStaticFailsClosed(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]approvals.Policy{
		"nobody":         &Static{Quorum: 1, DenyQuorum: 1},
		"an empty set":   &Static{AllOf: []Set{{Groups: []string{"S1"}}, {}}, DenyQuorum: 1},
		"no quorum":      &Static{Users: []string{"U1"}, DenyQuorum: 1},
		"no deny quorum": &Static{Users: []string{"U1"}, Quorum: 1},
	} {
		_, err := s.Requirement(t.Context(), &approvals.Request{}, approvals.PolicyFacts{})
		if !errors.Is(err, approvals.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := (None{}).Requirement(t.Context(), &approvals.Request{}, approvals.PolicyFacts{})
	if !errors.Is(err, ErrNoPolicy) {
		t.Errorf("none: %v", err)
	}
}
