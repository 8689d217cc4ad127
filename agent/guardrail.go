package agent

import (
	"context"
	"slices"
	"strconv"
)

// Verdict is what a guardrail decides.
type Verdict struct {
	// Action is Allow when empty.
	Action VerdictAction `json:"action,omitempty"`
	// Message is what the model reads instead, for Replace; it says why in the error, for Trip. With the others it is
	// kept in the result, and nothing else is made of it.
	Message string `json:"message,omitempty"`
}

// VerdictAction says what happens after a guardrail.
type VerdictAction string

// What a guardrail can decide.
const (
	// Allow goes on.
	Allow VerdictAction = ""
	// Replace gives the model Verdict.Message as the call's output: a call that has not run does not run. Only for
	// tools.
	Replace VerdictAction = "replace"
	// AskAgain drops the decision and asks people once more. Only for ToolInputGuardrail; a call that nobody was asked
	// about is then asked about.
	AskAgain VerdictAction = "ask_again"
	// Trip ends the run with a *TripwireError.
	Trip VerdictAction = "trip"
)

func (a VerdictAction) known() bool { return a == Allow || a == Replace || a == AskAgain || a == Trip }

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

// GuardrailStage says which of the four kinds of guardrails a result is of.
type GuardrailStage string

// The kinds of guardrails, in the order in which a run comes to them.
const (
	StageInput      GuardrailStage = "input"
	StageToolInput  GuardrailStage = "tool_input"
	StageToolOutput GuardrailStage = "tool_output"
	StageOutput     GuardrailStage = "output"
)

// GuardrailResult is what a guardrail said. One that failed or panicked said nothing, and has no result.
type GuardrailResult struct {
	Stage     GuardrailStage `json:"stage"`
	Guardrail string         `json:"guardrail"` // its name
	Agent     string         `json:"agent"`
	// Tool and CallID, the provider's id of the call, are there for the two kinds that look at calls.
	Tool    string  `json:"tool,omitempty"`
	CallID  string  `json:"call_id,omitempty"`
	Verdict Verdict `json:"verdict"`
}

// maxGuardrailResults bounds how many results a state keeps.
const maxGuardrailResults = 100

// GuardrailResults returns what guardrails said in the whole run, oldest first, also in agents used as tools: the last
// 100 verdicts that did more than to allow without a word. All of one Run or Resume are in its Result.
func (s *RunState) GuardrailResults() []GuardrailResult {
	if s.empty() {
		return nil
	}
	return slices.Clone(s.guardrails)
}

// keepVerdict adds a result to those that the state keeps.
func (s *RunState) keepVerdict(r GuardrailResult) {
	if r.Verdict == (Verdict{}) {
		return
	}
	s.guardrails = append(s.guardrails, r)
	if extra := len(s.guardrails) - maxGuardrailResults; extra > 0 {
		s.guardrails = slices.Delete(s.guardrails, 0, extra)
	}
}

// checkGuardrailResults refuses results that no run can have.
func (h *stateHead) checkGuardrailResults() error {
	if len(h.Guardrails) > maxGuardrailResults {
		return h.bad("/guardrails", "there are too many")
	}
	for i := range h.Guardrails {
		r := &h.Guardrails[i]
		ofTool := r.Stage == StageToolInput || r.Stage == StageToolOutput
		if !ofTool && r.Stage != StageInput && r.Stage != StageOutput || ofTool == (r.Tool == "") || r.Agent == "" ||
			!r.Verdict.Action.known() {
			return h.bad("/guardrails/"+strconv.Itoa(i), "it is not what a guardrail said")
		}
	}
	return nil
}
