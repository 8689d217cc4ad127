package agent_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"countersign/agent"
	"countersign/agent/guardrail"
	"countersign/agent/scripted"
)

// crashPlots are runs of more than one agent, and of what stands between a call and its output.
var crashPlots = map[string]plot{
	"nested three deep": {
		answers: map[string]string{"c1": "approve", "c2": "approve", "n2": "approve", "k1": "approve", "k2": "reject"},
		graph: func(w *world) *agent.Agent {
			clerk := w.actor("clerk", calls("k1 ask 1", "k2 ask 2", "k3 free 3"), tell())
			finance := w.actor("finance", calls("n1 clerk", "n2 ask 4", "n3 free 5"), calls("n4 idem 6"), tell())
			finance.Tools = append(finance.Tools, clerk.AsTool("clerk", ""))
			ops := w.actor("ops", calls("c1 finance", "c2 ask 7", "c3 free 8"), scripted.Say("Done."))
			asked := finance.AsTool("finance", "")
			asked.NeedsApproval = agent.AlwaysAsk
			ops.Tools = append(ops.Tools, asked)
			return ops
		},
	},
	"one agent twice with equal ids": {
		answers: map[string]string{"n1": "approve", "n2": "approve always"},
		graph: func(w *world) *agent.Agent {
			finance := w.actor("finance", calls("n1 ask 1"), calls("n2 ask 2"), tell())
			ops := w.actor("ops", calls("c1 finance", "c2 finance"), calls("c3 finance"), scripted.Say("Done."))
			ops.Tools = append(ops.Tools, finance.AsTool("finance", ""))
			return ops
		},
	},
	"handoff with a filter": {
		answers: map[string]string{"c1": "approve", "c3": "approve", "n2": "approve"},
		graph: func(w *world) *agent.Agent {
			script := []scripted.Step{calls("c1 ask 1", "c2 to_billing", "c0 free 9"),
				calls("c3 ask 2", "c4 nested"), tell()}
			last := w.actor("last", scripted.Say("unused"), calls("n2 ask 3"), tell())
			first := w.actor("first", calls("n1 to_last"))
			first.Handoffs = []agent.Handoff{{Agent: last, Name: "to_last"}}
			billing := w.actor("billing", script...)
			billing.Tools = append(billing.Tools, first.AsTool("nested", ""))
			ops := w.actor("ops", script...)
			ops.Handoffs = []agent.Handoff{{Agent: billing, Name: "to_billing",
				Filter: func(items []agent.Item) []agent.Item {
					return slices.DeleteFunc(items, func(it agent.Item) bool { return it.CallID == "c2" })
				}}}
			return ops
		},
	},
	"the first output is the answer": {
		answers: map[string]string{"c1": "reject", "c2": "approve"},
		graph: func(w *world) *agent.Agent {
			ops := w.actor("ops", calls("c1 ask 1", "c2 ask 2", "c3 free 3"), scripted.Say("never reached"))
			ops.ToolUse.StopOnFirst = true
			ops.OutputGuardrails = []agent.OutputGuardrail{{Name: "any",
				Check: func(context.Context, *agent.Agent, string) (guardrail.Verdict, error) {
					return guardrail.Verdict{}, nil
				}}}
			return ops
		},
	},
	"a behavior decides": {
		answers: map[string]string{"c2": "approve", "c3": "approve"},
		graph: func(w *world) *agent.Agent {
			ops := w.actor("ops", calls("c1 free 1", "c2 ask 2"), calls("c3 ask 3"), scripted.Say("never reached"))
			ops.ToolUse.Decide = func(_ context.Context, results []agent.ToolResult) (string, bool, error) {
				return fmt.Sprint(results), len(results) == 1, nil
			}
			return ops
		},
	},
	// One call at a time: a process that dies while another call has begun, between a guardrail's verdict and its
	// record, leaves a call of which only the journal could tell whether it began. It then ends as not carried out
	// instead of being asked again.
	"guardrails around calls": {
		answers: map[string]string{"c1": "approve", "c2": "approve", "c3": "approve"}, alone: true,
		graph: func(w *world) *agent.Agent {
			ops := w.actor("ops", calls("c1 ask 1", "c2 ask 2", "c3 ask 3"), scripted.Say("Done."))
			ask := &ops.Tools[0]
			ask.InputGuardrails = []agent.ToolInputGuardrail{
				{Name: "once more", Check: func(_ context.Context, c *agent.ToolCall) (guardrail.Verdict, error) {
					if c.ID == "c1" && c.AskedAgain == 0 {
						return guardrail.Verdict{Action: guardrail.AskAgain}, nil
					}
					return guardrail.Verdict{}, nil
				}},
				{Name: "not that", BeforeApproval: true,
					Check: func(_ context.Context, c *agent.ToolCall) (guardrail.Verdict, error) {
						if c.ID == "c2" {
							return guardrail.Verdict{Action: guardrail.Replace, Message: "not that"}, nil
						}
						return guardrail.Verdict{}, nil
					}},
			}
			ask.OutputGuardrails = []agent.ToolOutputGuardrail{{Name: "shorter",
				Check: func(_ context.Context, c *agent.ToolCall, _ agent.ToolOutput) (guardrail.Verdict, error) {
					if c.ID == "c3" {
						return guardrail.Verdict{Action: guardrail.Replace, Message: "withheld"}, nil
					}
					return guardrail.Verdict{}, nil
				}}}
			return ops
		},
	},
	"input that is added": {
		answers: map[string]string{"c1": "approve"}, input: "and hurry",
		graph: func(w *world) *agent.Agent {
			return w.actor("ops", calls("c1 ask 1", "c2 free 2"), calls("c3 free 3"), scripted.Say("Done."))
		},
	},
}

// TestCrashMatrix lets the process die at every single moment of runs with several agents, and once more at every
// moment of what follows. Whatever the moment, every effect happens at most once, and the conversation ends the same.
func TestCrashMatrix(t *testing.T) {
	t.Parallel()
	for name, p := range crashPlots {
		for _, worker := range []string{"saves", "saves one by one", "forgets"} {
			p.saves, p.hold = worker != "forgets", worker == "saves one by one"
			if p.input != "" && !p.saves {
				continue // where the input comes in depends on when it is added again
			}
			t.Run(name+", and the worker "+worker, func(t *testing.T) {
				t.Parallel()
				calm := &world{plot: p}
				want := calm.live(t)
				if len(calm.effects) == 0 {
					t.Fatal("the plot has no effects")
				}
				for first := 1; ; first++ {
					once := &world{plot: p, crashes: []int{first}}
					checkLife(t, once, want, first)
					if once.died == 0 {
						break // it ended before
					}
					for _, second := range []int{1, 3, 8} {
						checkLife(t, &world{plot: p, crashes: []int{first, second}}, want, first, second)
					}
				}
			})
		}
	}
}

func checkLife(t *testing.T, w *world, want []string, crashes ...int) {
	t.Helper()
	if diff := gocmp.Diff(want, w.live(t)); diff != "" {
		t.Fatalf("after crashes at %v the conversation is another one:\n%s", crashes, diff)
	}
	for effect, n := range w.effects {
		if n > 1 && !strings.HasPrefix(effect, "idem ") {
			t.Fatalf("after crashes at %v an effect happened %d times: %s", crashes, n, effect)
		}
	}
}

// TestCrashMatrixControl proves that TestCrashMatrix can fail: with a journal that forgets what has begun, effects of
// each plot are repeated.
func TestCrashMatrixControl(t *testing.T) {
	t.Parallel()
	for name, p := range crashPlots {
		p.saves = true
		repeated := false
		for first := 1; first < 80 && !repeated; first++ {
			w := &world{plot: p, crashes: []int{first}, forgets: forgets{intents: true}}
			w.live(t)
			for effect, n := range w.effects {
				repeated = repeated || n > 1 && !strings.HasPrefix(effect, "idem ")
			}
		}
		if !repeated {
			t.Errorf("%s: no effect was repeated", name)
		}
	}
}

// add puts the plot's input into the run, unless it is there.
func (w *world) add(t rapid.TB, s *agent.RunState) {
	there := func(it agent.Item) bool { return it.Text == w.plot.input }
	if w.plot.input == "" || slices.ContainsFunc(s.Items(), there) || slices.ContainsFunc(s.PendingInput(), there) {
		return
	}
	if err := s.AddInput(agent.UserMessage(w.plot.input)); err != nil {
		t.Fatal(err)
	}
}

// actor returns an agent with the tools ask, free and idem that plays the steps.
func (w *world) actor(name string, steps ...scripted.Step) *agent.Agent {
	return &agent.Agent{
		Name: name, Model: telling{scripted.New(steps...)},
		Tools: []agent.Tool{w.tool("ask"), w.tool("free"), w.tool("idem")},
	}
}

// calls is a step of calls, each written as its id, its tool and, unless the tool is an agent or a handoff, a number.
func calls(list ...string) scripted.Step {
	var items []agent.Item
	for _, c := range list {
		w := strings.Fields(c)
		arguments := `{"input":"go"}`
		switch {
		case len(w) == 3:
			arguments = `{"amount":` + w[2] + `}`
		case strings.HasPrefix(w[1], "to_"):
			arguments = `{}`
		}
		items = append(items, scripted.Call(w[0], w[1], arguments))
	}
	return scripted.Calls(items...)
}

// tell is the step of answering with everything that the model sees, so that it can be compared.
func tell() scripted.Step { return scripted.Say("everything") }

// telling is a scripted model that knows the step tell.
type telling struct{ *scripted.Model }

func (m telling) Respond(ctx context.Context, req *agent.ModelRequest) (*agent.ModelResponse, error) {
	resp, err := m.Model.Respond(ctx, req)
	if err != nil || resp.Items[0].Text != "everything" {
		return resp, err
	}
	lines := strings.Split(describe(req.Items), "\n")
	slices.Sort(lines)
	resp.Items = []agent.Item{agent.AssistantMessage(strings.Join(lines, "; "))}
	return resp, nil
}
