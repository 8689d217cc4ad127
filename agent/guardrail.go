package agent

import (
	"context"
	"slices"
	"strconv"

	"countersign/agent/guardrail"
)

// ToolInputGuardrail checks a call before it runs. An error or a panic ends the run: what cannot be checked does not
// run.
type ToolInputGuardrail struct {
	Name string
	// BeforeApproval also runs it before people are asked: a Replace then spares them the question.
	BeforeApproval bool
	Check          func(ctx context.Context, call *ToolCall) (guardrail.Verdict, error)
}

// ToolOutputGuardrail checks what a call returned, or what people reported of it, before the model reads it. Replace
// changes what the model reads; what the journal records is what happened.
type ToolOutputGuardrail struct {
	Name  string
	Check func(ctx context.Context, call *ToolCall, out ToolOutput) (guardrail.Verdict, error)
}

// InputGuardrail checks what users say before a model reads it: the input of a run, before its first turn, and input
// that is added later. It is not run again when a run is resumed.
type InputGuardrail struct {
	Name  string
	Check func(ctx context.Context, a *Agent, input []Item) (guardrail.Verdict, error)
}

// OutputGuardrail checks an agent's final answer before the run ends with it.
type OutputGuardrail struct {
	Name  string
	Check func(ctx context.Context, a *Agent, output string) (guardrail.Verdict, error)
}

// maxGuardrailResults bounds how many results a state keeps.
const maxGuardrailResults = 100

// GuardrailResults returns what guardrails said in the whole run, oldest first, also in agents used as tools: the last
// 100 verdicts that did more than to allow without a word. All of one Run or Resume are in its Result.
func (s *RunState) GuardrailResults() []guardrail.Result {
	if s.empty() {
		return nil
	}
	return slices.Clone(s.guardrails)
}

// keepVerdict adds a result to those that the state keeps.
func (s *RunState) keepVerdict(r guardrail.Result) {
	if r.Verdict == (guardrail.Verdict{}) {
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
		ofTool := r.Stage == guardrail.ToolInput || r.Stage == guardrail.ToolOutput
		ofAgent := r.Stage == guardrail.Input || r.Stage == guardrail.Output
		if !ofTool && !ofAgent || ofTool == (r.Tool == "") || r.Agent == "" || !knownAction(r.Verdict.Action) {
			return h.bad("/guardrails/"+strconv.Itoa(i), "it is not what a guardrail said")
		}
	}
	return nil
}

func knownAction(a guardrail.Action) bool {
	return a == guardrail.Allow || a == guardrail.Replace || a == guardrail.AskAgain || a == guardrail.Trip
}
