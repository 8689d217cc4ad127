package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"countersign/agent"
	"countersign/agent/scripted"
)

// fleet returns an agent whose model calls the tool n times in one turn, as c0, c1, …, and then says done.
func fleet(n int, tool agent.Tool) *agent.Agent {
	var calls []agent.Item
	for i := range n {
		calls = append(calls, scripted.Call("c"+string(rune('0'+i)), tool.Name, `{}`))
	}
	return &agent.Agent{
		Name: "ops", Tools: []agent.Tool{tool}, Model: scripted.New(scripted.Calls(calls...), scripted.Say("Done.")),
	}
}

func invoking(invoke func(context.Context, *agent.ToolCall) (agent.ToolOutput, error)) agent.Tool {
	return agent.Tool{Name: "work", Invoke: invoke}
}

func outputs(res *agent.Result) map[string]string {
	found := make(map[string]string)
	for _, it := range res.State.Items() {
		if it.Type == agent.ItemFunctionCallOutput {
			found[it.CallID] = it.Output
		}
	}
	return found
}

// hitl F9: a timeout bounds the execution and is told to the model.
func TestTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tool := invoking(func(ctx context.Context, c *agent.ToolCall) (agent.ToolOutput, error) {
			if c.ID == "c0" {
				<-ctx.Done()
				return agent.ToolOutput{}, ctx.Err()
			}
			time.Sleep(29 * time.Second)
			return agent.ToolOutput{Text: "in time"}, nil
		})
		tool.Timeout = 30 * time.Second
		start := time.Now()
		res, err := (&agent.Runner{}).Run(t.Context(), fleet(2, tool), nil, agent.RunOptions{})
		must(t, err)
		got := outputs(res)
		if !strings.Contains(got["c0"], "did not finish within 30s") || got["c1"] != "in time" {
			t.Errorf("got %q", got)
		}
		if time.Since(start) != 30*time.Second {
			t.Errorf("took %v", time.Since(start))
		}
	})
}

// A call that people allowed and that does not finish in time may have taken effect, as when the run is cancelled
// meanwhile, and so may one that panics: they are asked what became of it. If the model made it again, that would be
// another call, also for a tool that knows one by its EffectID. What a tool knows better is told to the model.
func TestBrokenOffThoughApproved(t *testing.T) {
	t.Parallel()
	late := func(ctx context.Context) error { return fmt.Errorf("pay: %w", context.Cause(ctx)) }
	panics := func(context.Context) error { panic("4711") }
	for _, tt := range []struct {
		name       string
		kind       agent.ToolKind
		idempotent bool
		err        func(context.Context) error
		asks       bool
		audit      bool
	}{
		{"a payment", agent.KindFunction, false, late, true, false},
		{"a payment that may be repeated", agent.KindFunction, true, late, true, false},
		{"a tool that takes text", agent.KindCustom, false, late, true, false},
		{"a kind of one's own", "payment", false, late, true, false},
		{"a tool that knows that nothing happened", agent.KindFunction, false,
			func(context.Context) error { return errors.New("the bank is closed") }, false, false},
		{"a kind that knows what it has done", agent.KindApplyPatch, false, late, false, false},
		{"a payment that panics", agent.KindFunction, false, panics, true, false},
		{"any kind that panics", agent.KindHTTP, false, panics, true, false},
		{"a payment that is looked at afterwards", agent.KindFunction, false, late, true, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			tool := invoking(func(ctx context.Context, _ *agent.ToolCall) (agent.ToolOutput, error) {
				<-ctx.Done()
				return agent.ToolOutput{}, tt.err(ctx)
			})
			tool.Timeout, tool.NeedsApproval, tool.Idempotent = 30*time.Second, agent.AlwaysAsk, tt.idempotent
			tool.Kind, tool.Audit = tt.kind, tt.audit
			r, a := &agent.Runner{}, fleet(1, tool)
			res, err := r.Run(t.Context(), a, nil, agent.RunOptions{})
			must(t, err)
			if !tt.audit {
				must(t, res.State.Approve(res.Interruptions[0], agent.ApproveOptions{}))
				res, err = r.Resume(t.Context(), a, res.State, agent.RunOptions{})
				must(t, err)
			}
			asked := len(res.Interruptions) == 1 && res.Interruptions[0].Kind == agent.OutcomeUnknown
			if asked != tt.asks {
				t.Errorf("%s: asked %t, and the model reads %q", tt.name, asked, outputs(res))
			}
		})
	}
}

// A cancelled run ends when its tools do. What they did is kept; what failed because of it is not taken for an answer.
func TestCancel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var journal faultyJournal
		tool := invoking(func(ctx context.Context, c *agent.ToolCall) (agent.ToolOutput, error) {
			<-ctx.Done()
			if c.ID == "c0" {
				return agent.ToolOutput{}, ctx.Err()
			}
			time.Sleep(time.Second) // finishes what it began
			return agent.ToolOutput{Text: "finished"}, nil
		})
		r := &agent.Runner{Journal: &journal}
		ctx, cancel := context.WithCancelCause(t.Context())
		lost := errors.New("lease lost")
		time.AfterFunc(time.Minute, func() { cancel(lost) })
		a := fleet(2, tool)
		res, err := r.Run(ctx, a, nil, agent.RunOptions{})
		if !errors.Is(err, lost) || !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v", err)
		}
		if got := outputs(res); len(got) != 0 || len(journal.log) != 2 {
			t.Errorf("outputs %v, journal %v", got, journal.log)
		}
		// The second call's output is held: it waits for the first one's.
		res, err = r.Resume(t.Context(), a, res.State, agent.RunOptions{})
		must(t, err)
		if in := res.Interruptions; len(in) != 1 || in[0].Kind != agent.OutcomeUnknown || in[0].Call.ID != "c0" {
			t.Fatalf("got %+v", in)
		}
		if got := outputs(res); got["c1"] != "finished" {
			t.Errorf("got %v", got)
		}
	})
}

// A run that was cancelled before its calls began has not begun them.
func TestCancelBeforeIntent(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	var journal faultyJournal
	tool := invoking(
		func(context.Context, *agent.ToolCall) (agent.ToolOutput, error) { return agent.ToolOutput{}, nil })
	o := agent.RunOptions{Checkpoint: func(context.Context, agent.Delta) error { cancel(); return nil }}
	r := &agent.Runner{Journal: &journal}
	if _, err := r.Run(ctx, fleet(3, tool), nil, o); !errors.Is(err, context.Canceled) || len(journal.log) != 0 {
		t.Errorf("got %v, journal %v", err, journal.log)
	}
}

// A tool that ends its goroutine ends the run, not the program.
func TestGoexit(t *testing.T) {
	t.Parallel()
	tool := invoking(func(context.Context, *agent.ToolCall) (agent.ToolOutput, error) {
		runtime.Goexit()
		return agent.ToolOutput{}, nil
	})
	_, err := (&agent.Runner{MaxParallelCalls: 1}).Run(t.Context(), fleet(3, tool), nil, agent.RunOptions{})
	if err == nil {
		t.Error("nobody noticed")
	}
}

// hitl F1, O8: calls run side by side, up to the bound.
func TestParallel(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		bound int
		peak  int32
		took  time.Duration
	}{{0, 6, time.Second}, {2, 2, 3 * time.Second}, {1, 1, 6 * time.Second}, {9, 6, time.Second}} {
		synctest.Test(t, func(t *testing.T) {
			var running, peak atomic.Int32
			tool := invoking(func(context.Context, *agent.ToolCall) (agent.ToolOutput, error) {
				if n := running.Add(1); n > peak.Load() {
					peak.Store(n)
				}
				time.Sleep(time.Second)
				running.Add(-1)
				return agent.ToolOutput{}, nil
			})
			start := time.Now()
			_, err := (&agent.Runner{MaxParallelCalls: tt.bound}).Run(
				t.Context(), fleet(6, tool), nil, agent.RunOptions{})
			must(t, err)
			if peak.Load() != tt.peak || time.Since(start) != tt.took {
				t.Errorf("bound %d: %d at once, took %v", tt.bound, peak.Load(), time.Since(start))
			}
		})
	}
}

// hitl F6, H12: outputs stand in the model's order however the calls finish, and are recorded as they come.
func TestOutputsInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tool := invoking(func(_ context.Context, c *agent.ToolCall) (agent.ToolOutput, error) {
			time.Sleep(time.Duration('9'-c.ID[1]) * time.Second) // the last one finishes first
			return agent.ToolOutput{Text: c.ID}, nil
		})
		var checkpoints []int
		var during atomic.Int32
		o := agent.RunOptions{Checkpoint: func(_ context.Context, d agent.Delta) error {
			if during.Add(1) != 1 {
				t.Error("two checkpoints at once")
			}
			checkpoints = append(checkpoints, d.Count)
			during.Add(-1)
			return nil
		}}
		res, err := new(agent.Runner).Run(t.Context(), fleet(3, tool), []agent.Item{agent.UserMessage("go")}, o)
		must(t, err)
		if got := describe(res.NewItems); !strings.Contains(got, "output c0: c0\noutput c1: c1\noutput c2: c2\n") {
			t.Error(got)
		}
		// input and response; two held outputs; all three; the answer
		if want := []int{4, 0, 0, 3, 1}; !equal(checkpoints, want) {
			t.Errorf("checkpoints %v, want %v", checkpoints, want)
		}
	})
}

func equal(a, b []int) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// After an error no further call starts, and those that run are waited for.
func TestNoCallAfterError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var ran atomic.Int32
		tool := invoking(func(_ context.Context, c *agent.ToolCall) (agent.ToolOutput, error) {
			ran.Add(1)
			time.Sleep(time.Second)
			if c.ID == "c0" {
				return agent.ToolOutput{}, agent.ErrFatal
			}
			time.Sleep(time.Minute)
			return agent.ToolOutput{Text: "done"}, nil
		})
		a := fleet(5, tool)
		res, err := (&agent.Runner{MaxParallelCalls: 2}).Run(t.Context(), a, nil, agent.RunOptions{})
		if !errors.Is(err, agent.ErrFatal) || ran.Load() != 2 {
			t.Errorf("got %v after %d calls", err, ran.Load())
		}
		data, err := res.State.MarshalJSON()
		must(t, err)
		if !strings.Contains(string(data), `"output":{"text":"done"}`) {
			t.Errorf("what a sibling did is lost: %s", data)
		}
	})
}

// Code that is handed a call cannot change what was decided or what others see.
func TestCallsAreIsolated(t *testing.T) {
	t.Parallel()
	spoil := func(c *agent.ToolCall) {
		for i := range c.Arguments {
			c.Arguments[i] = 'x'
		}
		c.Path[0], c.EffectID, c.Tool = "evil", "eff_evil", "evil"
	}
	var got []string
	var mu sync.Mutex
	tool := agent.NewTool("pay", "", func(_ context.Context, in amountArgs) (string, error) { return in.To, nil })
	invoke := tool.Invoke
	tool.NeedsApproval = func(_ context.Context, c *agent.ToolCall) (bool, error) { spoil(c); return true, nil }
	tool.Invoke = func(ctx context.Context, c *agent.ToolCall) (agent.ToolOutput, error) {
		out, err := invoke(ctx, c)
		mu.Lock()
		got = append(got, string(c.Arguments)+c.Path[0]+c.Tool)
		mu.Unlock()
		spoil(c)
		return out, err
	}
	a := &agent.Agent{Name: "ops", Tools: []agent.Tool{tool}, Model: scripted.New(
		scripted.Calls(scripted.Call("c1", "pay", `{"to":"me"}`)), scripted.Say("Done."),
	)}
	r := &agent.Runner{Journal: spoiler{}}
	res, err := r.Run(t.Context(), a, nil, agent.RunOptions{})
	must(t, err)
	in := res.Interruptions[0]
	must(t, res.State.Approve(in, agent.ApproveOptions{}))
	spoil(&in.Call)
	res, err = r.Resume(t.Context(), a, res.State, agent.RunOptions{})
	must(t, err)
	if len(got) != 1 || got[0] != `{"to":"me"}opspay` || outputs(res)["c1"] != "me" {
		t.Errorf("got %v, %v", got, outputs(res))
	}
}

// spoiler is a journal that changes what it is handed.
type spoiler struct{}

func (spoiler) Intent(_ context.Context, e agent.Effect) (agent.Prior, error) {
	e.Call.Arguments[2] = 'X'
	return agent.Prior{}, nil
}

func (spoiler) Done(_ context.Context, e agent.Effect, _ agent.ToolOutput) error { return nil }

// invariant I9: what runs is compared with what was decided once more, right before it runs.
func TestToolChangesDuringResume(t *testing.T) {
	t.Parallel()
	ran := false
	pay := agent.NewTool("pay", "", noop[amountArgs])
	pay.NeedsApproval = agent.AlwaysAsk
	pay.Invoke = func(context.Context, *agent.ToolCall) (agent.ToolOutput, error) {
		ran = true
		return agent.ToolOutput{}, nil
	}
	a := &agent.Agent{Name: "ops", Tools: []agent.Tool{pay}, Model: scripted.New(
		scripted.Calls(scripted.Call("c1", "pay", `{"to":"a"}`), scripted.Call("c2", "pay", `{"to":"b"}`)),
	)}
	var r agent.Runner
	res, err := r.Run(t.Context(), a, nil, agent.RunOptions{})
	must(t, err)
	must(t, res.State.Approve(res.Interruptions[0], agent.ApproveOptions{}))
	must(t, res.State.Reject(res.Interruptions[1], agent.RejectOptions{}))
	r.RejectionMessage = func(context.Context, *agent.ToolCall) (string, error) {
		a.Tools[0].Version = "2" // between the check at the start of Resume and the execution
		return "", nil
	}
	if _, err = r.Resume(t.Context(), a, res.State, agent.RunOptions{}); !errors.Is(err, agent.ErrStale) || ran {
		t.Errorf("got %v, ran %v", err, ran)
	}
}

// What became of a call that has begun is for the journal to say, also when its tool would not take it any more.
func TestValidatorChangesAfterBeginning(t *testing.T) {
	t.Parallel()
	refuse := false
	tool := invoking(func(context.Context, *agent.ToolCall) (agent.ToolOutput, error) {
		return agent.ToolOutput{}, agent.ErrFatal
	})
	tool.Validate = func(json.RawMessage) error {
		if refuse {
			return errors.New("never heard of it")
		}
		return nil
	}
	a := fleet(1, tool)
	var r agent.Runner
	res, err := r.Run(t.Context(), a, nil, agent.RunOptions{})
	if !errors.Is(err, agent.ErrFatal) {
		t.Fatal(err)
	}
	refuse = true
	res, err = r.Resume(t.Context(), a, res.State, agent.RunOptions{})
	if err != nil || len(res.Interruptions) != 1 || res.Interruptions[0].Kind != agent.OutcomeUnknown {
		t.Errorf("got %+v, %v", res.Interruptions, err)
	}
}

// What the journal is told: the effect's identity, and who let it through.
func TestEffects(t *testing.T) {
	t.Parallel()
	pay := agent.NewTool("pay", "", noop[amountArgs])
	pay.NeedsApproval = agent.AlwaysAsk
	look := agent.NewTool("look", "", noop[amountArgs])
	look.Idempotent = true
	a := &agent.Agent{Name: "ops", Tools: []agent.Tool{pay, look}, Model: scripted.New(
		scripted.Calls(scripted.Call("c1", "pay", `{"to":"a"}`), scripted.Call("c2", "look", `{"to":"a"}`)),
		scripted.Calls(scripted.Call("c3", "pay", `{"to":"b"}`)),
		scripted.Say("Done."),
	)}
	journal := &recorder{effects: make(map[string]agent.Effect)}
	r, o := &agent.Runner{Journal: journal}, agent.RunOptions{Context: &agent.RunContext{ID: "run_7", Value: 42}}
	res, err := r.Run(t.Context(), a, nil, o)
	must(t, err)
	in := res.Interruptions[0]
	must(t, res.State.Approve(in, agent.ApproveOptions{Always: true}))
	_, err = r.Resume(t.Context(), a, res.State, o)
	must(t, err)

	c1, c2, c3 := journal.effects["c1"], journal.effects["c2"], journal.effects["c3"]
	if !c1.Decided || c1.Always || c2.Decided || c2.Always || c3.Decided || !c3.Always ||
		!c2.Idempotent || c1.Idempotent {
		t.Errorf("who let them through: %+v\n%+v\n%+v", c1, c2, c3)
	}
	if c1.Digest != in.Digest || c1.Definition != pay.Digest() || c1.Digest != pay.Digest().Call([]byte(`{"to":"a"}`)) {
		t.Error("the digest is not the one people saw")
	}
	if c1.Interruption != in.ID || c1.ID != in.Call.EffectID || c3.Interruption != "ops/2/c3" || c3.Call.Turn != 2 {
		t.Errorf("identity: %+v", c1)
	}
	seen := map[string]bool{c1.ID: true, c2.ID: true, c3.ID: true}
	if len(seen) != 3 || c1.ID != "eff_"+strings.TrimPrefix(c1.ID, "eff_") || c1.Call.Run.Value != 42 ||
		c1.Call.Run.ID != "run_7" {
		t.Errorf("effect ids: %v", seen)
	}
	journal.effects = make(map[string]agent.Effect)
	_, err = (&agent.Runner{Journal: journal}).Run(t.Context(), a, nil, runOf("run_8"))
	must(t, err)
	if journal.effects["c2"].ID == c2.ID {
		t.Error("two runs share an effect id")
	}
}

type recorder struct {
	mu      sync.Mutex
	effects map[string]agent.Effect
}

func (r *recorder) Intent(_ context.Context, e agent.Effect) (agent.Prior, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.effects[e.Call.ID] = e
	return agent.Prior{}, nil
}

func (r *recorder) Done(context.Context, agent.Effect, agent.ToolOutput) error { return nil }

// Neither logs nor the model learn what a panic was about, and no arguments are logged.
func TestNothingSecretIsLogged(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	pay := agent.NewTool("pay", "", noop[amountArgs])
	pay.NeedsApproval = func(context.Context, *agent.ToolCall) (bool, error) { panic("secret-gate") }
	pay.Invoke = func(context.Context, *agent.ToolCall) (agent.ToolOutput, error) { panic("secret-panic") }
	a := &agent.Agent{Name: "ops", Tools: []agent.Tool{pay}, Model: scripted.New(
		scripted.Calls(scripted.Call("c1", "pay", `{"to":"secret-argument"}`)), scripted.Say("Done."),
	)}
	r := &agent.Runner{
		Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Hooks:  &agent.Hooks{ToolStart: func(context.Context, *agent.ToolCall) { panic("secret-hook") }},
	}
	res, err := r.Run(t.Context(), a, nil, agent.RunOptions{})
	must(t, err)
	must(t, res.State.Approve(res.Interruptions[0], agent.ApproveOptions{}))
	res, err = r.Resume(t.Context(), a, res.State, agent.RunOptions{})
	must(t, err)
	for _, code := range []string{"tool", "gate", "hook"} { // each with the place in this file
		if line := regexp.MustCompile(code + " panicked.*execute_test.go").FindString(log.String()); line == "" {
			t.Errorf("control: a panic of a %s is not logged: %s", code, log.String())
		}
	}
	if strings.Contains(log.String(), "secret") || strings.Contains(outputs(res)["c1"], "secret") {
		t.Errorf("told: %s, %s", log.String(), outputs(res)["c1"])
	}
}
