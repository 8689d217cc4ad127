package approvals

import (
	"fmt"
	"testing"
	"testing/synctest"

	"countersign/agent"
)

// TestFeedDropsAndNeverWaits: a follower that reads nothing holds up nobody. What it then reads of a text is the text's
// beginning, without a gap, and why the feed ended.
func TestFeedDropsAndNeverWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, send, over := NewFeed()
		for i := range 3 * feedSize {
			send(RunUpdate{Kind: UpdateText, Item: "a", Text: fmt.Sprintf("%d ", i)})
			if i == 2*feedSize { // there is room again: a gap would show if the text went on
				for range 5 {
					<-f.C()
				}
				send(RunUpdate{Kind: UpdateCall, Call: "c", State: CallRunning})
			}
		}
		over(FollowAnswered)
		next, calls := 5, 0
		for u := range f.C() {
			if u.Kind == UpdateCall {
				calls++
				continue
			}
			if u.Text != fmt.Sprintf("%d ", next) {
				t.Fatalf("%q behind %d", u.Text, next-1)
			}
			next++
		}
		if next != feedSize || calls != 1 || f.End() != FollowAnswered {
			t.Errorf("%d pieces, %d calls, end %q", next, calls, f.End())
		}
	})
}

// TestWhatMayBeRefusedIsSilent: guardrails of agents that the conversation may be handed over to count too, and answers
// that are data are no words.
func TestWhatMayBeRefusedIsSilent(t *testing.T) {
	t.Parallel()
	plain := &agent.Agent{Name: "plain"}
	loop := &agent.Agent{Name: "loop"}
	loop.Handoffs = []agent.Handoff{{Agent: loop}, {Agent: plain}}
	guardedOut := &agent.Agent{OutputGuardrails: make([]agent.OutputGuardrail, 1)}
	for name, c := range map[string]struct {
		a    *agent.Agent
		want bool
	}{
		"plain":    {plain, false},
		"a circle": {loop, false},
		"output":   {guardedOut, true},
		"input":    {&agent.Agent{InputGuardrails: make([]agent.InputGuardrail, 1)}, true},
		"data":     {&agent.Agent{Output: &agent.OutputSchema{}}, true},
		"later":    {&agent.Agent{Handoffs: []agent.Handoff{{Agent: plain}, {Agent: guardedOut}}}, true},
	} {
		if got := guarded(c.a, map[*agent.Agent]bool{}); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
