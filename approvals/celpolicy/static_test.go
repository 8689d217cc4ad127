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
	got, err := s.Requirement(t.Context(), &approvals.Request{Workspace: "T9"})
	if err != nil {
		t.Fatal(err)
	}
	want := approvals.Requirement{
		Policy: "default", Quorum: 2, DenyQuorum: 1, SelfApproval: true, ExpiresIn: time.Hour, OnExpiry: approvals.ExpiryKeep,
		ValidFor: time.Minute, Always: []approvals.Scope{approvals.ScopeRun},
		Approvers: approvals.Approvers{Users: []approvals.UserID{"T9/U1"}, Groups: []string{"S1"}, ChannelMembers: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestStaticFailsClosed shows that an incomplete policy lets nobody approve.
func TestStaticFailsClosed(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]approvals.Policy{
		"nobody":         &Static{Quorum: 1, DenyQuorum: 1},
		"no quorum":      &Static{Users: []string{"U1"}, DenyQuorum: 1},
		"no deny quorum": &Static{Users: []string{"U1"}, Quorum: 1},
	} {
		if _, err := s.Requirement(t.Context(), &approvals.Request{}); !errors.Is(err, approvals.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := (None{}).Requirement(t.Context(), &approvals.Request{}); !errors.Is(err, ErrNoPolicy) {
		t.Errorf("none: %v", err)
	}
}
