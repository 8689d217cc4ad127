package celpolicy

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"countersign/agent"
	"countersign/approvals"
)

func TestStatic(t *testing.T) {
	t.Parallel()
	s := &Static{
		Name: "default", Users: []string{"U1"}, Groups: []string{"S1"}, ChannelMembers: true, Quorum: 2, DenyQuorum: 1,
		SelfApproval: true, ExpiresIn: time.Hour, OnExpiry: approvals.ExpiryKeep, ValidFor: time.Minute,
		Always: []approvals.Scope{approvals.ScopeRun}, RemindEvery: 15 * time.Minute,
		EscalateAfter: 30 * time.Minute, EscalateTo: Set{Users: []string{"U9"}, ChannelMembers: true},
	}
	got, err := s.Requirement(t.Context(),
		&approvals.Request{RequestHead: approvals.RequestHead{Workspace: "T9"}}, approvals.PolicyFacts{})
	if err != nil {
		t.Fatal(err)
	}
	want := approvals.Requirement{
		Policy: "default", DenyQuorum: 1, SelfApproval: true, ExpiresIn: time.Hour, OnExpiry: approvals.ExpiryKeep,
		ValidFor: time.Minute, Always: []approvals.Scope{approvals.ScopeRun}, RemindEvery: 15 * time.Minute,
		Escalation: approvals.Escalation{
			After: 30 * time.Minute, To: approvals.Approvers{Users: []approvals.UserID{"T9/U9"}, ChannelMembers: true},
		},
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

// TestFixedHash: a policy that changes no more has the hash that it would have otherwise, one for each condition.
func TestFixedHash(t *testing.T) {
	t.Parallel()
	words := func() *Static { return &Static{Name: "p", Users: []string{"U1"}, Quorum: 1, DenyQuorum: 1} }
	plain, fixed := words(), words()
	fixed.Fix()
	var conditions []*Condition
	for _, text := range []string{`tool == "a"`, `tool == "b"`} {
		c, err := CompileCondition(text, nil)
		if err != nil {
			t.Fatal(err)
		}
		conditions = append(conditions, c)
	}
	seen := make(map[agent.Digest]bool)
	for range 2 {
		for _, when := range append(conditions, nil) {
			want, err := plain.requirement("T1", when, true)
			if err != nil {
				t.Fatal(err)
			}
			got, err := fixed.requirement("T1", when, true)
			if err != nil || got.Hash != want.Hash {
				t.Errorf("hash %s, want %s (error %v)", got.Hash, want.Hash, err)
			}
			seen[got.Hash] = true
		}
	}
	if len(seen) != 3 {
		t.Errorf("%d hashes of three policies", len(seen))
	}
}

func BenchmarkRequirement(b *testing.B) {
	s := &Static{Name: "p", Users: []string{"U1", "U2"}, Quorum: 2, DenyQuorum: 1}
	s.Fix()
	r := &approvals.Request{RequestHead: approvals.RequestHead{Workspace: "T1"}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Requirement(b.Context(), r, approvals.PolicyFacts{}); err != nil {
			b.Fatal(err)
		}
	}
}
