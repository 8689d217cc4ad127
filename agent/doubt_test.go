package agent_test

import (
	"context"
	"fmt"
	"testing"

	"countersign/agent"
	"countersign/agent/scripted"
)

// TestRetryInAChangedWorld has people run a call again whose first attempt changed what it depends on: the runner's own
// journal lets it.
func TestRetryInAChangedWorld(t *testing.T) {
	t.Parallel()
	runs := 0
	tool := agent.Tool{
		Name: "push", NeedsApproval: agent.AlwaysAsk,
		Bind: func(context.Context, *agent.ToolCall) ([]string, error) {
			return []string{fmt.Sprint("revision ", runs)}, nil
		},
		Invoke: func(context.Context, *agent.ToolCall) (agent.ToolOutput, error) {
			if runs++; runs == 1 {
				return agent.ToolOutput{}, agent.ErrOutcomeUnknown
			}
			return agent.ToolOutput{Text: "pushed"}, nil
		},
	}
	a := &agent.Agent{Name: "ops", Tools: []agent.Tool{tool}, Model: scripted.New(scripted.Calls(scripted.Call("c1", "push", `{}`)), scripted.Say("Done."))}
	r := &agent.Runner{}
	res, err := r.Run(t.Context(), a, agent.UserMessage("go"))
	must(t, err)
	for n, want := range []agent.InterruptionKind{agent.Confirm, agent.OutcomeUnknown} {
		if len(res.Interruptions) != 1 || res.Interruptions[0].Kind != want {
			t.Fatalf("question %d: %+v", n, res.Interruptions)
		}
		must(t, res.State.Approve(res.Interruptions[0], agent.ApproveOptions{}))
		res, err = r.Resume(t.Context(), a, res.State)
		must(t, err)
	}
	if !res.State.Finished() || runs != 2 {
		t.Errorf("ran %d times, still asked: %+v", runs, res.Interruptions)
	}
}
