package catalog

import (
	"slices"
	"strings"
	"testing"

	"countersign/agent"
	"countersign/agent/scripted"
)

// play runs the agent ops of the file until it answers or stops otherwise.
func play(t *testing.T, text string, steps ...scripted.Step) (*agent.Result, *scripted.Model, error) {
	t.Helper()
	c, err := buildCatalog(t, text)
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := c.Agent("ops")
	if err != nil {
		t.Fatal(err)
	}
	model := scripted.New(steps...)
	runner := agent.Runner{ModelOf: func(*agent.Agent) agent.Model { return model }}
	result, err := runner.Run(t.Context(), cfg.Agent, []agent.Item{agent.UserMessage("Go.")}, agent.RunOptions{})
	return result, model, err
}

// opsWith is a file with an agent that can tell the time and has the further keys.
func opsWith(keys string) string {
	return strings.Replace(head, "model: m", "model: m\n    "+keys, 1) +
		"      - { type: function, name: current_time }\n" + policy
}

// TestToolUse runs agents as the file wants them to use their tools, and one of which it says nothing.
func TestToolUse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, keys, answer string
		choices            []string // of each request
	}{
		{"nothing said", "max_turns: 20", "Done.", []string{"", ""}},
		{"auto", "tool_choice: auto", "Done.", []string{"auto", ""}},
		{"none", "tool_choice: none", "Done.", []string{"none", "none"}},
		{"required", "tool_choice: required", "Done.", []string{"required", ""}},
		{"a tool", "tool_choice: current_time", "Done.", []string{"current_time", ""}},
		{"a tool, kept", "tool_choice: current_time\n    keep_tool_choice: true", "Done.",
			[]string{"current_time", "current_time"}},
		{"stop", "stop_on_first_tool: true", "x", []string{""}},
		{"no stop", "stop_on_first_tool: false", "Done.", []string{"", ""}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			result, model, err := play(t, opsWith(c.keys),
				scripted.Calls(scripted.Call("c1", "current_time", "{}")), scripted.Say("Done."))
			if err != nil {
				t.Fatal(err)
			}
			if got := result.State.FinalOutput(); got != c.answer {
				t.Errorf("the answer is %q, not %q", got, c.answer)
			}
			var choices []string
			for _, req := range model.Requests() {
				choices = append(choices, req.Settings.ToolChoice)
			}
			if !slices.Equal(choices, c.choices) {
				t.Errorf("tool choices %q, not %q", choices, c.choices)
			}
		})
	}
}
