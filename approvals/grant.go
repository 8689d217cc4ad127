package approvals

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"countersign/agent"
)

// GrantID names a grant. Made ids sort by time of creation.
type GrantID string // grant_…

// NewGrantID returns a fresh id that sorts by now.
func NewGrantID(now time.Time) GrantID { return GrantID(newID("grant_", now, 0)) }

// Grant is a standing answer that is kept as a record of its own: calls it covers are not asked about. It comes from
// the people who decided one request, is for the same tool of the same agent, and always ends: it expires, is used up
// or is revoked. Only Used and what says that it was revoked change after its creation.
type Grant struct {
	Workspace WorkspaceID `json:"workspace"`
	ID        GrantID     `json:"id"`
	// Scope says how far it reaches from where it was given: Run, the thread or the channel of Place, or the workspace.
	Scope Scope `json:"scope"`
	Place Place `json:"place"`
	Run   RunID `json:"run"`

	Agent string `json:"agent"`
	Tool  string `json:"tool"`
	// Definition is the digest of the tool as it was defined then. A call of a tool that is defined otherwise is not
	// covered.
	Definition agent.Digest `json:"definition"`
	// Condition bounds the arguments of the calls it covers; each bound must hold.
	Condition []ArgumentBound `json:"condition,omitempty"`
	// Deny says that covered calls are rejected. A grant that denies goes before all that allow.
	Deny bool `json:"deny,omitempty"`

	Created time.Time `json:"created"`
	Expires time.Time `json:"expires"`
	// Uses is how many calls may run under it, zero for any number; Used how many have begun, or were waiting when it
	// was given and approved by it.
	Uses int `json:"uses,omitempty"`
	Used int `json:"used,omitempty"`

	// Request is what Grantors decided when they gave it, Decisions are their answers, in the same order. Policy is
	// the policy's name then, with its hash and version; Requirement is the digest of what was demanded of the request.
	Request       RequestID    `json:"request"`
	Decisions     []DecisionID `json:"decisions"`
	Grantors      []UserID     `json:"grantors"`
	Policy        string       `json:"policy,omitempty"`
	PolicyHash    agent.Digest `json:"policy_hash,omitzero"`
	PolicyVersion string       `json:"policy_version,omitempty"`
	Requirement   agent.Digest `json:"requirement"`

	// Revoked is when it was revoked; zero: it was not. RevokedBy is empty for an operator at the command line.
	Revoked       time.Time `json:"revoked,omitzero"`
	RevokedBy     UserID    `json:"revoked_by,omitempty"`
	RevokedVia    string    `json:"revoked_via,omitempty"`
	RevokedReason string    `json:"revoked_reason,omitempty"`
}

// GrantState is where a grant stands.
type GrantState string

// The states of grants. A grant is inert while it would be active, but calls it is for are asked about all the same:
// the tool, the policy or the rights of those who gave it have changed.
const (
	GrantActive  GrantState = "active"
	GrantInert   GrantState = "inert"
	GrantUsedUp  GrantState = "used up"
	GrantExpired GrantState = "expired"
	GrantRevoked GrantState = "revoked"
)

// State says where the grant stands by its own record: it is never GrantInert.
func (g *Grant) State(now time.Time) GrantState {
	switch {
	case !g.Revoked.IsZero():
		return GrantRevoked
	case !now.Before(g.Expires):
		return GrantExpired
	case g.Uses > 0 && g.Used >= g.Uses:
		return GrantUsedUp
	}
	return GrantActive
}

// Open reports whether the grant has not ended otherwise than by expiry: it was not revoked and is not used up.
func (g *Grant) Open() bool { return g.Revoked.IsZero() && (g.Uses == 0 || g.Used < g.Uses) }

// covers reports whether the grant is for the call that r asks about, or would ask about. Whether it may be used now is
// another question.
func (g *Grant) covers(r *Request) bool {
	return g.Workspace == r.Workspace && r.about(g.Agent, g.Tool, g.Definition) && g.reaches(r.Run, r.Place) &&
		holds(g.Condition, r.Arguments)
}

// reaches reports whether a run in a place is in the grant's scope. An unknown scope reaches nothing.
func (g *Grant) reaches(run RunID, at Place) bool {
	switch g.Scope {
	case ScopeRun:
		return g.Run == run
	case ScopeThread:
		return g.Place.Key() == at.Key()
	case ScopeChannel:
		return g.Place.Surface == at.Surface && g.Place.Channel == at.Channel
	case ScopeWorkspace:
		return true
	}
	return false
}

// givers are the people who gave the grant, each for themselves.
func (g *Grant) givers() []voter {
	all := make([]voter, len(g.Grantors))
	for i, u := range g.Grantors {
		all[i] = voter{by: u}
	}
	return all
}

// digest stands for the grant in the audit trail: the SHA-256 of the JSON of what never changes of it.
func (g *Grant) digest() (agent.Digest, error) {
	given := *g
	given.Used, given.Revoked, given.RevokedBy, given.RevokedVia, given.RevokedReason = 0, noTime, "", "", ""
	given.Created, given.Expires = g.Created.UTC(), g.Expires.UTC()
	b, err := json.Marshal(given)
	if err != nil {
		return agent.Digest{}, fmt.Errorf("digest of grant %s: %w", g.ID, err)
	}
	return sha256.Sum256(b), nil
}

// GrantTx keeps grants. They are not deleted with the run they were given in.
type GrantTx interface {
	// Grant returns the grant, or ErrNotFound.
	Grant(ws WorkspaceID, id GrantID) (*Grant, error)
	// GrantsByID returns the grants with these ids, in that order, in one read; those that are not there are left out.
	GrantsByID(ws WorkspaceID, ids []GrantID) ([]*Grant, error)
	// PutGrant adds or replaces a grant. Agent, Tool and Expires never change.
	PutGrant(g *Grant) error
	// Grants lists the grants of the workspace by id, behind the given one, at most limit, whatever their state.
	Grants(ws WorkspaceID, after GrantID, limit int) ([]*Grant, error)
	// OpenGrants lists the grants for the tool of the agent that are Open and expire after the instant, the earliest
	// to expire first and then by id, at most limit. Its cost depends on how many those are, and not on how many have
	// ended.
	OpenGrants(ws WorkspaceID, agent, tool string, at time.Time, limit int) ([]*Grant, error)
}

// scopes are all scopes, from the narrowest to the widest.
var scopes = [...]Scope{ScopeRun, ScopeThread, ScopeChannel, ScopeWorkspace}

// width orders scopes; -1 for none of them.
func (s Scope) width() int { return slices.Index(scopes[:], s) }

// where names the scope in words, for people of the place where a grant was given.
func (s Scope) where() string {
	switch s {
	case ScopeRun:
		return wordsInThisRun
	case ScopeThread:
		return wordsInThisThread
	case ScopeChannel:
		return wordsInThisChannel
	case ScopeWorkspace:
		return wordsInThisWorkspace
	}
	return "nowhere"
}
