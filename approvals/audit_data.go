package approvals

import (
	"encoding/json"

	"countersign/agent"
)

// auditData is what an audit entry says beside its action, actor, run and request: digests, verdicts, statuses and ids,
// never arguments, reasons or secrets. The fields are in the order of their JSON names, so that the encoded form is the
// one that is hashed.
type auditData struct {
	After    RunID        `json:"after,omitempty"`
	Agent    string       `json:"agent,omitempty"`
	Attempt  int          `json:"attempt,omitempty"`
	Decision DecisionID   `json:"decision,omitempty"`
	Digest   agent.Digest `json:"digest,omitzero"`
	Effect   string       `json:"effect,omitempty"`
	Epoch    int64        `json:"epoch,omitempty"`
	Kind     string       `json:"kind,omitempty"`
	OnExpiry OnExpiry     `json:"on_expiry,omitempty"`
	Outcome  Outcome      `json:"outcome,omitempty"`
	Output   agent.Digest `json:"output,omitzero"` // of a tool's output; see outputDigest
	Person   UserID       `json:"person,omitempty"`
	Policy   string       `json:"policy,omitempty"`
	Quorum   int          `json:"quorum,omitempty"`
	Reason   agent.Digest `json:"reason,omitzero"` // of a person's words, which may be a result
	Request  RequestID    `json:"request,omitempty"`

	Requirement agent.Digest `json:"requirement,omitzero"` // what a request demands; see Requirement.digest

	Review   bool      `json:"review,omitempty"`
	Standing RequestID `json:"standing,omitempty"` // the request whose standing answer this follows from
	Tool     string    `json:"tool,omitempty"`
	Turns    int       `json:"turns,omitempty"`
	Verdict  Verdict   `json:"verdict,omitempty"`
	Via      string    `json:"via,omitempty"`
	Why      string    `json:"why,omitempty"`
}

// encode returns the data as an entry holds it; nil for no data.
func (d auditData) encode() (json.RawMessage, error) {
	if d == (auditData{}) {
		return nil, nil
	}
	return json.Marshal(d)
}
