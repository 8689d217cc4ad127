package approvals

import (
	"context"
	"time"
)

// Policy says who must agree to a request. An error fails closed: nobody can approve until it is mended.
// Implementations read the request and nothing else, and give the same answer for the same request.
type Policy interface {
	Requirement(ctx context.Context, r *Request) (Requirement, error)
}

// Requirement is a policy's answer for one request.
type Requirement struct {
	Policy       string    `json:"policy"` // the policy's name, shown to people
	Approvers    Approvers `json:"approvers"`
	Quorum       int       `json:"quorum"`      // distinct people who must approve; at least 1
	DenyQuorum   int       `json:"deny_quorum"` // distinct people whose rejection settles; at least 1
	SelfApproval bool      `json:"self_approval,omitempty"`
	// ExpiresIn bounds how long the request waits; zero means forever.
	ExpiresIn time.Duration `json:"expires_in,omitempty"`
	OnExpiry  OnExpiry      `json:"on_expiry"`
	// ValidFor bounds how long after its approval a call may start; zero means forever.
	ValidFor time.Duration `json:"valid_for,omitempty"`
	// Always lists the scopes a standing answer may have; empty forbids it.
	Always []Scope `json:"always,omitempty"`
}

// Scope is how far a standing answer reaches.
type Scope string

// ScopeRun is the rest of the run, the same agent and tool.
const ScopeRun Scope = "run"

// OnExpiry says what happens when nobody answered in time.
type OnExpiry string

// The outcomes of expiry.
const (
	ExpiryReject OnExpiry = "reject" // the model is told that the request expired
	ExpiryCancel OnExpiry = "cancel" // the run is cancelled
	ExpiryKeep   OnExpiry = "keep"   // keeps waiting
)

// Approvers is a set of people. The zero value is nobody. Guests, strangers, bots and deactivated people are never in it.
type Approvers struct {
	Users  []UserID `json:"users,omitempty"`
	Groups []string `json:"groups,omitempty"` // the surface's user groups
	// ChannelMembers are the people of the workspace in the request's channel; in a direct conversation the requester.
	ChannelMembers bool `json:"channel_members,omitempty"`
}

// Empty reports whether the set names nobody.
func (a Approvers) Empty() bool { return len(a.Users) == 0 && len(a.Groups) == 0 && !a.ChannelMembers }

// Directory knows the people. Every error means that the question has no answer now, and is treated as "no".
// Answers may be up to a minute old.
type Directory interface {
	// Person returns who the user is; ErrNotFound when there is no such user.
	Person(ctx context.Context, u UserID) (Person, error)
	// Members returns the people of a user group.
	Members(ctx context.Context, ws WorkspaceID, group string) ([]UserID, error)
	// ChannelMembers returns the people in a channel.
	ChannelMembers(ctx context.Context, ws WorkspaceID, channel string) ([]UserID, error)
}

// Person is what a directory knows of somebody.
type Person struct {
	ID UserID
	// Regular says that the person is a full, active member of this workspace: no guest, stranger, bot or app, not
	// deactivated. Only regular people start runs and decide.
	Regular bool
	// Why says in a few words why the person is not regular, for instance "guest".
	Why string
}
