package agent

import (
	"context"
	"encoding/json"
)

// Model answers one turn of a conversation. Implementations are safe for concurrent use, keep no conversation state
// between calls, honour the context, and do their own retries: an error that reaches the runner ends the run.
type Model interface {
	Respond(ctx context.Context, req *ModelRequest) (*ModelResponse, error)
}

// ModelRequest is everything a model needs for one turn.
type ModelRequest struct {
	Instructions string
	Items        []Item // the whole conversation, oldest first; never modified
	Tools        []ToolDefinition
	Settings     ModelSettings
}

// ToolDefinition is what the model is told about a tool.
type ToolDefinition struct {
	Name        string
	Description string
	Parameters  json.RawMessage // JSON Schema as written by the author of the tool
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

// Add adds v to u.
func (u *Usage) Add(v Usage) {
	u.Requests += v.Requests
	u.InputTokens += v.InputTokens
	u.CachedTokens += v.CachedTokens
	u.OutputTokens += v.OutputTokens
	u.ReasoningTokens += v.ReasoningTokens
	u.TotalTokens += v.TotalTokens
}
