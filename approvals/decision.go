package approvals

import (
	"encoding/json"
	"time"

	"countersign/agent"
)

// Verdict is what a person answers.
type Verdict string

// The verdicts. The first four and Edit answer a Confirm request, the next three an OutcomeUnknown request, Reject and
// ProvideResult an ExternalResult request, or Reject and Answer where that is a question (RequestHead.IsQuestion),
// Reject and ProvideInput a FieldsRequired request.
const (
	Approve       Verdict = "approve"
	Reject        Verdict = "reject"
	AlwaysApprove Verdict = "always_approve" // and later calls of the tool by the agent, as far as Decision.Grant says
	AlwaysReject  Verdict = "always_reject"
	Retry         Verdict = "retry"     // run it again
	MarkDone      Verdict = "mark_done" // it happened; Reason is the output for the model
	GiveUp        Verdict = "give_up"   // leave it; Reason is told to the model

	ProvideResult Verdict = "provide_result" // it was carried out; Reason is the output for the model

	// BreakGlass lets a call run in an emergency, past the policy, by the word of one person whom Emergency names. It
	// answers a Confirm request that waits; Reason says why, for the record and whoever reviews it.
	BreakGlass Verdict = "break_glass"
	// Edit changes the call: Decision.Arguments replace its arguments. It approves nothing; another request asks about
	// the changed call.
	Edit Verdict = "edit"
	// ProvideInput fills in what Request.Fields ask for: Decision.Input holds the values as a JSON object. A proposal
	// that it leaves out stands.
	ProvideInput Verdict = "provide_input"
	// Answer answers a question that an agent asked of its own accord, by Decision.Answers.
	Answer Verdict = "answer"
)

// Affirms reports whether the verdict counts toward the quorum (rather than the deny quorum).
func (v Verdict) Affirms() bool {
	return v == Approve || v == AlwaysApprove || v == Retry || v == MarkDone || v == ProvideResult ||
		v == ProvideInput || v == BreakGlass || v == Answer
}

// Decision is one person's answer to one request.
type Decision struct {
	// ID makes the call repeatable: deciding again with the same id returns the same result. A surface derives it
	// from the click; empty: Service makes one. See Service.Decide.
	ID        DecisionID  `json:"id"`
	Workspace WorkspaceID `json:"workspace"`
	Request   RequestID   `json:"request"`
	By        UserID      `json:"by"`
	Verdict   Verdict     `json:"verdict"`
	// Reason is the person's text, at most 2,000 characters. It is told to the model as data.
	Reason string `json:"reason,omitempty"`
	// Digest is the digest of what the person was shown.
	Digest agent.Digest `json:"digest"`
	// Via names the way the answer came: "button", "modal", "home", "cli", "socket", "database".
	Via string    `json:"via"`
	At  time.Time `json:"at"` // set by Service
	// Standing is set by Service on a decision that follows from a standing answer to another request.
	Standing *StandingAnswer `json:"standing,omitempty"`

	// Void says, in a few words, why the decision counts no longer: the person had lost the right to it when the
	// request was about to be settled. Empty: it counts.
	Void string `json:"void,omitempty"`

	// For is the person on whose behalf By decides, who is away and has named By as their delegate: the decision counts
	// as one of For. Where it is empty and By may not decide for themselves, Service fills in the one person for whom
	// they may. Arguments go with Edit and are kept as those of the request that it makes, Input goes with
	// ProvideInput; both are strict JSON objects, and kept in canonical form.
	For       UserID          `json:"for,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
	// Grant are the terms of a standing answer; nil: it is for the rest of the run. With any other verdict it is
	// ErrInvalid.
	Grant *GrantTerms `json:"grant,omitempty"`

	// Issuer is set by Service on a result that came by a callback: the person who had its token made. Empty there: the
	// token went out with the call itself.
	Issuer UserID `json:"issuer,omitempty"`
	// Bound is the digest of the call with the Arguments or the Input of the decision: what may run because of it. Set
	// by Service.
	Bound agent.Digest `json:"bound,omitzero"`

	// Answers go with Answer: the chosen options, word for word, of which there is one unless the question allows
	// several, or where it has no options a text of at most 2,000 characters.
	Answers []string `json:"answers,omitempty"`
}

// StandingAnswer names the answer for all calls of a tool that a decision follows from.
type StandingAnswer struct {
	Request  RequestID  `json:"request"`
	Decision DecisionID `json:"decision"`
}

// standing reports whether the verdict is about later calls too.
func (v Verdict) standing() bool { return v == AlwaysApprove || v == AlwaysReject }

// standing reports whether the decision is about all later calls of the run too. One on other terms is not: it makes a
// grant.
func (d *Decision) standing() bool { return d.Verdict.standing() && d.Grant.plain() }

// alone reports whether one eligible person suffices for the verdict, which is no vote: it approves nothing, or there
// is an emergency.
func (v Verdict) alone() bool { return v.tells() || v.revises() || v == BreakGlass || v == Answer }

// tells reports whether the person's words are what the model reads as the output.
func (v Verdict) tells() bool { return v == MarkDone || v == GiveUp || v == ProvideResult }

// revises reports whether the verdict changes or completes the call's arguments.
func (v Verdict) revises() bool { return v == Edit || v == ProvideInput }
