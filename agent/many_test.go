package agent_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"countersign/agent"
	"countersign/agent/scripted"
)

// TestManyCallsInOneAnswer has a model make more calls at once than anybody could decide about.
func TestManyCallsInOneAnswer(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		calls, runs, asks int
		gated, refused    bool
	}{
		{calls: 128, runs: 128}, {calls: 129, runs: 128}, {calls: 1024, runs: 128},
		{calls: 1024, asks: 128, gated: true},
		{calls: 1025, refused: true},
	} {
		var ran atomic.Int64
		tool := invoking(func(context.Context, *agent.ToolCall) (agent.ToolOutput, error) {
			ran.Add(1)
			return agent.ToolOutput{Text: "ran"}, nil
		})
		if tt.gated {
			tool.NeedsApproval = agent.AlwaysAsk
		}
		var calls []agent.Item
		for i := range tt.calls {
			calls = append(calls, scripted.Call(fmt.Sprint("c", i), "work", `{}`))
		}
		a := &agent.Agent{Name: "ops", Tools: []agent.Tool{tool}, Model: scripted.New(scripted.Calls(calls...),
			scripted.Say("Done."))}
		res, err := (&agent.Runner{}).Run(t.Context(), a, []agent.Item{agent.UserMessage("go")}, agent.RunOptions{})
		if errors.Is(err, agent.ErrModelBehavior) != tt.refused || (err != nil) != tt.refused ||
			ran.Load() != int64(tt.runs) || len(res.Interruptions) != tt.asks {
			t.Errorf("%d calls: %d ran, %d are asked about, %v", tt.calls, ran.Load(), len(res.Interruptions), err)
		}
		if tt.refused {
			continue
		}
		_ = reloaded(t, res.State, a)
		if last := outputs(res)[fmt.Sprint("c", tt.calls-1)]; tt.calls > 128 && !tt.gated &&
			!strings.Contains(last, "at most 128 calls") {
			t.Errorf("%d calls: the model reads %q about the last", tt.calls, last)
		}
	}
}
