package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"countersign/agent/internal/shape"
)

// Model answers one turn of a conversation. Implementations are safe for concurrent use, keep no conversation state
// between calls, honour the context, and do their own retries: an error that reaches the runner ends the run.
//
// The id of a call names that call for the whole run. A call that comes again under its id, with the same arguments, is
// not run again: that is logged, and an ErrModelBehavior when two answers in a row hold nothing else. With other
// arguments it is an ErrModelBehavior at once.
//
// A Model may also have a method ModelName() (provider, model string), which says for traces which one it is: whose API
// it speaks, for instance "openai", and the provider's name of the model. Either may be empty. Nothing else depends on
// it.
type Model interface {
	Respond(ctx context.Context, req *ModelRequest) (*ModelResponse, error)
}

// StreamModel is a Model that can tell about an answer while it arrives.
type StreamModel interface {
	Model
	// RespondStream is Respond that also calls emit, from the caller's goroutine, for each piece of text as soon as the
	// provider has sent it. The response is complete and authoritative: what was emitted is only for display. After an
	// emit that returned false nothing more is emitted; the response is finished or the context's end awaited.
	// A model that tries a failed call again does so only while nothing was emitted.
	RespondStream(ctx context.Context, req *ModelRequest, emit func(ModelDelta) bool) (*ModelResponse, error)
}

// ModelDelta is a piece of an answer that is still being written.
type ModelDelta struct {
	ItemID    string // the provider's id of the item it belongs to, if known
	Text      string // appended to the text of a message
	Reasoning string // appended to a reasoning summary
}

// ModelRequest is everything a model needs for one turn.
type ModelRequest struct {
	Instructions string
	// Items is the whole conversation, oldest first; with a Conversation or PreviousResponseID only what the provider
	// does not have yet. It is never modified.
	Items []Item
	// HiddenCalls are the ids of calls of the conversation that are not among Items because they are not shown any
	// more: they name those calls all the same.
	HiddenCalls []string
	Tools       []ToolDefinition
	Settings    ModelSettings
	// Output, if set, is what the final answer must look like.
	Output *OutputSchema
	// Conversation is the id of a conversation that the provider keeps, PreviousResponseID the response that this
	// request goes on from. At most one of them is set. A model that cannot do this returns an error wrapping
	// ErrConfig.
	Conversation       string
	PreviousResponseID string
	// Stored asks the provider to keep the response, so that a later request can name it.
	Stored bool
}

// OpenApprovals returns the indexes, in order, of the approvals at the end of Items that no model has answered yet: a
// provider that reads them carries out the calls of the MCP servers that it talks to.
func (r *ModelRequest) OpenApprovals() (open []int) {
	for i := range slices.Backward(r.Items) {
		switch it := &r.Items[i]; {
		case it.Type == ItemMCPApprovalResponse && it.Output == approvalText(true, ""):
			open = append([]int{i}, open...)
		case !it.IsOutput() && (it.Type != ItemMessage || it.Role == RoleAssistant || it.Role == ""):
			return open
		}
	}
	return open
}

// OutputSchema asks for an answer that is JSON valid under a schema.
type OutputSchema struct {
	Name   string          // 1 to 64 letters, digits, underscores and hyphens
	Schema json.RawMessage // JSON Schema of an object, sent as written
	Strict bool            // ask the provider to enforce it; needs a schema within the provider's strict subset
	// Validate, if set, checks the answer here too.
	Validate func(json.RawMessage) error
}

// OutputOf returns the schema of answers that are a T, which must be a struct; see NewTool for how types are described.
// The error says what cannot be described.
func OutputOf[T any](name string) (*OutputSchema, error) {
	accepted, err := shape.Of(reflect.TypeFor[T]())
	if err != nil {
		return nil, fmt.Errorf("%w: output %q: %w", ErrConfig, name, err)
	}
	return &OutputSchema{
		Name: name, Schema: accepted.Schema(),
		Validate: func(answer json.RawMessage) error { return fits[T](accepted, answer) },
	}, nil
}

// ToolDefinition is what the model is told about a tool.
type ToolDefinition struct {
	Name        string
	Description string
	// JSON Schema as written by the author of the tool; nil for other wire forms than functions.
	Parameters json.RawMessage
	// Wire says how the provider is told about it. With WireHosted, Hosted is sent as it is.
	Wire   WireForm
	Hosted json.RawMessage
}

// ModelSettings are passed through to the provider. The zero value leaves everything at the provider's default.
type ModelSettings struct {
	Temperature       *float64 `json:"temperature,omitempty"`
	MaxOutputTokens   int      `json:"max_output_tokens,omitempty"`
	ReasoningEffort   string   `json:"reasoning_effort,omitempty"`
	ToolChoice        string   `json:"tool_choice,omitempty"` // "", "auto", "required", "none" or a tool's name
	ParallelToolCalls *bool    `json:"parallel_tool_calls,omitempty"`
}

// ModelResponse is the model's answer to one turn.
type ModelResponse struct {
	ID    string // the provider's response id, if any
	Items []Item // what the model produced, in order; with Raw set when a provider produced them
	Usage Usage
}

// Usage counts what a run has cost. It adds up over turns, pauses and resumes.
type Usage struct {
	Requests        int64 `json:"requests"`
	InputTokens     int64 `json:"input_tokens"`
	CachedTokens    int64 `json:"cached_tokens,omitempty"`
	OutputTokens    int64 `json:"output_tokens"`
	ReasoningTokens int64 `json:"reasoning_tokens,omitempty"`
	TotalTokens     int64 `json:"total_tokens"`
}

// Add adds v to u. Counts of v below zero are taken for zero, and no sum exceeds 2^53-1.
func (u *Usage) Add(v Usage) {
	u.Requests = bounded(u.Requests, v.Requests)
	u.InputTokens = bounded(u.InputTokens, v.InputTokens)
	u.CachedTokens = bounded(u.CachedTokens, v.CachedTokens)
	u.OutputTokens = bounded(u.OutputTokens, v.OutputTokens)
	u.ReasoningTokens = bounded(u.ReasoningTokens, v.ReasoningTokens)
	u.TotalTokens = bounded(u.TotalTokens, v.TotalTokens)
}
