package approvals

import (
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
)

// Affirms reports whether the verdict counts toward the quorum (rather than the deny quorum).
func (v Verdict) Affirms() bool {
	return v == Approve || v == AlwaysApprove || v == Retry || v == MarkDone || v == ProvideResult
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
}
