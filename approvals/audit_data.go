package approvals

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"countersign/agent"
)

// auditData is what an audit entry says beside its action, actor, run and request: digests, verdicts, statuses and ids,
// never arguments, reasons or secrets. The fields are in the order of their JSON names, so that the encoded form is the
// one that is hashed.
type auditData struct {
	After   RunID        `json:"after,omitempty"`
	Agent   string       `json:"agent,omitempty"`
	Attempt int          `json:"attempt,omitempty"`
	Before  string       `json:"before,omitempty"` // what had ended by then was old enough to be deleted; RFC 3339
	Bound   agent.Digest `json:"bound,omitzero"`   // of the call as a person changed or completed it

	BreakGlass DecisionID `json:"break_glass,omitempty"` // the emergency decision that allowed an effect

	Decision DecisionID   `json:"decision,omitempty"`
	Digest   agent.Digest `json:"digest,omitzero"`
	Effect   string       `json:"effect,omitempty"`
	Effects  int          `json:"effects,omitempty"` // how many there were
	Epoch    int64        `json:"epoch,omitempty"`
	For      UserID       `json:"for,omitempty"` // on whose behalf somebody decided
	Grant    GrantID      `json:"grant,omitempty"`
	Kind     string       `json:"kind,omitempty"`
	Next     RequestID    `json:"next,omitempty"` // the request that takes the place of this one
	OnExpiry OnExpiry     `json:"on_expiry,omitempty"`
	Outcome  Outcome      `json:"outcome,omitempty"`
	Output   agent.Digest `json:"output,omitzero"` // of a tool's output; see outputDigest
	Person   UserID       `json:"person,omitempty"`
	Place    string       `json:"place,omitempty"` // see Place.Key
	Policy   string       `json:"policy,omitempty"`

	// The policy's evidence; see Requirement.
	PolicyHash    agent.Digest `json:"policy_hash,omitzero"`
	PolicyVars    string       `json:"policy_vars,omitempty"` // a JSON object
	PolicyVersion string       `json:"policy_version,omitempty"`

	Quorum  int          `json:"quorum,omitempty"`
	Reason  agent.Digest `json:"reason,omitzero"` // of a person's words, which may be a result
	Request RequestID    `json:"request,omitempty"`

	Requirement agent.Digest `json:"requirement,omitzero"` // what a request demands; see Requirement.digest

	RetryOf  RunID     `json:"retry_of,omitempty"` // the run whose input was submitted once more
	Review   bool      `json:"review,omitempty"`
	Secret   string    `json:"secret,omitempty"`   // the names of secret arguments, as a JSON array
	Standing RequestID `json:"standing,omitempty"` // the request whose standing answer this follows from
	// Terms is the digest of the terms of a decision, or of a whole grant; see Grant.digest.
	Terms   agent.Digest `json:"terms,omitzero"`
	To      string       `json:"to,omitempty"`   // who may answer beside those who could before
	Token   agent.Digest `json:"token,omitzero"` // of a callback; see tokenSum
	Tool    string       `json:"tool,omitempty"`
	Turns   int          `json:"turns,omitempty"`
	Verdict Verdict      `json:"verdict,omitempty"`
	Via     string       `json:"via,omitempty"`
	Why     string       `json:"why,omitempty"`
}

// encode returns the data as an entry holds it, as json.Marshal writes it; nil for no data.
func (d *auditData) encode() (json.RawMessage, error) {
	if *d == (auditData{}) {
		return nil, nil
	}
	w := dataWriter{data: make([]byte, 0, 384)}
	w.text("after", string(d.After))
	w.text("agent", d.Agent)
	w.number("attempt", int64(d.Attempt))
	w.text("before", d.Before)
	w.digest("bound", d.Bound)
	w.text("break_glass", string(d.BreakGlass))
	w.text("decision", string(d.Decision))
	w.digest("digest", d.Digest)
	w.text("effect", d.Effect)
	w.number("effects", int64(d.Effects))
	w.number("epoch", d.Epoch)
	w.text("for", string(d.For))
	w.text("grant", string(d.Grant))
	w.text("kind", d.Kind)
	w.text("next", string(d.Next))
	w.text("on_expiry", string(d.OnExpiry))
	w.text("outcome", string(d.Outcome))
	w.digest("output", d.Output)
	w.text("person", string(d.Person))
	w.text("place", d.Place)
	w.text("policy", d.Policy)
	w.digest("policy_hash", d.PolicyHash)
	w.text("policy_vars", d.PolicyVars)
	w.text("policy_version", d.PolicyVersion)
	w.number("quorum", int64(d.Quorum))
	w.digest("reason", d.Reason)
	w.text("request", string(d.Request))
	w.digest("requirement", d.Requirement)
	w.text("retry_of", string(d.RetryOf))
	w.flag("review", d.Review)
	w.text("secret", d.Secret)
	w.text("standing", string(d.Standing))
	w.digest("terms", d.Terms)
	w.text("to", d.To)
	w.digest("token", d.Token)
	w.text("tool", d.Tool)
	w.number("turns", int64(d.Turns))
	w.text("verdict", string(d.Verdict))
	w.text("via", d.Via)
	w.text("why", d.Why)
	return w.end()
}

// dataWriter writes a JSON object without the fields that are zero. Every transaction writes a few: with reflection
// they were a good part of what a decision costs.
type dataWriter struct {
	data []byte
	err  error
}

func (w *dataWriter) name(name string) {
	if len(w.data) == 0 {
		w.data = append(w.data, '{')
	} else {
		w.data = append(w.data, ',')
	}
	w.data = append(append(append(w.data, '"'), name...), '"', ':')
}

func (w *dataWriter) text(name, value string) {
	if value == "" {
		return
	}
	w.name(name)
	for i := range len(value) {
		if c := value[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			quoted, err := json.Marshal(value)
			w.data, w.err = append(w.data, quoted...), errors.Join(w.err, err)
			return
		}
	}
	w.data = append(append(append(w.data, '"'), value...), '"')
}

// evidence adds to the data which policy demanded q.
func (d auditData) evidence(q *Requirement) (auditData, error) {
	d.Policy, d.PolicyHash, d.PolicyVersion = q.Policy, q.Hash, q.Version
	if len(q.Vars) == 0 {
		return d, nil
	}
	values := make(map[string]json.RawMessage, len(q.Vars))
	for _, v := range q.Vars {
		values[v.Name] = json.RawMessage(v.Value)
	}
	text, err := json.Marshal(values)
	if err != nil {
		return d, fmt.Errorf("variables of %s: %w", q.name(), err)
	}
	d.PolicyVars = string(text)
	return d, nil
}

func (w *dataWriter) number(name string, value int64) {
	if value != 0 {
		w.name(name)
		w.data = strconv.AppendInt(w.data, value, 10)
	}
}

func (w *dataWriter) flag(name string, value bool) {
	if value {
		w.name(name)
		w.data = append(w.data, "true"...)
	}
}

func (w *dataWriter) digest(name string, value agent.Digest) {
	if value != (agent.Digest{}) {
		w.name(name)
		w.data = append(hex.AppendEncode(append(w.data, '"'), value[:]), '"')
	}
}

func (w *dataWriter) end() (json.RawMessage, error) { return append(w.data, '}'), w.err }
