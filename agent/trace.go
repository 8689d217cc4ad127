package agent

import (
	"context"
	"log/slog"
)

// Tracer tells a tracing system what a run does and how long it takes: one span for each thing that takes time, each
// inside the one that it is part of. Package agent/oteltrace has one for OpenTelemetry.
//
// What spans hold is safe to send elsewhere: names, ids, kinds, counts, verdicts and classes of errors. They never hold
// arguments, outputs, instructions, messages or the texts of errors.
//
// A Tracer and its spans are used from several goroutines at once, in part while the run's state is locked: they must
// not block and must not use that state. They observe: what they panic with has no effect on the run.
type Tracer interface {
	// StartSpan begins a span inside the one that ctx carries, if it carries one. The context that it returns is
	// derived from ctx and carries the new span; models, tools and guardrails get it, so that their own spans lie
	// inside. A nil span means that nobody wants to know when it ends.
	StartSpan(ctx context.Context, s SpanStart) (context.Context, Span)
}

// Span is something that takes time and has begun.
type Span interface {
	// Link returns what SpanStart.Links of a later span is to hold to refer to this one, possibly in another process:
	// text of at most 512 bytes, for instance a W3C traceparent. Empty: it cannot be referred to. It is called for runs
	// only and saved with the run's state.
	Link() string
	// End says that it is over, once and in every case: also after a panic, a cancelled context, or when the run waits
	// for people. class is empty, or the class of the error that it ended with.
	End(class string, attrs ...slog.Attr)
}

// SpanStart says what a span is about.
type SpanStart struct {
	Kind SpanKind
	// Name is that of the agent, model, tool or guardrail; empty for a model that does not tell its name.
	Name string
	// Attrs have the keys of this package's constants, each at most once.
	Attrs []slog.Attr
	// Links refer to spans of the past that led to this one; see Span.Link.
	Links []string
}

// SpanKind says what a span measures.
type SpanKind string

// The kinds of spans. What is listed with each are the keys of its attributes; those that do not apply are left out.
const (
	// SpanRun is one Run or Resume. It links to the run's span before, when the state was resumed. Run, agent,
	// provider, model, conversation; at its end questions, and the tokens of this Run or Resume.
	SpanRun SpanKind = "run"
	// SpanAgent is the conversation of an agent that is used as a tool, as far as it gets at a time. Agent,
	// provider, model, tool, call; at its end questions.
	SpanAgent SpanKind = "agent"
	// SpanTurn is a model call with the calls that it leads to, or what is left to do about those calls after a pause.
	// Agent, turn.
	SpanTurn SpanKind = "turn"
	// SpanModel is a model call. Agent, turn, provider, model, conversation, stream; at its end response and tokens.
	SpanModel SpanKind = "model"
	// SpanTool is the execution of a tool; rejected calls have none, nor have agents used as tools. Agent, turn, tool,
	// tool kind, call, interruption, always; verdict: free, review (free, to be looked at afterwards) or approved.
	SpanTool SpanKind = "tool"
	// SpanQuestion is the moment in which people are asked about a call, and SpanAnswer the one in which the run goes
	// on with their answer; it links to the run's span before, if they were asked there. Agent, turn, tool, tool kind,
	// call, interruption, question, attempt; of an answer also always, and verdict: approved, rejected, or output
	// (people told what came of the call).
	SpanQuestion SpanKind = "question"
	SpanAnswer   SpanKind = "answer"
	// SpanHandoff is a handoff, with its OnHandoff and Filter. Agent, turn, to; at its end verdict: done or refused.
	SpanHandoff SpanKind = "handoff"
	// SpanGuardrail is a check by a guardrail. Agent, stage; of a tool's also tool and call. At its end verdict: allow,
	// replace, ask_again or trip.
	SpanGuardrail SpanKind = "guardrail"
)

// The keys of spans' attributes.
const (
	AttrRun             = "run"              // string: the run's id
	AttrAgent           = "agent"            // string: the name of the agent whose work it is
	AttrTurn            = "turn"             // int: of the agent's conversation, from 1
	AttrProvider        = "provider"         // string: see ModelNamer
	AttrModel           = "model"            // string: see ModelNamer
	AttrConversation    = "conversation"     // string: the id of the conversation that the provider keeps
	AttrStream          = "stream"           // bool: the answer is read while it arrives
	AttrResponse        = "response"         // string: the provider's id of the answer
	AttrInputTokens     = "input_tokens"     // int
	AttrCachedTokens    = "cached_tokens"    // int: of the input
	AttrOutputTokens    = "output_tokens"    // int
	AttrReasoningTokens = "reasoning_tokens" // int: of the output
	AttrTool            = "tool"             // string: the tool's name
	AttrToolKind        = "tool_kind"        // string: a ToolKind
	AttrCall            = "call"             // string: the provider's id of the call
	AttrInterruption    = "interruption"     // string: Interruption.ID, also of a call that nobody was asked about
	AttrQuestion        = "question"         // string: an InterruptionKind
	AttrAttempt         = "attempt"          // int: Interruption.Attempt
	AttrVerdict         = "verdict"          // string: see the kinds of spans
	AttrAlways          = "always"           // bool: the verdict is that of a standing answer
	AttrStage           = "stage"            // string: a GuardrailStage
	AttrTo              = "to"               // string: the name of the agent that takes over
	AttrQuestions       = "questions"        // int: open questions that nobody has answered
)

// ModelNamer is a Model that tells which one it is, for traces.
type ModelNamer interface {
	Model
	// ModelName returns whose API it speaks, for instance "openai", and the provider's name of the model. Either may be
	// empty.
	ModelName() (provider, model string)
}

// The classes of errors that spans end with. An error with a method ErrorClass() string has a class of its own, if that
// is at most 64 letters, digits, dots, hyphens and underscores.
const (
	ClassCancelled      = "cancelled"       // the context was cancelled
	ClassTimeout        = "timeout"         // a deadline has passed
	ClassPanic          = "panic"           // the application's code panicked or ended its goroutine
	ClassFailed         = "failed"          // the tool says that its call did not succeed
	ClassMaxTurns       = "max_turns"       // ErrMaxTurns
	ClassStopped        = "stopped"         // ErrStopped
	ClassTripwire       = "tripwire"        // ErrTripwire
	ClassModelBehavior  = "model_behavior"  // ErrModelBehavior
	ClassStale          = "stale"           // ErrStale
	ClassOutcomeUnknown = "outcome_unknown" // ErrOutcomeUnknown
	ClassToolset        = "toolset"         // ErrToolset
	ClassUnknownTool    = "unknown_tool"    // ErrUnknownTool
	ClassUnknownAgent   = "unknown_agent"   // ErrUnknownAgent
	ClassFatal          = "fatal"           // ErrFatal
	ClassConfig         = "configuration"   // ErrConfig
	ClassOther          = "other"           // any other error
)
