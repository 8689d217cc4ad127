package celpolicy

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"countersign/agent"
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
	// MaxTTL bounds how long a grant lasts; zero: a day.
	MaxTTL      time.Duration  `json:",omitzero"`
	Risk        approvals.Risk `json:",omitzero"`
	Freeze      []Freeze       `json:",omitempty"`
	RemindEvery time.Duration  `json:",omitzero"` // zero: never
	// EscalateTo may take seats beside the others when a request has waited for EscalateAfter; zero: never.
	EscalateTo    Set           `json:",omitzero"`
	EscalateAfter time.Duration `json:",omitzero"`
	// Notify is how people learn of a request; its zero value, which earlier versions had, is no part of the hash.
	Notify approvals.Notify `json:",omitzero"`
	// Version stands for the file that the policy is from. It is recorded with what the policy demands, and no part of
	// its hash.
	Version string `json:"-"`

	hashes *sync.Map // *Condition -> agent.Digest; nil: s may change
}

// Freeze is a time during which nobody but Except affirms. See approvals.Freeze.
type Freeze struct {
	From, To time.Time
	Except   Set
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

// Fix says that s changes no more, so that its hash is computed once and not for every decision.
func (s *Static) Fix() { s.hashes = new(sync.Map) }

// Requirement returns what the policy asks for, or an error when it is not a usable policy.
func (s *Static) Requirement(
	_ context.Context, r *approvals.Request, _ approvals.PolicyFacts,
) (approvals.Requirement, error) {
	return s.requirement(r.Workspace, nil, false)
}

// requirement returns what the policy asks for in the workspace of what its condition, if it has one, holds for.
func (s *Static) requirement(
	ws approvals.WorkspaceID, when *Condition, truly bool,
) (approvals.Requirement, error) {
	if s.DenyQuorum < 1 || len(s.AllOf) == 0 && s.Quorum < 1 {
		return approvals.Requirement{}, fmt.Errorf("policy %s: %w", s.Name, approvals.ErrInvalid)
	}
	seats := s.seats(ws)
	for _, seat := range seats {
		if seat.Approvers.Empty() {
			return approvals.Requirement{}, fmt.Errorf("policy %s names nobody: %w", s.Name, approvals.ErrInvalid)
		}
	}
	q := approvals.Requirement{
		Policy: s.Name, Seats: seats, DenyQuorum: s.DenyQuorum, SelfApproval: s.SelfApproval,
		ExpiresIn: s.ExpiresIn, OnExpiry: s.OnExpiry, ValidFor: s.ValidFor, Always: s.Always,
		Version: s.Version, Risk: s.Risk, MaxTTL: s.MaxTTL, RemindEvery: s.RemindEvery,
		Notify: s.Notify,
	}
	if s.EscalateAfter > 0 {
		q.Escalation = approvals.Escalation{After: s.EscalateAfter, To: s.EscalateTo.people(ws)}
	}
	for _, z := range s.Freeze {
		q.Freeze = append(q.Freeze, approvals.Freeze{From: z.From, To: z.To, Except: z.Except.people(ws)})
	}
	if when != nil {
		q.Vars = when.shown
	}
	if when != nil && truly {
		q.Because = when.expression.words
	}
	var err error
	q.Hash, err = s.knownHash(when)
	return q, err
}

// knownHash is hash that is computed once, where s changes no more.
func (s *Static) knownHash(when *Condition) (agent.Digest, error) {
	if s.hashes == nil {
		return s.hash(when)
	}
	if known, ok := s.hashes.Load(when); ok {
		return known.(agent.Digest), nil
	}
	sum, err := s.hash(when)
	if err == nil {
		s.hashes.Store(when, sum)
	}
	return sum, err
}

// hash is the SHA-256 of the policy's words: its condition and the values of the variables that this reads among them.
func (s *Static) hash(when *Condition) (agent.Digest, error) {
	words := struct {
		When   string                `json:",omitempty"`
		Vars   []approvals.PolicyVar `json:",omitempty"`
		Policy *Static
	}{Policy: s}
	if when != nil {
		words.When, words.Vars = when.source, when.values
	}
	text, err := json.Marshal(words)
	if err != nil {
		return agent.Digest{}, fmt.Errorf("hash of policy %s: %w", s.Name, err)
	}
	return sha256.Sum256(text), nil
}

func (s Set) people(ws approvals.WorkspaceID) approvals.Approvers {
	return People(ws, s.Users, s.Groups, s.ChannelMembers)
}

func (s *Static) seats(ws approvals.WorkspaceID) (seats []approvals.Seat) {
	if len(s.AllOf) == 0 {
		return approvals.Quorum(s.Quorum, People(ws, s.Users, s.Groups, s.ChannelMembers))
	}
	for _, set := range s.AllOf {
		seats = append(seats, approvals.Seat{Approvers: set.people(ws)})
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
func (None) Requirement(
	context.Context, *approvals.Request, approvals.PolicyFacts,
) (approvals.Requirement, error) {
	return approvals.Requirement{}, ErrNoPolicy
}
