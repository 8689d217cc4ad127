package agent_test

import (
	"context"
	"fmt"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"countersign/agent"
	"countersign/agent/guardrail"
	"countersign/agent/scripted"
)

// TestGuardrailResults has a guardrail of each kind speak: a Result has what was said in its part of the run, the state
// what was said in all of it, but for what was allowed without a word.
func TestGuardrailResults(t *testing.T) {
	t.Parallel()
	say := func(message string) (guardrail.Verdict, error) { return guardrail.Verdict{Message: message}, nil }
	pay := invokingAs("pay", func(context.Context, *agent.ToolCall) (agent.ToolOutput, error) {
		return agent.ToolOutput{Text: "4711"}, nil
	})
	pay.NeedsApproval = agent.AlwaysAsk
	pay.InputGuardrails = []agent.ToolInputGuardrail{{Name: "limits",
		Check: func(context.Context, *agent.ToolCall) (guardrail.Verdict, error) {
			return say("within")
		}}, {Name: "silent", Check: func(context.Context, *agent.ToolCall) (guardrail.Verdict, error) {
		return say("")
	}}}
	pay.OutputGuardrails = []agent.ToolOutputGuardrail{{Name: "pins",
		Check: func(context.Context, *agent.ToolCall, agent.ToolOutput) (guardrail.Verdict, error) {
			return guardrail.Verdict{Action: guardrail.Replace, Message: "hidden \xff"}, nil
		}}}
	a := &agent.Agent{
		Name: "ops", Tools: []agent.Tool{pay},
		Model: scripted.New(scripted.Calls(scripted.Call("c1", "pay", `{}`)), scripted.Say("Done.")),
		InputGuardrails: []agent.InputGuardrail{{Name: "polite",
			Check: func(context.Context, *agent.Agent, []agent.Item) (guardrail.Verdict, error) {
				return say("very")
			}}},
		OutputGuardrails: []agent.OutputGuardrail{{Name: "tone",
			Check: func(context.Context, *agent.Agent, string) (guardrail.Verdict, error) {
				return guardrail.Verdict{Action: guardrail.Trip, Message: "rude"}, nil
			}}},
	}
	res, err := new(agent.Runner).Run(t.Context(), a, []agent.Item{agent.UserMessage("go")}, agent.RunOptions{})
	must(t, err)
	input := guardrail.Result{
		Stage: guardrail.Input, Guardrail: "polite", Agent: "ops", Verdict: guardrail.Verdict{Message: "very"},
	}
	if diff := gocmp.Diff([]guardrail.Result{input}, res.GuardrailResults); diff != "" {
		t.Error(diff)
	}
	s := reloaded(t, res.State, a)
	must(t, s.Approve(s.Undecided()[0], agent.ApproveOptions{}))
	res, err = new(agent.Runner).Resume(t.Context(), a, s, agent.RunOptions{})
	if err == nil {
		t.Fatal("the answer was not refused")
	}
	call := guardrail.Result{
		Stage: guardrail.ToolInput, Guardrail: "limits", Agent: "ops", Tool: "pay", CallID: "c1",
		Verdict: guardrail.Verdict{Message: "within"},
	}
	silent, pins := call, call
	silent.Guardrail, silent.Verdict = "silent", guardrail.Verdict{}
	pins.Stage, pins.Guardrail, pins.Verdict = guardrail.ToolOutput, "pins", guardrail.Verdict{
		Action: guardrail.Replace, Message: "hidden \uFFFD",
	}
	tone := guardrail.Result{
		Stage: guardrail.Output, Guardrail: "tone", Agent: "ops",
		Verdict: guardrail.Verdict{Action: guardrail.Trip, Message: "rude"},
	}
	if diff := gocmp.Diff([]guardrail.Result{call, silent, pins, tone}, res.GuardrailResults); diff != "" {
		t.Error(diff)
	}
	want := []guardrail.Result{input, call, pins, tone}
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
			Check: func(context.Context, *agent.Agent, []agent.Item) (guardrail.Verdict, error) {
				n++
				return guardrail.Verdict{Message: fmt.Sprint(n)}, nil
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
