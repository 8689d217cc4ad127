package agent_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"countersign/agent"
	"countersign/agent/scripted"
)

// TestWhatApplicationsSayIsBounded has an application say as much as may be saved, and a byte more: that ends the run
// before anything has changed.
func TestWhatApplicationsSayIsBounded(t *testing.T) {
	t.Parallel()
	for size, want := range map[int]error{1 << 20: nil, 1<<20 + 1: agent.ErrConfig} {
		text := strings.Repeat("x", size)
		var runner agent.Runner
		run := func(a *agent.Agent, o agent.RunOptions) *agent.RunState {
			res, err := runner.Run(t.Context(), a, []agent.Item{agent.UserMessage("go"), agent.UserMessage("on")}, o)
			if !errors.Is(err, want) {
				t.Errorf("%d bytes: %v", size, err)
			}
			data, err := res.State.MarshalJSON()
			must(t, err)
			s, err := agent.DecodeRunState(data, a)
			must(t, err)
			if (strings.Count(string(data), text) > 0) != (want == nil) {
				t.Errorf("%d bytes: whether they are saved is not right", size)
			}
			return s
		}

		summary := &agent.Agent{Name: "ops", Model: scripted.New(scripted.Say("Done."))}
		summary.Shorten = func(_ context.Context, h *agent.History) error {
			h.Turns[0].LeaveOut, h.Note = true, text
			return nil
		}
		run(summary, agent.RunOptions{})

		tool := agent.NewTool("look", "", noop[struct{}])
		endless := &agent.Agent{
			Name: "ops", Tools: []agent.Tool{tool},
			Model: scripted.New(scripted.Calls(scripted.Call("c1", "look", "{}"))),
		}
		s := run(endless,
			agent.RunOptions{MaxTurns: 1, OnError: func(context.Context, *agent.Failure) (*agent.Fallback, error) {
				return &agent.Fallback{Text: text, Unrecorded: true}, nil
			}})
		if s.Finished() != (want == nil) {
			t.Errorf("%d bytes: finished %v", size, s.Finished())
		}
	}
}

// TestFallbackBesideWhatHasBegun ends a run by its error handler while an agent is at work that has made a call, and
// while somebody outside may carry a call out: neither is said not to have been.
func TestFallbackBesideWhatHasBegun(t *testing.T) {
	t.Parallel()
	look, pay, ship := frozenTool("look"), frozenTool("pay"), agent.NewExternalTool[struct{}]("ship", "")
	pay.NeedsApproval = agent.AlwaysAsk
	helper := &agent.Agent{Name: "helper", Tools: []agent.Tool{look, pay}, Model: scripted.New(scripted.Calls(
		scripted.Call("i1", "look", `{"amount":1}`), scripted.Call("i2", "pay", `{"amount":2}`)))}
	a := &agent.Agent{Name: "ops", Tools: []agent.Tool{helper.AsTool("help", ""), pay, ship}, Model: scripted.New(
		scripted.Calls(scripted.Call("c1", "help", `{"input":"go"}`), scripted.Call("c2", "pay", `{"amount":3}`),
			scripted.Call("c3", "ship", `{}`)))}
	r := &agent.Runner{}
	res, err := r.Run(t.Context(), a, []agent.Item{agent.UserMessage("go")}, agent.RunOptions{})
	must(t, err)
	res, err = r.Resume(t.Context(), a, res.State, agent.RunOptions{
		MaxTurns: 1, OnError: func(context.Context, *agent.Failure) (*agent.Fallback, error) {
			return &agent.Fallback{Text: "Enough."}, nil
		}})
	must(t, err)
	told := make(map[string]string)
	for _, it := range res.NewItems {
		told[it.CallID] = it.Output
	}
	const not = "The call was not carried out"
	if strings.Contains(told["c1"], not) || strings.Contains(told["c3"], not) || !strings.Contains(told["c2"], not) {
		t.Errorf("the conversation says of the agent %q, of its own call %q, of the one outside %q",
			told["c1"], told["c2"], told["c3"])
	}
}
