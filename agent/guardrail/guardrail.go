// Package guardrail is the vocabulary of guardrails: what one decides, and what is kept of it. The guardrails are
// values of package agent: InputGuardrail, OutputGuardrail, ToolInputGuardrail and ToolOutputGuardrail. A program that
// has none needs nothing of this.
package guardrail

// Verdict is what a guardrail decides.
type Verdict struct {
	// Action is Allow when empty.
	Action Action `json:"action,omitempty"`
	// Message is what the model reads instead, for Replace; it says why in the error, for Trip. With the others it is
	// kept in the result, and nothing else is made of it.
	Message string `json:"message,omitempty"`
}

// Action says what happens after a guardrail.
type Action string

// What a guardrail can decide.
const (
	// Allow goes on.
	Allow Action = ""
	// Replace gives the model Verdict.Message as the call's output: a call that has not run does not run. Only for
	// tools.
	Replace Action = "replace"
	// AskAgain drops the decision and asks people once more. Only for agent.ToolInputGuardrail; a call that nobody was
	// asked about is then asked about.
	AskAgain Action = "ask_again"
	// Trip ends the run with an *agent.TripwireError.
	Trip Action = "trip"
)

// Stage says which of the four kinds of guardrails a result is of.
type Stage string

// The kinds of guardrails, in the order in which a run comes to them.
const (
	Input      Stage = "input"
	ToolInput  Stage = "tool_input"
	ToolOutput Stage = "tool_output"
	Output     Stage = "output"
)

// Result is what a guardrail said. One that failed or panicked said nothing, and has no result.
type Result struct {
	Stage     Stage  `json:"stage"`
	Guardrail string `json:"guardrail"` // its name
	Agent     string `json:"agent"`
	// Tool and CallID, the provider's id of the call, are there for the two kinds that look at calls.
	Tool    string  `json:"tool,omitempty"`
	CallID  string  `json:"call_id,omitempty"`
	Verdict Verdict `json:"verdict"`
}
