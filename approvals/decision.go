package approvals

import (
	"encoding/json"
	"time"

	"countersign/agent"
)

// Verdict is what a person answers.
type Verdict string

// The verdicts. The first four answer a Confirm request, the next three an OutcomeUnknown request, Reject and the last
// one an ExternalResult request.
const (
	Approve       Verdict = "approve"
	Reject        Verdict = "reject"
	AlwaysApprove Verdict = "always_approve" // and every later call of the tool by the agent in this run
	AlwaysReject  Verdict = "always_reject"
	Retry         Verdict = "retry"     // run it again
	MarkDone      Verdict = "mark_done" // it happened; Reason is the output for the model
	GiveUp        Verdict = "give_up"   // leave it; Reason is told to the model

	ProvideResult Verdict = "provide_result" // it was carried out; Reason is the output for the model

	// BreakGlass lets a call run in an emergency, past the policy, by the word of one person whom Emergency names. It
	// answers a Confirm request that waits; Reason says why, for the record and whoever reviews it.
	BreakGlass Verdict = "break_glass"
)

// Affirms reports whether the verdict counts toward the quorum (rather than the deny quorum).
func (v Verdict) Affirms() bool {
	return v == Approve || v == AlwaysApprove || v == Retry || v == MarkDone || v == ProvideResult || v == BreakGlass
}

// Decision is one person's answer to one request.
type Decision struct {
	// ID makes the call repeatable: deciding again with the same id returns the same result. A surface derives it
	// from the click; empty: Service makes one.
	ID        DecisionID  `json:"id"`
	Workspace WorkspaceID `json:"workspace"`
	Request   RequestID   `json:"request"`
	By        UserID      `json:"by"`
	Verdict   Verdict     `json:"verdict"`
	// Reason is the person's text, at most 2,000 characters. It is told to the model as data.
	Reason string `json:"reason,omitempty"`
	// Digest is the digest of what the person was shown.
	Digest agent.Digest `json:"digest"`
	// Via names the way the answer came: "button", "modal", "home", "cli".
	Via string    `json:"via"`
	At  time.Time `json:"at"` // set by Service
	// Standing is set by Service on a decision that follows from a standing answer to another request.
	Standing *StandingAnswer `json:"standing,omitempty"`

	// Void says, in a few words, why the decision counts no longer: the person had lost the right to it when the
	// request was about to be settled. Empty: it counts.
	Void string `json:"void,omitempty"`

	// For is the person on whose behalf By decides, who is away and has named By as their delegate: the decision counts
	// as one of For. Where it is empty and By may not decide for themselves, Service fills in the one person for whom
	// they may. Arguments replace the call's, Input fills in fields that people provide, Grant makes an approval outlive
	// the run. No policy offers these yet: a decision that sets one is ErrInvalid.
	For       UserID          `json:"for,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
	Grant     *GrantTerms     `json:"grant,omitempty"`
}

// StandingAnswer names the answer for all calls of a tool that a decision follows from.
type StandingAnswer struct {
	Request  RequestID  `json:"request"`
	Decision DecisionID `json:"decision"`
}

// GrantTerms are what a person asks of a grant: how far it reaches, for which arguments, for how long and how often.
type GrantTerms struct {
	Scope     Scope         `json:"scope"`
	Condition string        `json:"condition,omitempty"` // CEL over the call's arguments
	TTL       time.Duration `json:"ttl,omitempty"`       // zero: as long as the policy lets it
	Uses      int           `json:"uses,omitempty"`      // zero: any number
}

// standing reports whether the verdict is about later calls too.
func (v Verdict) standing() bool { return v == AlwaysApprove || v == AlwaysReject }

// alone reports whether one eligible person suffices for the verdict: it runs nothing, or there is an emergency.
func (v Verdict) alone() bool {
	return v == MarkDone || v == GiveUp || v == ProvideResult || v == BreakGlass
}
