package agent

import "context"

// Verdict is what a guardrail decides.
type Verdict struct {
	// Action is Allow when empty.
	Action VerdictAction
	// Message is what the model reads instead, for Replace; it says why in the error, for Trip.
	Message string
}

// VerdictAction says what happens after a guardrail.
type VerdictAction string

// What a guardrail can decide.
const (
	// Allow goes on.
	Allow VerdictAction = ""
	// Replace gives the model Verdict.Message as the call's output: a call that has not run does not run. Only for tools.
	Replace VerdictAction = "replace"
	// AskAgain drops the decision and asks people once more. Only for ToolInputGuardrail; a call that nobody was asked
	// about is then asked about.
	AskAgain VerdictAction = "ask_again"
	// Trip ends the run with a *TripwireError.
	Trip VerdictAction = "trip"
)

// ToolInputGuardrail checks a call before it runs. An error or a panic ends the run: what cannot be checked does not
// run.
type ToolInputGuardrail struct {
	Name string
	// BeforeApproval also runs it before people are asked: a Replace then spares them the question.
	BeforeApproval bool
	Check          func(ctx context.Context, call *ToolCall) (Verdict, error)
}

// ToolOutputGuardrail checks what a call returned, or what people reported of it, before the model reads it. Replace
// changes what the model reads; what the journal records is what happened.
type ToolOutputGuardrail struct {
	Name  string
	Check func(ctx context.Context, call *ToolCall, out ToolOutput) (Verdict, error)
}

// InputGuardrail checks what users say before a model reads it: the input of a run, before its first turn, and input
// that is added later. It is not run again when a run is resumed.
type InputGuardrail struct {
	Name  string
	Check func(ctx context.Context, a *Agent, input []Item) (Verdict, error)
}

// OutputGuardrail checks an agent's final answer before the run ends with it.
type OutputGuardrail struct {
	Name  string
	Check func(ctx context.Context, a *Agent, output string) (Verdict, error)
}
