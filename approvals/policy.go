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

// Directory knows the people. ErrNotFound is an answer: there is no such person, group or channel. Every other error
// means that the question cannot be answered now; one that wraps a *RetryError says when it may be.
//
// Where a method takes since, the answer rests on a question that was put at or after this instant: a time of this
// process with its monotonic part. Callers at the same time share a question as long as it began at or after the since
// of each. With the zero time an answer of the last minute will do.
type Directory interface {
	// Person returns who the user is; ErrNotFound when there is no such user.
	Person(ctx context.Context, u UserID, since time.Time) (Person, error)
	// Members returns the people of a user group; ErrNotFound when there is no such group.
	Members(ctx context.Context, ws WorkspaceID, group string, since time.Time) ([]UserID, error)
	// ChannelMembers returns the people in a channel, for lists and counts: answers may be up to a minute old.
	// ErrNotFound when the channel does not exist, or the bot cannot see it because it is not in it.
	ChannelMembers(ctx context.Context, ws WorkspaceID, channel string) ([]UserID, error)
	// InChannel reports whether the person is in the channel. For a channel that does not exist, or that the bot cannot
	// see, the answer is false or ErrNotFound.
	InChannel(ctx context.Context, ws WorkspaceID, channel string, u UserID, since time.Time) (bool, error)
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
