package agent

// InterruptionKind says what kind of answer an [Interruption] waits for.
type InterruptionKind string

// The kinds of interruptions.
const (
	// Confirm waits for approval or rejection of a call.
	Confirm InterruptionKind = "confirm"
	// OutcomeUnknown waits for somebody to find out whether a call ran before a crash: Approve runs it again,
	// Approve with an Output records what a person found out, Reject gives up on it.
	OutcomeUnknown InterruptionKind = "outcome_unknown"
)

// Interruption is a call that waits for an answer.
type Interruption struct {
	// ID is unique in the run: path, turn and call id, because providers reuse call ids.
	ID   string           `json:"id"`
	Kind InterruptionKind `json:"kind"`
	// Attempt tells questions about the outcome of one call apart: it counts them, from 1. Zero for other kinds.
	Attempt int      `json:"attempt,omitempty"`
	Call    ToolCall `json:"call"`
	// Definition is the digest of the tool's definition when the call was made.
	Definition Digest `json:"definition"`
	// Digest binds the definition and the canonical arguments together: what was shown is what runs.
	Digest Digest `json:"digest"`
}

// ApproveOptions say how a call is approved. The zero value approves this one call.
type ApproveOptions struct {
	// Always also approves every later call of the same tool by the same agent in this run.
	Always bool
	// Output, if set, is taken as the call's output and nothing runs. Only for OutcomeUnknown.
	Output *ToolOutput
}

// RejectOptions say how a call is rejected. The zero value rejects this one call with the default message.
type RejectOptions struct {
	// Always also rejects every later call of the same tool by the same agent in this run.
	Always bool
	// Message is what the model reads as the call's output; a pointer because an empty message is one too.
	Message *string
}

// DefaultRejection is what the model reads when a call is rejected without a message.
const DefaultRejection = "Tool execution was not approved."
