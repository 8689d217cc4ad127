package agent_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"countersign/agent"
	"countersign/agent/scripted"
	"countersign/agent/toolstatus"
)

// TestBegunAgain has an execution end in the middle of a call, which the next one may begin again. That it fails then
// says nothing about the first time: people who had a say in it are asked what became of it.
func TestBegunAgain(t *testing.T) {
	t.Parallel()
	const before = "This call was begun before, and nobody knows what came of that. It was tried again, and failed:\n"
	refused := agent.ToolOutput{Text: "busy", Failed: true, Status: toolstatus.Status{HTTP: 409}}
	broken := agent.ToolOutput{Text: "broken", Failed: true, Status: toolstatus.Status{HTTP: 502}}
	for name, tt := range map[string]struct {
		second agent.ToolOutput
		err    error
		free   bool   // nobody is asked whether the call may run
		review bool   // it is to be looked at afterwards
		again  bool   // people have it tried again
		want   string // what the model reads; empty: people are asked what became of the call
	}{
		"carried out":            {second: agent.ToolOutput{Text: "paid"}, want: "paid"},
		"refused":                {second: refused},
		"an error":               {err: errors.New("no route to host")},
		"may have acted":         {second: broken, want: before + "broken"},
		"nobody was asked":       {second: refused, free: true, want: before + "busy"},
		"an error, nobody asked": {err: errors.New("lost"), free: true, want: before + "The tool failed: lost"},
		"looked at afterwards":   {second: refused, free: true, review: true},
		"tried again by people":  {second: refused, again: true, want: before + "busy"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runs := 0
			tool := agent.Tool{
				Name: "pay", NeedsApproval: agent.AlwaysAsk, Idempotent: !tt.again,
				Invoke: func(context.Context, *agent.ToolCall) (agent.ToolOutput, error) {
					switch runs++; {
					case runs > 1:
						return tt.second, tt.err
					case tt.again:
						return agent.ToolOutput{}, agent.ErrOutcomeUnknown
					}
					return agent.ToolOutput{}, fmt.Errorf("%w: the process ends", agent.ErrFatal)
				},
			}
			if tt.free && !tt.review {
				tool.NeedsApproval = nil
			}
			tool.Audit = tt.review
			a := &agent.Agent{
				Name: "ops", Tools: []agent.Tool{tool},
				Model: scripted.New(scripted.Calls(scripted.Call("c1", "pay", `{}`)), scripted.Say("Done.")),
			}
			r := &agent.Runner{}
			res, err := r.Run(t.Context(), a, []agent.Item{agent.UserMessage("go")}, agent.RunOptions{})
			for n := range 2 {
				if err == nil && len(res.Interruptions) == 1 {
					must(t, res.State.Approve(res.Interruptions[0], agent.ApproveOptions{}))
				} else if !errors.Is(err, agent.ErrFatal) {
					t.Fatalf("execution %d: %+v, %v", n, res, err)
				}
				res, err = r.Resume(t.Context(), a, res.State, agent.RunOptions{})
				if tt.free {
					break
				}
			}
			must(t, err)
			asked := len(res.Interruptions) == 1 && res.Interruptions[0].Kind == agent.OutcomeUnknown
			if got := outputs(res)["c1"]; got != tt.want || asked != (tt.want == "") || runs != 2 {
				t.Errorf("ran %d times, the model reads %q, asked: %+v", runs, got, res.Interruptions)
			}
		})
	}
}
