package celpolicy

import (
	"context"
	"errors"
	"fmt"
	"time"

	"countersign/approvals"
)

// Static is a policy that asks for the same of every request. It is the default policy of an agents file. The users
// are ids within the request's workspace.
type Static struct {
	Name string
	// AllOf asks for one person of each set. Empty: for Quorum people of the set that Users, Groups and ChannelMembers
	// make.
	AllOf          []Set
	Users          []string
	Groups         []string
	ChannelMembers bool
	Quorum         int
	DenyQuorum     int
	SelfApproval   bool
	ExpiresIn      time.Duration
	OnExpiry       approvals.OnExpiry
	ValidFor       time.Duration
	Always         []approvals.Scope
	RemindEvery    time.Duration // zero: never
	// EscalateTo may take seats beside the others when a request has waited for EscalateAfter; zero: never.
	EscalateTo    Set
	EscalateAfter time.Duration
}

// Set is a set of people, with ids within the request's workspace.
type Set struct {
	Users          []string
	Groups         []string
	ChannelMembers bool
}

var _ approvals.Policy = (*Static)(nil)

// ErrNoPolicy is returned by [None].
var ErrNoPolicy = errors.New("the agents file has no default_policy")

// Requirement returns what the policy asks for, or an error when it is not a usable policy.
func (s *Static) Requirement(_ context.Context, r *approvals.Request) (approvals.Requirement, error) {
	if s.DenyQuorum < 1 || len(s.AllOf) == 0 && s.Quorum < 1 {
		return approvals.Requirement{}, fmt.Errorf("policy %s: %w", s.Name, approvals.ErrInvalid)
	}
	seats := s.seats(r.Workspace)
	for _, seat := range seats {
		if seat.Approvers.Empty() {
			return approvals.Requirement{}, fmt.Errorf("policy %s names nobody: %w", s.Name, approvals.ErrInvalid)
		}
	}
	q := approvals.Requirement{
		Policy: s.Name, Seats: seats, DenyQuorum: s.DenyQuorum, SelfApproval: s.SelfApproval,
		ExpiresIn: s.ExpiresIn, OnExpiry: s.OnExpiry, ValidFor: s.ValidFor, Always: s.Always,
		RemindEvery: s.RemindEvery,
	}
	if to := s.EscalateTo; s.EscalateAfter > 0 {
		q.Escalation = approvals.Escalation{
			After: s.EscalateAfter, To: People(r.Workspace, to.Users, to.Groups, to.ChannelMembers),
		}
	}
	return q, nil
}

func (s *Static) seats(ws approvals.WorkspaceID) (seats []approvals.Seat) {
	if len(s.AllOf) == 0 {
		return approvals.Quorum(s.Quorum, People(ws, s.Users, s.Groups, s.ChannelMembers))
	}
	for _, set := range s.AllOf {
		seats = append(seats, approvals.Seat{Approvers: People(ws, set.Users, set.Groups, set.ChannelMembers)})
	}
	return seats
}

// People returns the set of people in the workspace.
func People(ws approvals.WorkspaceID, users, groups []string, channelMembers bool) approvals.Approvers {
	a := approvals.Approvers{Groups: groups, ChannelMembers: channelMembers}
	for _, u := range users {
		a.Users = append(a.Users, approvals.NewUserID(ws, u))
	}
	return a
}

// None is the policy of an agents file without one: nobody can approve anything.
type None struct{}

// Requirement returns ErrNoPolicy.
func (None) Requirement(context.Context, *approvals.Request) (approvals.Requirement, error) {
	return approvals.Requirement{}, ErrNoPolicy
}
