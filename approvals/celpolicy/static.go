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
	Name           string
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
}

var _ approvals.Policy = (*Static)(nil)

// ErrNoPolicy is returned by [None].
var ErrNoPolicy = errors.New("the agents file has no default_policy")

// Requirement returns what the policy asks for, or an error when it is not a usable policy.
func (s *Static) Requirement(_ context.Context, r *approvals.Request) (approvals.Requirement, error) {
	if s.Quorum < 1 || s.DenyQuorum < 1 {
		return approvals.Requirement{}, fmt.Errorf("policy %s: %w", s.Name, approvals.ErrInvalid)
	}
	people := People(r.Workspace, s.Users, s.Groups, s.ChannelMembers)
	if people.Empty() {
		return approvals.Requirement{}, fmt.Errorf("policy %s names nobody: %w", s.Name, approvals.ErrInvalid)
	}
	return approvals.Requirement{
		Policy: s.Name, Approvers: people, Quorum: s.Quorum, DenyQuorum: s.DenyQuorum, SelfApproval: s.SelfApproval,
		ExpiresIn: s.ExpiresIn, OnExpiry: s.OnExpiry, ValidFor: s.ValidFor, Always: s.Always,
	}, nil
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
