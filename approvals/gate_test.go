package approvals_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"countersign/agent"
)

// TestGateThatBecameStricter dies when the gate has let two calls through and only one of them has begun. Whether that
// one happened, people are asked; the other runs only if the gate lets it through as it is now.
func TestGateThatBecameStricter(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		gate  func() (bool, error)
		runs  int
		wants map[agent.InterruptionKind]int
	}{
		"as before": {func() (bool, error) { return false, nil }, 1,
			map[agent.InterruptionKind]int{agent.OutcomeUnknown: 1}},
		"it asks": {func() (bool, error) { return true, nil }, 0,
			map[agent.InterruptionKind]int{agent.OutcomeUnknown: 1, agent.Confirm: 1}},
		"it panics": {func() (bool, error) { panic("gate") }, 0,
			map[agent.InterruptionKind]int{agent.OutcomeUnknown: 1, agent.Confirm: 1}},
		"it is gone": {nil, 1, map[agent.InterruptionKind]int{agent.OutcomeUnknown: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			var later atomic.Bool
			tools := b.tools()
			pay := &tools[slices.IndexFunc(tools, func(tool agent.Tool) bool { return tool.Name == "pay" })]
			pay.NeedsApproval = func(context.Context, *agent.ToolCall) (bool, error) {
				if later.Load() {
					return c.gate()
				}
				return false, nil
			}
			m := asks(call("c1", "pay", `{"amount":5}`), call("c2", "pay", `{"amount":6}`))
			b.agent(m, tools...)
			step := b.step()
			id := b.submit()
			b.mortal.dieAt(2, true) // behind the first intent
			if err := step(runJob(id)); err == nil {
				t.Fatal("the worker did not die")
			}
			b.reopen()
			if later.Store(true); c.gate == nil {
				pay.NeedsApproval = nil
				b.agent(m, tools...)
			}
			if err := b.step()(runJob(id)); err != nil {
				t.Fatal(err)
			}
			found := map[agent.InterruptionKind]int{}
			for _, r := range b.pending(id) {
				found[r.Kind]++
			}
			if d := cmp.Diff(c.wants, found); d != "" {
				t.Errorf("questions (-want +got):\n%s", d)
			}
			if got := b.effects.all(); len(got) != c.runs {
				t.Errorf("ran %v, want %d calls", got, c.runs)
			}
		})
	}
}
