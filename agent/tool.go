package agent

import (
	"context"
	"encoding/json"
	"slices"
	"time"
)

// ToolKind says what stands behind a tool. It is part of the tool's definition, and so of every digest.
type ToolKind string

// The kinds of tools.
const (
	KindFunction ToolKind = "function"
	KindHTTP     ToolKind = "http"
)

// Tool is something the model may call.
type Tool struct {
	// Name is what the model calls the tool: 1 to 64 letters, digits, underscores and hyphens.
	Name string
	// Description tells the model when and how to use the tool.
	Description string
	// Version is raised by the author when the tool's behaviour changes although its schema does not: decisions
	// for the old version then no longer count.
	Version string
	// Kind is KindFunction when empty.
	Kind ToolKind
	// Parameters is the JSON Schema of the arguments. It is sent as written and never rewritten: it is in the digest.
	// An empty schema means an object without properties.
	Parameters json.RawMessage
	// Validate checks canonical arguments against Parameters; its error text is read by the model. NewTool sets it.
	// A tool with NeedsApproval and Parameters but no Validate is refused by the runner.
	Validate func(json.RawMessage) error
	// Binding holds further parts of the definition that decisions are bound to, in a fixed order, for instance the
	// method, URL and header names of an HTTP call. Secrets do not belong here: it is stored and shown.
	Binding []string
	// NeedsApproval says whether a call must be decided by people first. Nil means no. It is asked only when no
	// decision applies to the call yet; an error counts as yes.
	NeedsApproval ApprovalFunc
	// Idempotent says that running a call twice with the same EffectID has the effect of running it once. Only such
	// calls are repeated when a crash leaves it open whether they ran.
	Idempotent bool
	// Timeout bounds one execution; zero means none. The wait for people is never bounded by it.
	Timeout time.Duration
	// Invoke runs the call. Its error is told to the model as the call's output; wrap [ErrFatal] to end the run
	// instead, and [ErrOutcomeUnknown] to have people find out whether the call took effect. It must honour ctx.
	Invoke func(ctx context.Context, call *ToolCall) (ToolOutput, error)

	err error // why the tool cannot be used; found by NewTool, reported by the runner
}

// ApprovalFunc decides whether a call needs approval. An error counts as true.
type ApprovalFunc func(ctx context.Context, call *ToolCall) (bool, error)

// AlwaysAsk is the gate that asks for every call.
func AlwaysAsk(context.Context, *ToolCall) (bool, error) { return true, nil }

// ToolCall is one validated call of a tool.
type ToolCall struct {
	ID        string          `json:"id"`        // the provider's call id; not unique across turns
	Tool      string          `json:"tool"`      // the tool's name
	Kind      ToolKind        `json:"kind"`      // the tool's kind
	Arguments json.RawMessage `json:"arguments"` // canonical JSON (RFC 8785), valid under the tool's schema
	Agent     string          `json:"agent"`     // the agent that made the call
	Path      []string        `json:"path"`      // agent names from the root to Agent
	Turn      int             `json:"turn"`      // the model turn that made the call, from 1
	// EffectID names this execution. It is the same in every process and after every restart, and different for
	// every other call of every run: usable as an idempotency key.
	EffectID string `json:"effect_id"`

	// Run is the run's context. It is not part of the call's identity.
	Run *RunContext `json:"-"`
}

// RunContext is what an application gives a run, reachable from gates and tools. The model never sees it.
type RunContext struct {
	// ID names the run; effect ids are derived from it. Empty: the runner makes up a random one.
	ID string
	// Value belongs to the application. It is not saved; whoever resumes a state provides it again.
	Value any
}

// ToolOutput is the result of a call as the model reads it.
type ToolOutput struct {
	Text string `json:"text"`
}

// clone returns a copy that shares nothing with c but the run's context, so that code which is handed a call cannot
// change what was decided.
func (c *ToolCall) clone() ToolCall {
	own := *c
	own.Arguments = slices.Clone(c.Arguments)
	own.Path = slices.Clone(c.Path)
	return own
}
