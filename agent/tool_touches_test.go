package agent_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"countersign/agent"
	"countersign/agent/scripted"
)

// TestCallsThatTouchTheSameThings has calls of two tools in one turn, and counts how many run at once.
func TestCallsThatTouchTheSameThings(t *testing.T) {
	t.Parallel()
	facts := func(context.Context, *agent.ToolCall) ([]string, error) { return []string{"as it was"}, nil }
	for _, tt := range []struct {
		why        string
		one, other []string
		bind       bool
		peak       int32
	}{
		{"the same file", []string{"/srv/deploy.sh"}, []string{"/srv/deploy.sh"}, true, 1},
		{"a file and its directory", []string{"/srv"}, []string{"/srv/bin/deploy.sh"}, true, 1},
		{"a directory and everything", []string{"/srv/bin"}, []string{"/"}, true, 1},
		{"one of several", []string{"/a", "/srv"}, []string{"/b", "/srv/x"}, true, 1},
		{"without facts", []string{"/srv"}, []string{"/srv"}, false, 1},
		{"names that begin alike", []string{"/srv/a"}, []string{"/srv/ab"}, true, 2},
		{"other directories", []string{"/srv/a"}, []string{"/srv/b"}, true, 2},
		{"nothing", []string{}, []string{"/"}, true, 2},
	} {
		t.Run(tt.why, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var running, peak atomic.Int32
				tool := func(name string, touches []string) agent.Tool {
					made := agent.Tool{
						Name: name, NeedsApproval: agent.AlwaysAsk,
						Touches: func(*agent.ToolCall) []string { return touches },
						Invoke: func(context.Context, *agent.ToolCall) (agent.ToolOutput, error) {
							if n := running.Add(1); n > peak.Load() {
								peak.Store(n)
							}
							time.Sleep(time.Second)
							running.Add(-1)
							return agent.ToolOutput{}, nil
						},
					}
					if tt.bind {
						made.Preconditions = facts
					}
					return made
				}
				a := &agent.Agent{Name: "ops", Tools: []agent.Tool{tool("one", tt.one), tool("other", tt.other)},
					Model: scripted.New(
						scripted.Calls(scripted.Call("c1", "one", `{}`), scripted.Call("c2", "other", `{}`)),
						scripted.Say("Done."))}
				r := &agent.Runner{}
				res, err := r.Run(t.Context(), a, []agent.Item{agent.UserMessage("go")}, agent.RunOptions{})
				must(t, err)
				for _, in := range res.Interruptions {
					must(t, res.State.Approve(in, agent.ApproveOptions{}))
				}
				res, err = r.Resume(t.Context(), a, res.State, agent.RunOptions{})
				must(t, err)
				if peak.Load() != tt.peak || !res.State.Finished() {
					t.Errorf("%d calls at once, want %d; finished %v", peak.Load(), tt.peak, res.State.Finished())
				}
			})
		})
	}
}

// A call that waits for another one does not outlive the run, and what says what it touches may break.
func TestWaitingForWhatIsTouched(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		started := make(chan struct{})
		var ran atomic.Int32
		tool := invoking(func(ctx context.Context, _ *agent.ToolCall) (agent.ToolOutput, error) {
			ran.Add(1)
			close(started)
			<-ctx.Done()
			return agent.ToolOutput{}, ctx.Err()
		})
		tool.Touches = func(*agent.ToolCall) []string { return []string{"/"} }
		ctx, cancel := context.WithCancel(t.Context())
		go func() { <-started; synctest.Wait(); cancel() }()
		_, err := (&agent.Runner{}).Run(ctx, fleet(3, tool), nil, agent.RunOptions{})
		if !errors.Is(err, context.Canceled) || ran.Load() != 1 {
			t.Errorf("%d calls ran, %v", ran.Load(), err)
		}
		tool.Touches = func(*agent.ToolCall) []string { panic("secret 4711") }
		if _, err := (&agent.Runner{}).Run(
			t.Context(), fleet(1, tool), nil, agent.RunOptions{}); err == nil || ran.Load() != 1 {
			t.Errorf("%d calls ran, %v", ran.Load(), err)
		}
	})
}
