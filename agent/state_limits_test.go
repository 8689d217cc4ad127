package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"countersign/agent"
	"countersign/agent/guardrail"
	"countersign/agent/scripted"
)

// TestLongOutputs has tools return more than a saved run can hold. The output is cut where it is written, on whole
// characters, and says so; a provider's own form that is too long is not kept.
func TestLongOutputs(t *testing.T) {
	t.Parallel()
	long := func(text, native string) agent.Tool {
		tool := invokingAs("work", func(context.Context, *agent.ToolCall) (agent.ToolOutput, error) {
			return agent.ToolOutput{Text: text, Native: json.RawMessage(native)}, nil
		})
		if native != "" {
			tool.Kind, tool.Wire = agent.KindShell, agent.WireShell
		}
		return tool
	}
	native := `[{"stdout":"` + strings.Repeat("x", 2<<20) + `","stderr":"","outcome":{"type":"exit","exit_code":0}}]`
	for _, tt := range []struct {
		why        string
		tool       agent.Tool
		want, tail string
		atMost     int
	}{
		{"control: one that fits", long(strings.Repeat("x", 1000), ""), strings.Repeat("x", 1000), "xx", 1000},
		{"one of a mebibyte and more", long(strings.Repeat("x", 2<<20), ""), strings.Repeat("x", 1<<20-200),
			"2097152 bytes long.]", 1<<20 + 100},
		{"one that escapes make too long", long(strings.Repeat("\x00", 50<<20), ""), "\x00\x00",
			"52428800 bytes long.]", 1 << 18},
		{"whole characters", long("x"+strings.Repeat("é", 1<<20), ""), "xéé",
			"é\n[The output was cut here: it is 2097153 bytes long.]", 1<<20 + 100},
		{"a provider's own form", long("", native),
			"The call was carried out, but its output is too long", "bytes long.", 1000},
		{"a provider's own form, with a text", long("short", native), "short", "short", 1000},
	} {
		call := scripted.Call("c1", "work", `{}`)
		if tt.tool.Wire == agent.WireShell {
			call = raw(`{"type":"shell_call","id":"scripted_0_0","call_id":"c1","action":{"commands":["x"]}}`)
		}
		a := &agent.Agent{
			Name: "ops", Tools: []agent.Tool{tt.tool}, Model: scripted.New(scripted.Calls(call), scripted.Say("Done.")),
		}
		res, err := new(agent.Runner).Run(t.Context(), a, []agent.Item{agent.UserMessage("go")}, agent.RunOptions{})
		must(t, err)
		s := reloaded(t, res.State, a)
		got := s.Items()[2].Output
		if !strings.HasPrefix(got, tt.want) || !strings.HasSuffix(got, tt.tail) || len(got) > tt.atMost {
			t.Errorf("%s: %d bytes, from %.60q to %q", tt.why, len(got), got, got[max(0, len(got)-80):])
		}
	}
}

// TestLongAnswersOfPeople cuts what people say in place of an output.
func TestLongAnswersOfPeople(t *testing.T) {
	t.Parallel()
	a := corpusAgent()
	s := begin(t, a, new(runs))
	long := strings.Repeat("\x01", 50<<20)
	must(t, s.Reject(s.Interruptions()[0], agent.RejectOptions{Message: &long}))
	_ = reloaded(t, s, a)
	external := &agent.Agent{Name: "ops", Tools: []agent.Tool{agent.NewExternalTool[struct{}]("ask", "")},
		Model: scripted.New(scripted.Calls(scripted.Call("c1", "ask", `{}`)))}
	s = begin(t, external, new(runs))
	must(t, s.Approve(s.Interruptions()[0], agent.ApproveOptions{Output: &agent.ToolOutput{Text: long}}))
	_ = reloaded(t, s, external)
}

// TestLongRuns fills a run. Input that does not fit is refused before anything happens, an answer of a model when it
// comes, and an output is replaced by a sentence; the state can be read in any case.
func TestLongRuns(t *testing.T) {
	t.Parallel()
	const mebibyte = 1 << 20
	message := func(mebibytes int) agent.Item { return agent.UserMessage(strings.Repeat("x", mebibytes*mebibyte)) }
	a := &agent.Agent{Name: "ops",
		Tools: []agent.Tool{invokingAs("work", func(context.Context, *agent.ToolCall) (agent.ToolOutput, error) {
			return agent.ToolOutput{Text: strings.Repeat("y", mebibyte/2)}, nil
		})}, Model: scripted.New(
			scripted.Calls(scripted.Call("c1", "work", `{}`)), scripted.Say(strings.Repeat("z", mebibyte)))}
	run := func(input ...agent.Item) (*agent.Result, error) {
		return new(agent.Runner).Run(t.Context(), a, input, agent.RunOptions{})
	}
	if _, err := run(message(48), message(49)); !errors.Is(err, agent.ErrConfig) {
		t.Errorf("too much input: %v", err)
	}
	almost := agent.UserMessage(strings.Repeat("x", 95*mebibyte+3*mebibyte/4))
	res, err := run(almost)
	if !errors.Is(err, agent.ErrModelBehavior) {
		t.Fatalf("an answer that does not fit: %v", err)
	}
	s := reloaded(t, res.State, a)
	if got := s.Items()[2].Output; !strings.Contains(got, "is not kept") {
		t.Errorf("an output that does not fit: %.80q", got)
	}
	if err := s.AddInput(message(1)); !errors.Is(err, agent.ErrConfig) {
		t.Errorf("added input that does not fit: %v", err)
	}
	must(t, s.AddInput(agent.UserMessage("short")))
}

// TestOddNumbers takes what is counted from a model and a caller that count wrongly.
func TestOddNumbers(t *testing.T) {
	t.Parallel()
	step := scripted.Say("Done.")
	step.Usage = agent.Usage{
		Requests: -3, InputTokens: -1, CachedTokens: math.MinInt64, OutputTokens: math.MaxInt64, ReasoningTokens: 5,
		TotalTokens: 1 << 60,
	}
	a := &agent.Agent{Name: "ops", Model: scripted.New(step)}
	res, err := new(agent.Runner).Run(
		t.Context(), a, []agent.Item{agent.UserMessage("go")}, agent.RunOptions{MaxTurns: math.MaxInt})
	must(t, err)
	s := reloaded(t, res.State, a)
	want := agent.Usage{Requests: 1, OutputTokens: 1<<53 - 1, ReasoningTokens: 5, TotalTokens: 1<<53 - 1}
	if s.Usage() != want {
		t.Errorf("usage %+v", s.Usage())
	}
	for _, bad := range []*agent.Agent{
		{Name: "op\xffs", Model: a.Model},
		{Name: "ops", Model: a.Model, Tools: []agent.Tool{{Name: "x", Kind: "\xff", External: true}}},
	} {
		if err := bad.Check(); !errors.Is(err, agent.ErrConfig) {
			t.Errorf("a name that cannot be saved: %v", err)
		}
	}
}

// TestLongWords has everybody who is asked for words say too many: the state can be read, and what cannot be cut,
// because a decision rests on it, does not run.
func TestLongWords(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("\x02", 50<<20)
	work := func(name string) agent.Tool {
		tool := invokingAs(name, func(context.Context, *agent.ToolCall) (agent.ToolOutput, error) {
			t.Errorf("%s ran", name)
			return agent.ToolOutput{}, nil
		})
		tool.NeedsApproval = agent.AlwaysAsk
		return tool
	}
	program, bound, guarded, worded := work("program"), work("bound"), work("guarded"), work("worded")
	program.OnApproval = func(context.Context, *agent.Interruption) (*agent.ToolApproval, error) {
		return &agent.ToolApproval{Reason: long}, nil
	}
	bound.Preconditions = func(context.Context, *agent.ToolCall) ([]string, error) { return []string{long}, nil }
	guarded.InputGuardrails = []agent.ToolInputGuardrail{{Name: long, BeforeApproval: true,
		Check: func(context.Context, *agent.ToolCall) (guardrail.Verdict, error) {
			return guardrail.Verdict{Action: guardrail.Replace, Message: long}, nil
		}}}
	a := &agent.Agent{Name: "ops", Tools: []agent.Tool{program, bound, guarded, worded},
		Model: scripted.New(scripted.Calls(
			scripted.Call("c1", "worded", `{}`), scripted.Call("c2", "program", `{}`),
			scripted.Call("c3", "bound", `{}`),
			scripted.Call("c4", "guarded", `{}`)), scripted.Say("Done."))}
	r := &runs{Runner: agent.Runner{RejectionMessage: func(context.Context, *agent.ToolCall) (string, error) {
		return long, nil
	}}}
	r.Checkpoint = func(_ context.Context, d agent.Delta) error {
		if len(d.Head)+len(d.Items) > 16<<20 {
			t.Errorf("a checkpoint of %d bytes", len(d.Head)+len(d.Items))
		}
		return nil
	}
	s := reloaded(t, begin(t, a, r), a)
	must(t, s.Reject(s.Undecided()[0], agent.RejectOptions{}))
	s = reloaded(t, resumed(t, a, r, s), a)
	if !s.Finished() || !strings.Contains(outputs(&agent.Result{State: s})["c3"], "too long to be kept") {
		t.Errorf("finished: %v, %.200q", s.Finished(), outputs(&agent.Result{State: s})["c3"])
	}
}
