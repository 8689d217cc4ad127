package agent_test

import (
	"strings"
	"testing"

	"countersign/agent"
	"countersign/agent/scripted"
)

// TestHandoffAfterItsFilterFailed goes on where a filter failed: the conversation is handed over then, and nobody was
// told before that it is.
func TestHandoffAfterItsFilterFailed(t *testing.T) {
	t.Parallel()
	fails := true
	billing := &agent.Agent{Name: "billing", Model: scripted.New(scripted.Say("unused"), scripted.Say("Billing here."))}
	ops := &agent.Agent{Name: "ops", Model: scripted.New(
		scripted.Calls(scripted.Call("c1", "transfer_to_billing", `{}`)), scripted.Say("Ops here.")),
		Handoffs: []agent.Handoff{{Agent: billing, Filter: func(items []agent.Item) []agent.Item {
			if fails {
				panic("not today")
			}
			return items
		}}}}
	r := &agent.Runner{}
	res, err := r.Run(t.Context(), ops, []agent.Item{agent.UserMessage("go")}, agent.RunOptions{})
	if err == nil || !strings.Contains(err.Error(), "handoff") {
		t.Fatal(err)
	}
	fails = false
	for _, s := range []*agent.RunState{reloaded(t, res.State, ops), res.State} {
		if n := len(s.Items()); n != 2 {
			t.Errorf("%d items after the error", n)
		}
		res, err := r.Resume(t.Context(), ops, s, agent.RunOptions{})
		must(t, err)
		if res.FinalOutput != "Billing here." {
			t.Errorf("%s answers: %s", s.Agent(), res.FinalOutput)
		}
	}
}
