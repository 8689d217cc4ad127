package approvals

import (
	"context"
	"slices"
	"time"

	"countersign/agent"
)

// Policy says who must agree to a request; see also Delegator and EmergencyPolicy. An error fails closed: nobody can
// approve until it is mended.
// Implementations read the request and what is known about it, nothing else, and give the same answer for the same
// request and facts. A fact that the answer depends on and that nobody has asked for yet is a [*MissingFactsError]:
// the caller finds it out, outside any transaction, and asks the policy again. A fact that cannot be told makes the
// answer no weaker than any that it could give.
type Policy interface {
	Requirement(ctx context.Context, r *Request, known PolicyFacts) (Requirement, error)
}

// Requirement is a policy's answer for one request.
type Requirement struct {
	Policy string `json:"policy"` // the policy's name, shown to people
	// Seats must all be taken, each by another person: two equal seats are a quorum of two, seats with different groups
	// ask for one of each.
	Seats        []Seat `json:"seats"`
	DenyQuorum   int    `json:"deny_quorum"` // distinct people whose rejection settles; at least 1
	SelfApproval bool   `json:"self_approval,omitempty"`
	// ExpiresIn bounds how long the request waits; zero means forever.
	ExpiresIn time.Duration `json:"expires_in,omitempty"`
	OnExpiry  OnExpiry      `json:"on_expiry"`
	// ValidFor bounds how long after its approval a call may start; zero means forever.
	ValidFor time.Duration `json:"valid_for,omitempty"`
	// Always lists the scopes a standing answer may have; empty forbids it, and so does RiskHigh.
	Always []Scope `json:"always,omitempty"`

	// Hash is the SHA-256 of the policy: its words, and the values of the variables that its condition reads. Version
	// stands for the file that the policy is from. Both are evidence: requirements that differ in nothing else demand
	// the same.
	Hash    agent.Digest `json:"hash,omitzero"`
	Version string       `json:"version,omitempty"`
	// Vars are the variables that the policy's condition reads, with the values that it was evaluated with.
	Vars []PolicyVar `json:"vars,omitempty"`
	Risk Risk        `json:"risk,omitempty"`
	// Freeze are the times during which nobody affirms but those whom each excepts.
	Freeze []Freeze `json:"freeze,omitempty"`
	// MaxTTL bounds how long a grant lasts; zero: a day. A standing answer for the rest of the run ends with the run.
	MaxTTL time.Duration `json:"max_ttl,omitempty"`
	// RemindEvery is how often people are reminded of a request that waits; zero: never.
	RemindEvery time.Duration `json:"remind_every,omitempty"`
	// Escalation lets more people take the seats of a request that has waited for some time.
	Escalation Escalation `json:"escalation,omitzero"`
	// Notify says how people learn of the request. Requirements that differ in nothing else demand the same.
	Notify Notify `json:"notify,omitzero"`
	// Because is the policy's condition in words for people, for instance "amount > 1000"; empty where it has none, or
	// could not be evaluated. Requirements that differ in nothing else demand the same.
	Because string `json:"because,omitempty"`
}

// PolicyVar is a variable of the policies' file that a condition reads.
type PolicyVar struct {
	Name  string `json:"name"`
	Value string `json:"value"` // as JSON: "prod", 1000, true
}

// Risk says how much a wrong answer costs.
type Risk string

// The risks.
const (
	RiskNormal Risk = ""
	// RiskHigh lets every call be decided by itself alone: no standing answer covers it and no batch decides it.
	RiskHigh Risk = "high"
)

// Seat is a place among those who must agree. One person takes one seat.
type Seat struct {
	Approvers Approvers `json:"approvers"`
}

// Quorum returns n equal seats: any n distinct people of the set.
func Quorum(n int, a Approvers) []Seat { return slices.Repeat([]Seat{{Approvers: a}}, n) }

// Scope is how far a standing answer reaches.
type Scope string

// The scopes, for the same agent and tool, from the narrowest to the widest.
const (
	ScopeRun       Scope = "run"       // the rest of the run
	ScopeThread    Scope = "thread"    // the conversation that the run is in
	ScopeChannel   Scope = "channel"   // all conversations of its channel
	ScopeWorkspace Scope = "workspace" // all of the workspace
)

// OnExpiry says what happens when nobody answered in time.
type OnExpiry string

// The outcomes of expiry.
const (
	ExpiryReject OnExpiry = "reject" // the model is told that the request expired
	ExpiryCancel OnExpiry = "cancel" // the run is cancelled
	ExpiryKeep   OnExpiry = "keep"   // keeps waiting: ExpiresIn means nothing
)

// Approvers is a set of people. The zero value is nobody. Guests, strangers, bots and deactivated people are never in
// it.
type Approvers struct {
	Users  []UserID `json:"users,omitempty"`
	Groups []string `json:"groups,omitempty"` // the surface's user groups
	// ChannelMembers are the people of the workspace in the request's channel; in a direct conversation the requester.
	ChannelMembers bool `json:"channel_members,omitempty"`
}

// Empty reports whether the set names nobody.
func (a Approvers) Empty() bool { return len(a.Users) == 0 && len(a.Groups) == 0 && !a.ChannelMembers }

// Directory knows the people. Questions that a decision rests on are put with the time at which the decision arrived:
// the answer must then rest on a question that was put to the source at or after since, which concurrent callers may
// share. With a zero since a kept answer will do, as old as a minute. An error other than ErrNotFound means that the
// question has no answer now, and is treated as "no".
type Directory interface {
	// Person returns who the user is; ErrNotFound when there is no such user.
	Person(ctx context.Context, u UserID, since time.Time) (Person, error)
	// Members returns the people of a user group; ErrNotFound when there is no such group: it counts as empty.
	Members(ctx context.Context, ws WorkspaceID, group string, since time.Time) ([]UserID, error)
	// ChannelMembers returns the people in a channel, for lists and counts, as they were up to a minute ago.
	// ErrNotFound when the channel does not exist or cannot be seen: it counts as empty.
	ChannelMembers(ctx context.Context, ws WorkspaceID, channel string) ([]UserID, error)
	// InChannel reports whether the person is in the channel; ErrNotFound as ChannelMembers.
	InChannel(ctx context.Context, ws WorkspaceID, channel string, u UserID, since time.Time) (bool, error)
	// GroupsOf returns the ids of all user groups that the person is in.
	GroupsOf(ctx context.Context, u UserID, since time.Time) ([]string, error)
	// Channel returns what a channel is; ErrNotFound as ChannelMembers. It is not asked about direct conversations.
	Channel(ctx context.Context, ws WorkspaceID, channel string, since time.Time) (Channel, error)
}

// Person is what a directory knows of somebody.
type Person struct {
	ID UserID
	// Regular says that the person is a full, active member of this workspace: no guest, stranger, bot or app, not
	// deactivated. Only regular people start runs and decide.
	Regular bool
	// Why says in a few words why the person is not regular, for instance "guest".
	Why string
	// Name is what people call the person. They may choose and change it themselves; empty: unknown.
	Name string
}

// Channel is what a directory knows of a conversation that is not a direct one.
type Channel struct {
	Name    string // without "#"
	Private bool   // only people who were invited find it
	Shared  bool   // with another workspace or organisation, or about to be
	// External says that people of another organisation are in it, or about to be.
	External bool
}
