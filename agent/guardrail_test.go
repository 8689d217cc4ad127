package agent_test

import (
	"context"
	"fmt"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"countersign/agent"
	"countersign/agent/scripted"
)

// TestGuardrailResults has a guardrail of each kind speak: a Result has what was said in its part of the run, the state
// what was said in all of it, but for what was allowed without a word.
func TestGuardrailResults(t *testing.T) {
	t.Parallel()
	say := func(message string) (agent.Verdict, error) { return agent.Verdict{Message: message}, nil }
	pay := invokingAs("pay", func(context.Context, *agent.ToolCall) (agent.ToolOutput, error) {
		return agent.ToolOutput{Text: "4711"}, nil
	})
	pay.NeedsApproval = agent.AlwaysAsk
	pay.InputGuardrails = []agent.ToolInputGuardrail{{Name: "limits",
		Check: func(context.Context, *agent.ToolCall) (agent.Verdict, error) {
			return say("within")
		}}, {Name: "silent", Check: func(context.Context, *agent.ToolCall) (agent.Verdict, error) { return say("") }}}
	pay.OutputGuardrails = []agent.ToolOutputGuardrail{{Name: "pins",
		Check: func(context.Context, *agent.ToolCall, agent.ToolOutput) (agent.Verdict, error) {
			return agent.Verdict{Action: agent.Replace, Message: "hidden \xff"}, nil
		}}}
	a := &agent.Agent{
		Name: "ops", Tools: []agent.Tool{pay},
		Model: scripted.New(scripted.Calls(scripted.Call("c1", "pay", `{}`)), scripted.Say("Done.")),
		InputGuardrails: []agent.InputGuardrail{{Name: "polite",
			Check: func(context.Context, *agent.Agent, []agent.Item) (agent.Verdict, error) {
				return say("very")
			}}},
		OutputGuardrails: []agent.OutputGuardrail{{Name: "tone",
			Check: func(context.Context, *agent.Agent, string) (agent.Verdict, error) {
				return agent.Verdict{Action: agent.Trip, Message: "rude"}, nil
			}}},
	}
	res, err := new(agent.Runner).Run(t.Context(), a, []agent.Item{agent.UserMessage("go")}, agent.RunOptions{})
	must(t, err)
	input := agent.GuardrailResult{
		Stage: agent.StageInput, Guardrail: "polite", Agent: "ops", Verdict: agent.Verdict{Message: "very"},
	}
	if diff := gocmp.Diff([]agent.GuardrailResult{input}, res.GuardrailResults); diff != "" {
		t.Error(diff)
	}
	s := reloaded(t, res.State, a)
	must(t, s.Approve(s.Undecided()[0], agent.ApproveOptions{}))
	res, err = new(agent.Runner).Resume(t.Context(), a, s, agent.RunOptions{})
	if err == nil {
		t.Fatal("the answer was not refused")
	}
	call := agent.GuardrailResult{
		Stage: agent.StageToolInput, Guardrail: "limits", Agent: "ops", Tool: "pay", CallID: "c1",
		Verdict: agent.Verdict{Message: "within"},
	}
	silent, pins := call, call
	silent.Guardrail, silent.Verdict = "silent", agent.Verdict{}
	pins.Stage, pins.Guardrail, pins.Verdict = agent.StageToolOutput, "pins", agent.Verdict{
		Action: agent.Replace, Message: "hidden \uFFFD",
	}
	tone := agent.GuardrailResult{
		Stage: agent.StageOutput, Guardrail: "tone", Agent: "ops",
		Verdict: agent.Verdict{Action: agent.Trip, Message: "rude"},
	}
	if diff := gocmp.Diff([]agent.GuardrailResult{call, silent, pins, tone}, res.GuardrailResults); diff != "" {
		t.Error(diff)
	}
	want := []agent.GuardrailResult{input, call, pins, tone}
	if diff := gocmp.Diff(want, reloaded(t, res.State, a).GuardrailResults()); diff != "" {
		t.Error(diff)
	}
}

// TestGuardrailResultsAreBounded has one guardrail speak more often than a state keeps.
func TestGuardrailResultsAreBounded(t *testing.T) {
	t.Parallel()
	n := 0
	a := corpusAgent()
	a.Model = scripted.New(scripted.Say("Done."))
	a.InputGuardrails = make([]agent.InputGuardrail, 130)
	for i := range a.InputGuardrails {
		a.InputGuardrails[i] = agent.InputGuardrail{Name: "g",
			Check: func(context.Context, *agent.Agent, []agent.Item) (agent.Verdict, error) {
				n++
				return agent.Verdict{Message: fmt.Sprint(n)}, nil
			}}
	}
	res, err := new(agent.Runner).Run(t.Context(), a, []agent.Item{agent.UserMessage("go")}, agent.RunOptions{})
	must(t, err)
	kept := reloaded(t, res.State, a).GuardrailResults()
	if len(res.GuardrailResults) != 130 || len(kept) != 100 || kept[0].Verdict.Message != "31" ||
		kept[99].Verdict.Message != "130" {
		t.Errorf("%d results, %d kept, from %v", len(res.GuardrailResults), len(kept), kept[:min(1, len(kept))])
	}
}
