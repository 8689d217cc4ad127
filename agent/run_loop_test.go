package agent_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"countersign/agent"
	"countersign/agent/scripted"
)

// TestCheckpointPanics has a checkpoint panic, or end its goroutine, at the first output of two parallel calls: Run
// comes to its end with that, and what the other call did is in the state.
func TestCheckpointPanics(t *testing.T) {
	t.Parallel()
	for name, breaks := range map[string]func(){
		"panic":  func() { panic("disk on fire") },
		"Goexit": runtime.Goexit,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { // fails when everybody waits for ever
				tool := invoking(func(_ context.Context, c *agent.ToolCall) (agent.ToolOutput, error) {
					time.Sleep(time.Duration(c.ID[1]-'0') * time.Second)
					return agent.ToolOutput{Text: c.ID}, nil
				})
				checkpoints := 0
				o := agent.RunOptions{Checkpoint: func(context.Context, agent.Delta) error {
					if checkpoints++; checkpoints == 2 {
						breaks()
					}
					return nil
				}}
				var journal faultyJournal
				ended := make(chan any)
				go func() {
					var v any = "no return"
					defer func() { ended <- v }()
					defer func() {
						if r := recover(); r != nil {
							v = r
						}
					}()
					_, err := (&agent.Runner{Journal: &journal}).Run(t.Context(), fleet(2, tool), nil, o)
					v = err
				}()
				want := map[string]any{"panic": "disk on fire", "Goexit": "no return"}[name]
				if v := <-ended; v != want {
					t.Errorf("it ended with %v", v)
				}
				done := 0
				for _, e := range journal.log {
					if e.output != nil {
						done++
					}
				}
				if checkpoints != 2 || done != 2 {
					t.Errorf("%d checkpoints, %d calls done", checkpoints, done)
				}
			})
		})
	}
}

// TestCheckpointsOfManyCalls bounds what the checkpoints of a turn write: not one head of all calls for each output.
func TestCheckpointsOfManyCalls(t *testing.T) {
	t.Parallel()
	const calls = 120
	var items []agent.Item
	for i := range calls {
		items = append(items, scripted.Call(fmt.Sprint("c", i), "work", `{}`))
	}
	tool := invoking(func(context.Context, *agent.ToolCall) (agent.ToolOutput, error) {
		return agent.ToolOutput{Text: strings.Repeat("x", 1000)}, nil
	})
	a := &agent.Agent{
		Name: "ops", Tools: []agent.Tool{tool}, Model: scripted.New(scripted.Calls(items...), scripted.Say("Done.")),
	}
	checkpoints, bytes := 0, 0
	o := agent.RunOptions{Checkpoint: func(_ context.Context, d agent.Delta) error {
		checkpoints++
		bytes += len(d.Head) + len(d.Items)
		return nil
	}}
	res, err := new(agent.Runner).Run(t.Context(), a, nil, o)
	must(t, err)
	if whole := len(marshalled(t, res.State)); checkpoints > 16 || bytes > 8*whole {
		t.Errorf("%d checkpoints of %d bytes, for a state of %d", checkpoints, bytes, whole)
	}
}

// TestCheckpointBeforeAnError saves what many calls did before one of them ended the run.
func TestCheckpointBeforeAnError(t *testing.T) {
	t.Parallel()
	const calls = 40
	var items []agent.Item
	for i := range calls {
		items = append(items, scripted.Call(fmt.Sprint("c", i), "work", `{}`))
	}
	tool := invoking(func(_ context.Context, c *agent.ToolCall) (agent.ToolOutput, error) {
		if c.ID == "c3" { // after fewer outputs than a checkpoint waits for
			return agent.ToolOutput{}, agent.ErrFatal
		}
		return agent.ToolOutput{Text: c.ID}, nil
	})
	a := &agent.Agent{
		Name: "ops", Tools: []agent.Tool{tool}, Model: scripted.New(scripted.Calls(items...), scripted.Say("Done.")),
	}
	var saved agent.SavedState
	o := agent.RunOptions{Checkpoint: func(_ context.Context, d agent.Delta) error {
		saved.Head = d.Head
		if d.Count > 0 {
			saved.Chunks = append(saved.Chunks, d.Items)
		}
		return nil
	}}
	_, err := (&agent.Runner{MaxParallelCalls: 1}).Run(t.Context(), a, nil, o)
	if !errors.Is(err, agent.ErrFatal) {
		t.Fatal(err)
	}
	s, err := saved.Decode(a)
	must(t, err)
	if got := describe(s.Items()); !strings.Contains(got, "output c2: c2\n") {
		t.Errorf("it is not saved what the calls before did: %s", got)
	}
}

// TestGatesSideBySide has three slow gates beside a call without one: it waits for the slowest, not for all of them,
// and the questions come in the order of the calls.
func TestGatesSideBySide(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := frozenTool("pay")
		slow.NeedsApproval = func(_ context.Context, c *agent.ToolCall) (bool, error) {
			time.Sleep(time.Duration('5'-c.ID[1]) * 100 * time.Millisecond) // the last one answers first
			return true, nil
		}
		start := time.Now()
		var began time.Duration
		free := frozenTool("look")
		invoke := free.Invoke
		free.Invoke = func(ctx context.Context, c *agent.ToolCall) (agent.ToolOutput, error) {
			began = time.Since(start)
			return invoke(ctx, c)
		}
		const arguments = `{"amount":1}`
		a := &agent.Agent{Name: "ops", Tools: []agent.Tool{slow, free}, Model: scripted.New(scripted.Calls(
			scripted.Call("c1", "pay", arguments), scripted.Call("c2", "pay", arguments),
			scripted.Call("c3", "pay", arguments),
			scripted.Call("c4", "look", arguments),
		), scripted.Say("Done."))}
		stream := new(agent.Runner).Stream(t.Context(), a, nil, agent.RunOptions{})
		var asked []string
		for e := range stream.Events() {
			if e, ok := e.(agent.ApprovalRequested); ok {
				asked = append(asked, e.Interruption.Call.ID)
			}
		}
		res, err := stream.Result()
		must(t, err)
		if began != 400*time.Millisecond || !slices.Equal(asked, []string{"c1", "c2", "c3"}) ||
			len(res.Interruptions) != 3 {
			t.Errorf("began after %v, asked about %v", began, asked)
		}
	})
}

// TestGateEndsItsGoroutine asks people when one of several gates ends its goroutine.
func TestGateEndsItsGoroutine(t *testing.T) {
	t.Parallel()
	tool := frozenTool("pay")
	tool.NeedsApproval = func(_ context.Context, c *agent.ToolCall) (bool, error) {
		if c.ID == "c1" {
			runtime.Goexit()
		}
		return false, nil
	}
	a := &agent.Agent{Name: "ops", Tools: []agent.Tool{tool}, Model: scripted.New(
		scripted.Calls(scripted.Call("c1", "pay", `{"amount":1}`), scripted.Call("c2", "pay", `{"amount":2}`)),
		scripted.Say("Done."))}
	res, err := new(agent.Runner).Run(t.Context(), a, nil, agent.RunOptions{})
	if err != nil || len(res.Interruptions) != 1 || res.Interruptions[0].Call.ID != "c1" {
		t.Errorf("got %+v, %v", res, err)
	}
}

// TestStopAtAnEvent closes Stop when a call's output is told, in the loop over the events: no model is called after
// that.
func TestStopAtAnEvent(t *testing.T) {
	t.Parallel()
	tool := invoking(
		func(context.Context, *agent.ToolCall) (agent.ToolOutput, error) { return agent.ToolOutput{}, nil })
	for range 200 {
		stop := make(chan struct{})
		stream := new(agent.Runner).Stream(t.Context(), fleet(1, tool), nil, agent.RunOptions{Stop: stop})
		for e := range stream.Events() {
			if it, ok := e.(agent.ItemAdded); ok && it.Item.IsOutput() {
				runtime.Gosched() // a run that goes on meanwhile has every chance
				close(stop)
			}
		}
		if res, err := stream.Result(); !errors.Is(err, agent.ErrStopped) || res.State.Turn() != 1 {
			t.Fatalf("stopped too late: %v, after turn %d", err, res.State.Turn())
		}
	}
}

// TestStateInALoopOverEvents reads and changes the state of a run while its events are looked at: it stands still.
func TestStateInALoopOverEvents(t *testing.T) {
	t.Parallel()
	inner := frozenTool("look")
	clerk := &agent.Agent{Name: "clerk", Tools: []agent.Tool{inner}, Model: scripted.New(
		scripted.Calls(scripted.Call("n1", "look", `{"amount":1}`), scripted.Call("n2", "look", `{"amount":2}`)),
		scripted.Say("Inside."))}
	model := scripted.New(
		scripted.Calls(scripted.Call("c1", "pay", `{"amount":1}`), scripted.Call("c2", "ask", `{"input":"x"}`),
			scripted.Call("c3", "ask", `{"input":"y"}`)),
		scripted.Calls(scripted.Call("c4", "transfer_to_desk", `{}`), scripted.Call("c5", "transfer_to_desk", `{}`)),
		scripted.Say("Done."), scripted.Say("Read."))
	desk := &agent.Agent{Name: "desk", Model: model}
	a := &agent.Agent{
		Name: "ops", Tools: []agent.Tool{frozenTool("pay"), clerk.AsTool("ask", "")}, Model: model,
		Handoffs: []agent.Handoff{{Agent: desk}},
	}
	r := new(agent.Runner)
	res, err := r.Run(t.Context(), a, nil, agent.RunOptions{MaxTurns: 1})
	if !errors.Is(err, agent.ErrMaxTurns) {
		t.Fatal(err)
	}
	stream := r.StreamResume(t.Context(), a, res.State, agent.RunOptions{MaxTurns: 10})
	events, added := 0, false
	for e := range stream.Events() {
		events++
		_ = res.State.Undecided()
		_, err := agent.DecodeRunState([]byte(marshalled(t, res.State.Clone())), a)
		must(t, err)
		if _, ok := e.(agent.ModelText); ok && !added {
			added = true
			must(t, res.State.AddInput(agent.UserMessage("One more thing.")))
		}
	}
	res, err = stream.Result()
	must(t, err)
	if events < 10 || !added || !strings.Contains(describe(res.State.Items()), "user: One more thing.\n") {
		t.Errorf("%d events, added %v, then\n%s", events, added, describe(res.State.Items()))
	}
}

// TestAnswersInALoopOverEvents answers each question as it is asked: the run goes on by itself.
func TestAnswersInALoopOverEvents(t *testing.T) {
	t.Parallel()
	pay := frozenTool("pay")
	pay.NeedsApproval = agent.AlwaysAsk
	clerk := &agent.Agent{Name: "clerk", Tools: []agent.Tool{pay}, Model: scripted.New(
		scripted.Calls(scripted.Call("n1", "pay", `{"amount":3}`)), scripted.Say("Inside."))}
	a := &agent.Agent{Name: "ops", Tools: []agent.Tool{pay, clerk.AsTool("ask", "")}, Model: scripted.New(
		scripted.Calls(scripted.Call("c1", "pay", `{"amount":1}`), scripted.Call("c2", "pay", `{"amount":2}`),
			scripted.Call("c3", "ask", `{"input":"x"}`)),
		scripted.Say("Done."))}
	r := new(agent.Runner)
	begun, err := r.Run(t.Context(), a, nil, agent.RunOptions{MaxTurns: 1})
	if !errors.Is(err, agent.ErrMaxTurns) {
		t.Fatal(err)
	}
	stream := r.StreamResume(t.Context(), a, begun.State, agent.RunOptions{MaxTurns: 10})
	asked := 0
	for e := range stream.Events() {
		if e, ok := e.(agent.ApprovalRequested); ok {
			asked++
			must(t, begun.State.Approve(e.Interruption, agent.ApproveOptions{}))
		}
	}
	if res, err := stream.Result(); err != nil || !res.State.Finished() || asked != 3 {
		t.Errorf("asked %d times, then %+v, %v", asked, res, err)
	}
}

// TestRepeatedCallIsLogged leaves out a call that an earlier answer has made, and says so; nothing is said of a run
// without one.
func TestRepeatedCallIsLogged(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ id, want string }{
		{"c1", `msg="the model repeated calls that have their outputs; they were left out" ` +
			`run=run_1 agent=ops turn=2 calls=1 first=c1`},
		{"c2", ""},
	} {
		var log bytes.Buffer
		look := agent.NewTool("look", "", noop[struct{}])
		a := &agent.Agent{Name: "ops", Tools: []agent.Tool{look}, Model: scripted.New(
			scripted.Calls(scripted.Call("c1", "look", `{}`)),
			scripted.Calls(agent.AssistantMessage("Once more."), scripted.Call(tt.id, "look", `{}`)),
			scripted.Say("Done."),
		)}
		r := &agent.Runner{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))}
		_, err := r.Run(t.Context(), a, nil, agent.RunOptions{Context: &agent.RunContext{ID: "run_1"}})
		must(t, err)
		if _, got, _ := strings.Cut(strings.TrimSpace(log.String()), "level=WARN "); got != tt.want {
			t.Errorf("%s: logged %q", tt.id, got)
		}
	}
}
