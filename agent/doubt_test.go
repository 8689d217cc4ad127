package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"countersign/agent"
	"countersign/agent/guardrail"
	"countersign/agent/scripted"
)

// TestRetryInAChangedWorld has people run a call again whose first attempt changed what it depends on: the runner's own
// journal lets it.
func TestRetryInAChangedWorld(t *testing.T) {
	t.Parallel()
	runs := 0
	tool := agent.Tool{
		Name: "push", NeedsApproval: agent.AlwaysAsk,
		Preconditions: func(context.Context, *agent.ToolCall) ([]string, error) {
			return []string{fmt.Sprint("revision ", runs)}, nil
		},
		Invoke: func(context.Context, *agent.ToolCall) (agent.ToolOutput, error) {
			if runs++; runs == 1 {
				return agent.ToolOutput{}, agent.ErrOutcomeUnknown
			}
			return agent.ToolOutput{Text: "pushed"}, nil
		},
	}
	a := &agent.Agent{
		Name: "ops", Tools: []agent.Tool{tool},
		Model: scripted.New(scripted.Calls(scripted.Call("c1", "push", `{}`)), scripted.Say("Done.")),
	}
	r := &agent.Runner{}
	res, err := r.Run(t.Context(), a, []agent.Item{agent.UserMessage("go")}, agent.RunOptions{})
	must(t, err)
	for n, want := range []agent.InterruptionKind{agent.Confirm, agent.OutcomeUnknown} {
		if len(res.Interruptions) != 1 || res.Interruptions[0].Kind != want {
			t.Fatalf("question %d: %+v", n, res.Interruptions)
		}
		must(t, res.State.Approve(res.Interruptions[0], agent.ApproveOptions{}))
		res, err = r.Resume(t.Context(), a, res.State, agent.RunOptions{})
		must(t, err)
	}
	if !res.State.Finished() || runs != 2 {
		t.Errorf("ran %d times, still asked: %+v", runs, res.Interruptions)
	}
}

// TestRetryThatSomethingSpeaksAgainst has people run a call again of which nobody knows whether it happened, and
// something speaks against it then. The model does not read that it was not carried out, and people are not asked
// whether it may run as if it had not begun.
func TestRetryThatSomethingSpeaksAgainst(t *testing.T) {
	t.Parallel()
	const notAgain = "It is not known whether this call was carried out. It was not tried again, because "
	verdict := func(v guardrail.Verdict) func(*agent.Tool) {
		return func(tool *agent.Tool) {
			tool.InputGuardrails = []agent.ToolInputGuardrail{{
				Name: "g", Check: func(context.Context, *agent.ToolCall) (guardrail.Verdict, error) { return v, nil },
			}}
		}
	}
	for name, tt := range map[string]struct {
		against func(*agent.Tool)
		want    string // what the model reads; empty: people are asked again what became of the call
	}{
		"a guardrail": {
			verdict(guardrail.Verdict{Action: guardrail.Replace, Message: "The call was not carried out: too much."}),
			notAgain + "a guardrail says: The call was not carried out: too much.",
		},
		"a guardrail that asks again": {verdict(guardrail.Verdict{Action: guardrail.AskAgain}), ""},
		"what cannot be looked up": {
			func(tool *agent.Tool) {
				tool.Preconditions = func(context.Context, *agent.ToolCall) ([]string, error) {
					return nil, errors.New("no route to host")
				}
			},
			notAgain + "what it depends on has changed.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runs := 0
			tool := agent.Tool{
				Name: "push", NeedsApproval: agent.AlwaysAsk,
				Preconditions: func(context.Context, *agent.ToolCall) ([]string, error) { return nil, nil },
				Invoke: func(context.Context, *agent.ToolCall) (agent.ToolOutput, error) {
					runs++
					return agent.ToolOutput{}, agent.ErrOutcomeUnknown
				},
			}
			a := &agent.Agent{
				Name: "ops", Tools: []agent.Tool{tool},
				Model: scripted.New(scripted.Calls(scripted.Call("c1", "push", `{}`)), scripted.Say("Done.")),
			}
			r := &agent.Runner{}
			res, err := r.Run(t.Context(), a, []agent.Item{agent.UserMessage("go")}, agent.RunOptions{})
			must(t, err)
			for n, want := range []agent.InterruptionKind{agent.Confirm, agent.OutcomeUnknown} {
				if len(res.Interruptions) != 1 || res.Interruptions[0].Kind != want {
					t.Fatalf("question %d: %+v", n, res.Interruptions)
				}
				if want == agent.OutcomeUnknown {
					tt.against(&a.Tools[0])
				}
				must(t, res.State.Approve(res.Interruptions[0], agent.ApproveOptions{}))
				res, err = r.Resume(t.Context(), a, res.State, agent.RunOptions{})
				must(t, err)
			}
			asked := len(res.Interruptions) == 1 && res.Interruptions[0].Kind == agent.OutcomeUnknown
			if got := outputs(res)["c1"]; got != tt.want || asked != (tt.want == "") || runs != 1 {
				t.Errorf("ran %d times, the model reads %q, asked: %+v", runs, got, res.Interruptions)
			}
		})
	}
}

// TestEndedCallWithoutItsOutput has the journal lose an output that it is said to have: the tool is not called.
func TestEndedCallWithoutItsOutput(t *testing.T) {
	t.Parallel()
	pay := frozenTool("pay")
	pay.NeedsApproval = agent.AlwaysAsk
	pay.Invoke = func(context.Context, *agent.ToolCall) (agent.ToolOutput, error) {
		t.Error("the tool was called")
		return agent.ToolOutput{}, nil
	}
	a := &agent.Agent{Name: "ops", Tools: []agent.Tool{pay}, Model: scripted.New(
		scripted.Calls(scripted.Call("c1", "pay", `{"amount":1}`)), scripted.Say("Done."))}
	r := &agent.Runner{}
	res, err := r.Run(t.Context(), a, []agent.Item{agent.UserMessage("go")}, agent.RunOptions{})
	must(t, err)
	res.State.Ended(res.Interruptions[0].ID)
	res, err = r.Resume(t.Context(), a, res.State, agent.RunOptions{})
	if err == nil {
		t.Fatalf("the run goes on: %+v", res)
	}
}

// TestSessionOfACallThatHasBegun has a run end with an error while a call waits for people which has begun.
func TestSessionOfACallThatHasBegun(t *testing.T) {
	t.Parallel()
	for begun, want := range map[bool]string{
		true:  "The run ended with an error, and it is not known whether this call was carried out.",
		false: "This call was not carried out: the run ended with an error first.",
	} {
		broken, pay := frozenTool("broken"), frozenTool("pay")
		broken.NeedsApproval, pay.NeedsApproval = agent.AlwaysAsk, agent.AlwaysAsk
		broken.Invoke = func(context.Context, *agent.ToolCall) (agent.ToolOutput, error) {
			return agent.ToolOutput{}, agent.ErrFatal
		}
		a := &agent.Agent{Name: "ops", Tools: []agent.Tool{broken, pay}, Model: scripted.New(
			scripted.Calls(scripted.Call("c1", "broken", `{"amount":1}`), scripted.Call("c2", "pay", `{"amount":2}`)))}
		r := &agent.Runner{}
		session := new(agent.MemorySession)
		options := agent.RunOptions{Session: session}
		res, err := r.Run(t.Context(), a, []agent.Item{agent.UserMessage("go")}, options)
		must(t, err)
		must(t, res.State.Approve(res.Interruptions[0], agent.ApproveOptions{}))
		if begun {
			res.State.Begun(res.Interruptions[1].ID)
		}
		if _, err = r.Resume(t.Context(), a, res.State, options); !errors.Is(err, agent.ErrFatal) {
			t.Fatal(err)
		}
		items, err := session.Items(t.Context())
		must(t, err)
		if got := items[len(items)-1]; got.CallID != "c2" || got.Output != want {
			t.Errorf("begun %t: the session has %q of %s", begun, got.Output, got.CallID)
		}
	}
}

// TestAnswerAfterTheOutput answers a question whose call has its output already, which waits for that of an earlier
// call: the answer comes too late, and is not taken.
func TestAnswerAfterTheOutput(t *testing.T) {
	t.Parallel()
	broken, pay := frozenTool("broken"), frozenTool("pay")
	broken.NeedsApproval, pay.NeedsApproval = agent.AlwaysAsk, agent.AlwaysAsk
	broken.Invoke = func(context.Context, *agent.ToolCall) (agent.ToolOutput, error) {
		return agent.ToolOutput{}, agent.ErrFatal
	}
	a := &agent.Agent{Name: "ops", Tools: []agent.Tool{broken, pay}, Model: scripted.New(
		scripted.Calls(scripted.Call("c1", "broken", `{"amount":1}`), scripted.Call("c2", "pay", `{"amount":2}`)),
		scripted.Say("Done."))}
	r := &agent.Runner{}
	res, err := r.Run(t.Context(), a, []agent.Item{agent.UserMessage("go")}, agent.RunOptions{})
	must(t, err)
	questions := res.Interruptions
	must(t, res.State.Approve(questions[0], agent.ApproveOptions{}))
	must(t, res.State.Reject(questions[1], agent.RejectOptions{}))
	if res, err = r.Resume(t.Context(), a, res.State, agent.RunOptions{}); !errors.Is(err, agent.ErrFatal) {
		t.Fatal(err)
	}
	for _, s := range []*agent.RunState{res.State, reloaded(t, res.State, a)} {
		if err := s.Approve(questions[1], agent.ApproveOptions{}); !errors.Is(err, agent.ErrUnknownInterruption) {
			t.Errorf("approved what has been rejected, as the model will read: %v", err)
		}
		if tool := s.Tool(questions[1]); tool != nil {
			t.Error("it is still a question")
		}
	}
}

// TestRetryOfACallThatLacksWhatPeopleFillIn changes the tool of a call that may have begun, so that people fill in what
// the call does not have: it does not run again on the word that it may be tried once more.
func TestRetryOfACallThatLacksWhatPeopleFillIn(t *testing.T) {
	t.Parallel()
	for _, idempotent := range []bool{false, true} {
		var ran []string
		tool := agent.NewTool("pay", "Pays.", func(context.Context, struct {
			Amount int `json:"amount"`
		}) (string, error) {
			return "", nil
		})
		tool.NeedsApproval, tool.Idempotent = agent.AlwaysAsk, idempotent
		tool.Invoke = func(_ context.Context, c *agent.ToolCall) (agent.ToolOutput, error) {
			if ran = append(ran, string(c.Arguments)); len(ran) == 1 {
				return agent.ToolOutput{}, agent.ErrOutcomeUnknown
			}
			return agent.ToolOutput{Text: "paid"}, nil
		}
		a := &agent.Agent{Name: "ops", Tools: []agent.Tool{tool}, Model: scripted.New(
			scripted.Calls(scripted.Call("c1", "pay", `{"amount":1}`)), scripted.Say("Done."))}
		r := &agent.Runner{}
		res, err := r.Run(t.Context(), a, []agent.Item{agent.UserMessage("go")}, agent.RunOptions{})
		must(t, err)
		must(t, res.State.Approve(res.Interruptions[0], agent.ApproveOptions{}))
		res, err = r.Resume(t.Context(), a, res.State, agent.RunOptions{})
		must(t, err)
		changed := agent.NewTool("pay", "Pays.", func(context.Context, struct {
			Amount int    `json:"amount"`
			To     string `json:"to"`
		}) (string, error) {
			return "", nil
		})
		changed.NeedsApproval, changed.Idempotent = agent.AlwaysAsk, idempotent
		changed.Invoke, changed.Fields = tool.Invoke, []string{"to"}
		a.Tools[0] = changed
		again, err := res.State.Rebind(t.Context())
		must(t, err)
		for _, in := range again {
			must(t, res.State.Approve(in, agent.ApproveOptions{}))
		}
		res, err = r.Resume(t.Context(), a, reloaded(t, res.State, a), agent.RunOptions{})
		must(t, err)
		want := "It is not known whether this call was carried out, and it will not be tried again."
		if len(ran) != 1 || outputs(res)["c1"] != want {
			t.Errorf("idempotent %t: ran %v, and the model reads %q", idempotent, ran, outputs(res))
		}
	}
}

func reloaded(t *testing.T, s *agent.RunState, a *agent.Agent) *agent.RunState {
	t.Helper()
	data, err := s.MarshalJSON()
	must(t, err)
	again, err := agent.DecodeRunState(data, a)
	must(t, err)
	return again
}

// TestStoppedBeforeTheGate changes a call's arguments, and the run is stopped while it is found out what the changed
// call depends on: the gate is asked about it all the same when the run goes on.
func TestStoppedBeforeTheGate(t *testing.T) {
	t.Parallel()
	pay := frozenTool("pay")
	pay.NeedsApproval = func(_ context.Context, c *agent.ToolCall) (bool, error) {
		if string(c.Arguments) == `{"amount":2}` {
			return false, errors.New("nobody knows")
		}
		return true, nil
	}
	ctx, cancel := context.WithCancel(t.Context())
	pay.Preconditions = func(ctx context.Context, c *agent.ToolCall) ([]string, error) {
		if string(c.Arguments) == `{"amount":2}` {
			cancel()
		}
		return nil, ctx.Err()
	}
	a := &agent.Agent{Name: "ops", Tools: []agent.Tool{pay}, Model: scripted.New(
		scripted.Calls(scripted.Call("c1", "pay", `{"amount":1}`)), scripted.Say("Done."))}
	r := &agent.Runner{}
	res, err := r.Run(t.Context(), a, []agent.Item{agent.UserMessage("go")}, agent.RunOptions{})
	must(t, err)
	must(t, res.State.Approve(res.Interruptions[0], agent.ApproveOptions{Arguments: json.RawMessage(`{"amount":2}`)}))
	if res, err = r.Resume(ctx, a, res.State, agent.RunOptions{}); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	res, err = r.Resume(t.Context(), a, reloaded(t, res.State, a), agent.RunOptions{})
	must(t, err)
	if len(res.Interruptions) != 1 || string(res.Interruptions[0].Call.Arguments) != `{"amount":2}` {
		t.Errorf("the gate fails on what was made of the call, and nobody is asked: %+v", res.Interruptions)
	}
}
