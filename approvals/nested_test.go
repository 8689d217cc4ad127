package approvals_test

import (
	"strings"
	"testing"

	"countersign/agent"
	"countersign/approvals"
)

// finance is an agent for use as a tool: it pays, and then says what it was told. Each of its turns begins with turn.
func (b *bench) finance(turn func()) *agent.Agent {
	pays := model(func(req *agent.ModelRequest) ([]agent.Item, error) {
		turn()
		if told := outputs(req); len(told) > 0 {
			return []agent.Item{agent.AssistantMessage("inside: " + told["n1"])}, nil
		}
		return []agent.Item{call("n1", "pay", `{"amount":7}`)}, nil
	})
	return &agent.Agent{Name: "finance", Tools: b.tools(), Model: pays}
}

// asksFinance is a model that uses it once.
func asksFinance(req *agent.ModelRequest) ([]agent.Item, error) {
	if told := outputs(req); len(told) > 0 {
		return []agent.Item{agent.AssistantMessage(told["c1"])}, nil
	}
	return []agent.Item{call("c1", "ask_finance", `{"input":"pay seven"}`)}, nil
}

// TestCrashWhileAnAgentInsideThinks dies, twice, when an agent that is used as a tool has begun and has not said
// anything yet. It begins again: that has no effect of its own.
func TestCrashWhileAnAgentInsideThinks(t *testing.T) {
	t.Parallel()
	for _, gated := range []bool{false, true} {
		b := newBench(t)
		deaths := 2
		tool := b.finance(func() {
			if deaths > 0 {
				deaths--
				b.mortal.kill()
			}
		}).AsTool("ask_finance", "Ask finance.")
		if gated {
			tool.NeedsApproval = agent.AlwaysAsk
		}
		b.agent(model(asksFinance), tool)
		b.start()
		id := b.submit()
		if gated {
			b.must(b.question(id), bob, approvals.Approve, "")
		}
		b.crashed()
		b.crashed()
		b.until("the question inside", func() bool {
			return len(b.pending(id)) == 1 && b.pending(id)[0].Agent == "finance"
		})
		b.must(b.pending(id)[0], bob, approvals.Approve, "")
		if got := b.reaches(id, approvals.RunDone).Output; got != "inside: pay done" {
			t.Errorf("gated %v: output %q", gated, got)
		}
		if got := b.effects.all(); len(got) != 1 {
			t.Errorf("gated %v: effects %v", gated, got)
		}
	}
}

// TestCancelWithAnAgentInside ends a run while an agent that is used as a tool waits for people: the place remembers
// the run's own conversation, nothing of what was said inside, and no saved state is left behind.
func TestCancelWithAnAgentInside(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var seen []agent.Item
	b.agent(model(func(req *agent.ModelRequest) ([]agent.Item, error) {
		seen = req.Items
		return asksFinance(req)
	}), b.finance(func() {}).AsTool("ask_finance", "Ask finance."))
	b.start()
	id := b.submit()
	b.question(id)
	if _, err := b.service.CancelRun(b.Context(), ws, id, ann, ""); err != nil {
		t.Fatal(err)
	}
	err := b.store.View(b.Context(), func(tx approvals.Tx) error {
		head, _, err := tx.State(ws, id)
		if err == nil {
			t.Errorf("the state is still there: %s", head)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	next := b.submit()
	b.question(next)
	var told []string
	for _, it := range seen {
		told = append(told, string(it.Type)+" "+it.Text+it.Name+it.Output)
	}
	want := "message please|function_call ask_finance|function_call_output There is no result: " +
		"the run ended before this call was decided or had finished.|message please"
	if got := strings.Join(told, "|"); got != want {
		t.Errorf("the next run was told\n%s\nwant\n%s", got, want)
	}
}
