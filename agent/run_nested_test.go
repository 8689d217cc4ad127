package agent_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"countersign/agent"
	"countersign/agent/guardrail"
	"countersign/agent/scripted"
)

// lostRecord is a journal that cannot record what the tool mail has done, the first time.
type lostRecord struct {
	faultyJournal
	lost bool
}

func (j *lostRecord) Done(ctx context.Context, e agent.Effect, out agent.ToolOutput) error {
	if e.Call.Tool == "mail" && !j.lost {
		j.lost = true
		return errors.New("disk full")
	}
	return j.faultyJournal.Done(ctx, e, out)
}

// A guardrail that trips inside an agent used as a tool ends its use only; but not while it is open what became of a
// sibling: then the run stands until people have said so.
func TestTripwireInsideHidesNothing(t *testing.T) {
	t.Parallel()
	begun := make(chan struct{})
	mail := agent.NewTool("mail", "", noop[amountArgs])
	mail.Invoke = func(context.Context, *agent.ToolCall) (agent.ToolOutput, error) {
		close(begun) // a second time would panic
		return agent.ToolOutput{Text: "sent"}, nil
	}
	trips := 0
	pay := agent.NewTool("pay", "", noop[amountArgs])
	pay.InputGuardrails = []agent.ToolInputGuardrail{{Name: "no",
		Check: func(context.Context, *agent.ToolCall) (guardrail.Verdict, error) {
			<-begun
			trips++
			return guardrail.Verdict{Action: guardrail.Trip}, nil
		}}}
	inner := &agent.Agent{Name: "inner", Tools: []agent.Tool{pay, mail}, Model: scripted.New(
		scripted.Calls(scripted.Call("n1", "pay", `{"amount":1}`), scripted.Call("n2", "mail", `{"amount":2}`)),
		scripted.Say("Done."),
	)}
	outer := &agent.Agent{Name: "outer", Tools: []agent.Tool{inner.AsTool("ask", "")}, Model: scripted.New(
		scripted.Calls(scripted.Call("c1", "ask", `{"input":"go"}`)), scripted.Say("Done."),
	)}
	r := &agent.Runner{Journal: &lostRecord{}}
	res, err := r.Run(t.Context(), outer, []agent.Item{agent.UserMessage("go")}, agent.RunOptions{})
	if trips != 1 || err == nil || errors.Is(err, agent.ErrTripwire) {
		t.Fatalf("want the record that was lost, got %v after %d trips", err, trips)
	}
	// However often the guardrail trips before somebody asks the journal: the question comes, and nothing else.
	asked := func(in agent.Interruption) bool { return in.Kind == agent.OutcomeUnknown && in.Call.Tool == "mail" }
	for range 3 {
		res, err = r.Resume(t.Context(), outer, res.State, agent.RunOptions{})
		if res.State.Finished() || err != nil && !errors.Is(err, agent.ErrTripwire) {
			t.Fatalf("the run went on, and nobody asked what became of the mail: %v", err)
		}
	}
	if !slices.ContainsFunc(res.State.Interruptions(), asked) {
		t.Errorf("nobody asks what became of the mail: %+v", res.State.Interruptions())
	}
}
