package agent

import "encoding/json"

// InterruptionKind says what kind of answer an [Interruption] waits for.
type InterruptionKind string

// The kinds of interruptions.
const (
	// Confirm waits for approval or rejection of a call.
	Confirm InterruptionKind = "confirm"
	// OutcomeUnknown waits for somebody to find out whether a call ran before a crash: Approve runs it again,
	// Approve with an Output records what a person found out, Reject gives up on it.
	OutcomeUnknown InterruptionKind = "outcome_unknown"
	// FieldsRequired waits for the properties of the arguments that a person fills in or confirms: Approve with Fields.
	FieldsRequired InterruptionKind = "input"
	// ExternalResult waits for the result of a call that somebody outside carries out: Approve with an Output.
	ExternalResult InterruptionKind = "external"
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
	// Digest binds the definition, the canonical arguments and the Preconditions together: what was shown is what runs.
	Digest Digest `json:"digest"`
	// Preconditions are what Tool.Preconditions said when the question was put.
	Preconditions []string `json:"facts,omitempty"`
	// Original holds the arguments as the model wrote them, canonical, when a person changed or completed them.
	Original json.RawMessage `json:"original,omitempty"`
	// Fields are what FieldsRequired asks for, in the order of the tool's schema.
	Fields []Field `json:"fields,omitempty"`
}

// Field is a property of a call's arguments that a person fills in or confirms.
type Field struct {
	Name        string          `json:"name"`
	Type        string          `json:"type,omitempty"` // string, number, integer, boolean, array or object; empty: any
	Description string          `json:"description,omitempty"`
	Required    bool            `json:"required,omitempty"`
	Enum        []string        `json:"enum,omitempty"`   // the values a string may have; empty: any
	Schema      json.RawMessage `json:"schema,omitempty"` // the property's JSON Schema as written
	// Proposal is what the model wrote, canonical; nil where it wrote nothing, and where the field is people's alone.
	Proposal json.RawMessage `json:"proposal,omitempty"`
}

// ToolApproval is the answer of a program, see Tool.OnApproval.
type ToolApproval struct {
	Approve bool
	Reason  string // what the model reads when the call is rejected; empty: the default
}

// ApproveOptions say how a call is approved. The zero value approves this one call.
type ApproveOptions struct {
	// Always also approves every later call of the same tool by the same agent in this run.
	Always bool
	// Output, if set, is taken as the call's output and nothing runs. Only for OutcomeUnknown, and needed for
	// ExternalResult.
	Output *ToolOutput
	// Arguments, if set, replace the call's: a JSON object, read as strictly as a model's and valid under the tool's
	// schema. The call has a new digest then, and the model is told what was carried out. Only for Confirm, and not
	// with Always.
	Arguments json.RawMessage
	// Fields holds the values that FieldsRequired asks for, as a JSON object; a proposal that it leaves out stands, so
	// {} confirms all of them. The model is told when a proposal was changed. What the tool's gate says about the
	// completed call is asked next.
	Fields json.RawMessage
}

// RejectOptions say how a call is rejected. The zero value rejects this one call with the default message.
type RejectOptions struct {
	// Always also rejects every later call of the same tool by the same agent in this run.
	Always bool
	// Message is what the model reads as the call's output; a pointer because an empty message is one too.
	Message *string
}
