package approvals_test

import (
	"context"
	"strings"
	"testing"

	"countersign/agent"
	"countersign/agent/guardrail"
	"countersign/approvals"
)

// refusing says no to input that has the word, in the words of an operator.
func refusing(word string) agent.InputGuardrail {
	check := func(_ context.Context, _ *agent.Agent, input []agent.Item) (guardrail.Verdict, error) {
		if last := input[len(input)-1]; strings.Contains(last.Text, word) {
			return guardrail.Verdict{Action: guardrail.Trip, Message: "No secrets here."}, nil
		}
		return guardrail.Verdict{}, nil
	}
	return agent.InputGuardrail{Name: "secrets", Check: check}
}

// TestTripNamesTheGuardrail tells people which guardrail ended the run and what it says, and of a tool's which tool.
func TestTripNamesTheGuardrail(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	trips := func(message string) func(context.Context, *agent.ToolCall) (guardrail.Verdict, error) {
		return func(context.Context, *agent.ToolCall) (guardrail.Verdict, error) {
			return guardrail.Verdict{Action: guardrail.Trip, Message: message}, nil
		}
	}
	tool := agent.NewTool("look", "Looks.", func(context.Context, struct{}) (string, error) { return "", nil })
	for _, c := range []struct {
		agent agent.Agent
		want  string
	}{
		{agent.Agent{InputGuardrails: []agent.InputGuardrail{refusing("please")}},
			`The run was stopped by the guardrail "secrets". It says: No secrets here.`},
		{agent.Agent{Tools: []agent.Tool{guarded(tool, "ceiling", trips("Too much."))}},
			`The run was stopped by the guardrail "ceiling" of the tool "look". It says: Too much.`},
		{agent.Agent{Tools: []agent.Tool{guarded(tool, "silent", trips(""))}},
			`The run was stopped by the guardrail "silent" of the tool "look".`},
	} {
		c.agent.Name, c.agent.Model = "ops", asks(call("c1", "look", `{}`))
		b.agents.set(approvals.AgentConfig{Agent: &c.agent})
		step := b.step()
		id := b.submit()
		if err := step(runJob(id)); err != nil {
			t.Fatal(err)
		}
		if got := b.run(id); got.Status != approvals.RunFailed || got.Failure != c.want {
			t.Errorf("the run is %s: %q, not %q", got.Status, got.Failure, c.want)
		}
	}
}

func guarded(
	tool agent.Tool, name string, check func(context.Context, *agent.ToolCall) (guardrail.Verdict, error),
) agent.Tool {
	tool.InputGuardrails = []agent.ToolInputGuardrail{{Name: name, Check: check}}
	return tool
}

// TestRefusedIsNotRemembered keeps what a guardrail of the agent refused out of what the next run of the place reads;
// what no guardrail refused is there.
func TestRefusedIsNotRemembered(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, word, answer, want string }{
		{"input", "please", "fine", "user please\nassistant fine\ndeveloper "},
		{"answer", "nothing", "rude", "user please\nassistant fine\nuser please\ndeveloper "},
		{"neither", "nothing", "kind", "user please\nassistant fine\nuser please\nassistant kind\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			said, strict := "fine", false
			var last *agent.ModelRequest
			m := model(func(req *agent.ModelRequest) ([]agent.Item, error) {
				last = req
				return []agent.Item{agent.AssistantMessage(said)}, nil
			})
			polite := func(_ context.Context, _ *agent.Agent, text string) (guardrail.Verdict, error) {
				if text == "rude" {
					return guardrail.Verdict{Action: guardrail.Trip}, nil
				}
				return guardrail.Verdict{}, nil
			}
			step := b.step()
			play := func() {
				a := &agent.Agent{Name: "ops", Model: m}
				if strict {
					a.InputGuardrails = []agent.InputGuardrail{refusing(c.word)}
					a.OutputGuardrails = []agent.OutputGuardrail{{Name: "polite", Check: polite}}
				}
				b.agents.set(approvals.AgentConfig{Agent: a})
				if err := step(runJob(b.submit())); err != nil {
					t.Fatal(err)
				}
			}
			play()
			said, strict = c.answer, true
			play()
			said, strict = "fine", false
			play()
			var got strings.Builder
			for _, it := range last.Items {
				got.WriteString(string(it.Role) + " " + it.Text + "\n")
			}
			if !strings.HasPrefix(got.String(), c.want) || strings.Contains(got.String(), "rude") {
				t.Errorf("the third run reads\n%s", got.String())
			}
		})
	}
}

// TestRefusedOutputOfACall has the output of a call be the answer that is refused. The call has happened: the next run
// reads of it, and is not told that something is left out.
func TestRefusedOutputOfACall(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	look := agent.NewTool("look", "Looks.", func(context.Context, struct{}) (string, error) { return "rude", nil })
	refuse := func(context.Context, *agent.Agent, string) (guardrail.Verdict, error) {
		return guardrail.Verdict{Action: guardrail.Trip}, nil
	}
	ops := &agent.Agent{
		Name: "ops", Model: asks(call("c1", "look", `{}`)), Tools: []agent.Tool{look},
		ToolUse:          agent.ToolUseBehavior{StopOnFirst: true},
		OutputGuardrails: []agent.OutputGuardrail{{Name: "polite", Check: refuse}},
	}
	b.agents.set(approvals.AgentConfig{Agent: ops})
	step := b.step()
	id := b.submit()
	if err := step(runJob(id)); err != nil {
		t.Fatal(err)
	}
	if got := b.run(id); got.Status != approvals.RunFailed || !strings.Contains(got.Failure, `guardrail "polite"`) {
		t.Fatalf("the run is %s: %q", got.Status, got.Failure)
	}
	var last *agent.ModelRequest
	m := model(func(req *agent.ModelRequest) ([]agent.Item, error) {
		last = req
		return []agent.Item{agent.AssistantMessage("fine")}, nil
	})
	b.agents.set(approvals.AgentConfig{Agent: &agent.Agent{Name: "ops", Model: m}})
	if err := step(runJob(b.submit())); err != nil {
		t.Fatal(err)
	}
	returned := false
	for _, it := range last.Items {
		returned = returned || it.Type == agent.ItemFunctionCallOutput && it.CallID == "c1"
		if strings.Contains(it.Text, "left out") {
			t.Errorf("the next run reads %q", it.Text)
		}
	}
	if !returned {
		t.Errorf("the next run does not read what the call returned: %+v", last.Items)
	}
}
