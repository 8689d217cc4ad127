package agent

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"countersign/agent/toolstatus"
)

// ToolKind says what stands behind a tool. It is part of the tool's definition, and so of every digest.
type ToolKind string

// The kinds of tools. Any other word may be used for tools of one's own; these mean something to the packages here.
const (
	KindFunction   ToolKind = "function"
	KindHTTP       ToolKind = "http"
	KindShell      ToolKind = "shell"
	KindApplyPatch ToolKind = "apply_patch"
	KindMCP        ToolKind = "mcp"        // a tool of an MCP server that this process talks to
	KindHostedMCP  ToolKind = "hosted_mcp" // an MCP server that the provider talks to
	KindWebSearch  ToolKind = "web_search" // executed by the provider
	KindCustom     ToolKind = "custom"     // takes text instead of JSON
	KindAgent      ToolKind = "agent"      // another agent; see Agent.AsTool
	KindHandoff    ToolKind = "handoff"    // how a Handoff looks to the model
	KindExternal   ToolKind = "external"   // somebody else carries it out
	KindAsk        ToolKind = "ask"        // a question to people; see package asktool
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
	// Parameters is the JSON Schema of the arguments. It is never rewritten: it is in the digest. What a model's API
	// would refuse of it may be left out of what is sent to that, and is checked here all the same. An empty schema
	// means an object without properties. Of a tool whose Wire is no function it is not sent: it describes the
	// arguments to gates and people.
	Parameters json.RawMessage
	// Validate checks canonical arguments against Parameters; its error text is read by the model. NewTool sets it, and
	// package rawtool makes one of a schema. A tool with Parameters but no Validate is refused by the runner.
	Validate func(json.RawMessage) error
	// Attributes are further parts of the tool's definition, in a fixed order: what a decision is bound to and the
	// model does not see, for instance the method, URL and header names of an HTTP call. Secrets do not belong here:
	// attributes are stored and shown.
	Attributes []string
	// Preconditions, if set, says what a decision about this very call depends on beyond its arguments, in a fixed
	// order, for instance the digests of the files that a patch changes. Preconditions are part of the call's digest,
	// are shown with the question, and are looked up again right before the call runs: when they differ, the decision
	// is stale, nothing runs and people are asked again. An error is told to the model and nothing runs. Secrets do
	// not belong here.
	Preconditions func(ctx context.Context, call *ToolCall) ([]string, error)
	// Touches, if set, names what a call depends on or may change, as absolute paths of files and directories
	// separated by slashes. Calls of one run, of whatever tools and agents, run one after the other where a path of
	// the one is, or is inside, a path of the other: none changes the world between another's last check and the end
	// of its execution. Calls of a tool with Preconditions and without Touches run one at a time. A call that touches
	// nothing waits for nobody.
	Touches func(call *ToolCall) []string
	// Explain, if set, takes a call apart for people: lines such as the commands of a script or the files of a patch.
	// It is a reading aid beside the arguments, which are always shown, and nothing is bound to it.
	Explain func(call *ToolCall) []string
	// Headline, if set, says on one line what a call does, for people who have a moment: "Pay 250 to Acme Ltd". It is
	// given the call with masks in place of the values of Secret, and like Explain it binds nothing.
	Headline func(call *ToolCall) string
	// Wire says how calls and outputs of the tool look to the provider. The zero value is a function.
	Wire WireForm
	// NeedsApproval says whether a call must be decided by people first. Nil means no. It is asked only when no
	// decision applies to the call yet; an error counts as yes, unless the run's context has ended. The gates of a
	// turn's calls are asked side by side, and so are their Preconditions, guardrails and programs.
	NeedsApproval func(ctx context.Context, call *ToolCall) (bool, error)
	// Because, if set, says why NeedsApproval said yes to the call, in words for people: "amount > 100". Like Explain
	// it binds nothing; empty says nothing.
	Because func(ctx context.Context, call *ToolCall) string
	// OnApproval, if set, is asked when the gate said yes and no decision applies: a program may decide instead of
	// people. Nil means that people do. An error or a panic means nil.
	OnApproval func(ctx context.Context, in *Interruption) (*ToolApproval, error)
	// Audit makes NeedsApproval a matter of record: what it says yes to runs at once, and Effect.Review tells the
	// journal that somebody should look at it afterwards.
	Audit bool
	// Fields names the properties of Parameters that a person fills in. The model is shown the schema without them,
	// and a call interrupts with FieldsRequired before anything else is decided about it.
	Fields []string
	// Proposed names the properties of Parameters that the model may fill in and a person confirms or changes. The
	// model is not obliged to write them; what it writes is shown as Field.Proposal. A call interrupts with
	// FieldsRequired as it does for Fields, and one property is not in both.
	Proposed []string
	// Secret names the properties of Parameters whose values are for the tool alone: whoever shows calls to people
	// masks them. The model, which wrote them, and gates see them, and decisions are bound to them as to all others.
	Secret []string
	// External says that somebody outside carries the call out: it interrupts with ExternalResult, after a gate that
	// asks was answered, and what they report is the output. Such a tool has no Invoke; see NewExternalTool.
	External bool
	// Use says how the agent of a tool made by Agent.AsTool is used. Other tools have none.
	Use AgentUse
	// InputGuardrails check a call right before it runs, OutputGuardrails what it returned before the model reads it.
	InputGuardrails  []ToolInputGuardrail
	OutputGuardrails []ToolOutputGuardrail
	// Idempotent says that running a call twice with the same EffectID has the effect of running it once. Only such
	// calls are repeated when a crash leaves it open whether they ran. That one fails then says nothing about the first
	// time: people who have let it run, or are to look at it afterwards, are asked what became of it.
	Idempotent bool
	// Timeout bounds one execution of Invoke; zero means none. The wait for people is never bounded by it. Where a call
	// that people have let run, or are to look at afterwards, returns the end of its context, they are asked what
	// became of it: it may have taken effect. Other calls that do not finish in time have failed, and the model is told
	// so; so have those of kinds that bound themselves (KindHTTP, KindShell, KindApplyPatch, KindMCP), unless they wrap
	// ErrOutcomeUnknown.
	Timeout time.Duration
	// Invoke runs the call. Its error is told to the model as the call's output; wrap [ErrFatal] to end the run
	// instead, and [ErrOutcomeUnknown] to have people find out whether the call took effect. They are asked that too
	// where a call that they have let run, or are to look at, panics. It must honour ctx.
	Invoke func(ctx context.Context, call *ToolCall) (ToolOutput, error)

	agent         *Agent          // of a tool made by Agent.AsTool
	handoff       *Handoff        // of a handoff as the model sees it
	hosted        json.RawMessage // what NewHostedTool was given: the provider's description of the tool
	hostedSecrets json.RawMessage // and what is sent with it and stored nowhere
	err           error           // why the tool cannot be used; found by NewTool, reported by the runner
}

// AlwaysAsk is the NeedsApproval that asks about every call.
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
	// AskedAgain counts how often a guardrail had people asked again about the call.
	AskedAgain int `json:"asked_again,omitempty"`

	// Preconditions are what Tool.Preconditions said last, where a decision or a gate relies on them; else nil. Only
	// Invoke gets them: a tool that can look again while nobody else can change the world refuses what is different.
	Preconditions []string `json:"-"`
	// Run is the run's context. It is not part of the call's identity.
	Run *RunContext `json:"-"`
}

// RunContext is what an application gives a run, reachable from gates and tools. The model never sees it.
type RunContext struct {
	// ID names the run; effect ids are derived from it, so no two runs should have the same. Empty: the runner makes up
	// a random one. Without a Journal, a Runner tells runs apart that were given one id, as long as it remembers them
	// (the last 65,536 ids); to a Journal of one's own they are one run, and the second gets the outputs of the first.
	ID string
	// Value belongs to the application: what only lives in one process, such as a client or a person's token. It is
	// never saved; whoever resumes a state provides it again.
	Value any
	// Data belongs to the application as well, and is saved with the run: a JSON value of at most 64 KiB, read as
	// strictly as arguments, that gates and tools get again after every resume. It is written with every checkpoint,
	// and no place for secrets. On Resume, nil leaves it as it is (see RunState.Data), and anything else replaces it.
	Data json.RawMessage
}

// ToolOutput is the result of a call as the model reads it. Beyond 1 MiB it is cut, and says so.
type ToolOutput struct {
	Text string `json:"text"`
	// Failed says that the call was carried out and did not succeed. The journal learns it; the model does beyond
	// Text where the wire form has a word for it.
	Failed bool `json:"failed,omitempty"`
	// Native, if set, is the output in the form of the tool's Wire, instead of Text: for WireShell the list of
	// {"stdout","stderr","outcome"} objects. Other forms ignore it.
	Native json.RawMessage `json:"native,omitempty"`
	// Status says in numbers how the call ended. The journal learns it; no model reads it, and no saved run holds it.
	Status toolstatus.Status `json:"-"`
}

// clone returns a copy that shares nothing with c but the run's context, so that code which is handed a call cannot
// change what was decided.
func (c *ToolCall) clone() ToolCall {
	own := *c
	own.Arguments = slices.Clone(c.Arguments)
	own.Path = slices.Clone(c.Path)
	own.Preconditions = slices.Clone(c.Preconditions)
	return own
}
