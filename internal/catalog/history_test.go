package catalog

import (
	"fmt"
	"strings"
	"testing"

	"countersign/agent"
	"countersign/agent/scripted"
)

// TestHistoryTokens runs an agent of a file for longer than its history_tokens: what its model is shown stays below it,
// each call with its output, and the model is told. Without the key the default holds, which this run does not reach.
func TestHistoryTokens(t *testing.T) {
	t.Parallel()
	const turns, tokens = 12, 1000
	var steps []scripted.Step
	for i := range turns {
		say := agent.Item{Type: agent.ItemReasoning, Text: strings.Repeat("x", 400)}
		steps = append(steps, scripted.Calls(say, scripted.Call(fmt.Sprintf("c%d", i), "current_time", "{}")))
	}
	for _, tt := range []struct {
		key     string
		shorter bool
	}{{fmt.Sprintf("history_tokens: %d", tokens), true}, {"max_turns: 20", false}} {
		agents := strings.Replace(head, "model: m", "model: m\n    "+tt.key, 1)
		c, err := buildCatalog(t, agents+"      - { type: function, name: current_time }\n"+policy)
		if err != nil {
			t.Fatal(err)
		}
		cfg, err := c.Agent("ops")
		if err != nil {
			t.Fatal(err)
		}
		model := scripted.New(append(steps, scripted.Say("Done."))...)
		runner := agent.Runner{ModelOf: func(*agent.Agent) agent.Model { return model }}
		input := []agent.Item{agent.UserMessage("What time?")}
		result, err := runner.Run(t.Context(), cfg.Agent, input, agent.RunOptions{MaxTurns: -1})
		if err != nil {
			t.Fatal(err)
		}
		if want := 2 + 3*turns; len(result.State.Items()) != want {
			t.Errorf("%s: the state has %d items, not %d", tt.key, len(result.State.Items()), want)
		}
		said, most := inspect(t, model.Requests())
		if said != tt.shorter || (most <= tokens) != tt.shorter {
			t.Errorf("%s: told %v that turns are left out, at most %d tokens", tt.key, said, most)
		}
	}
}

// inspect returns whether a request says that turns were left out, and the estimated tokens of the longest. It looks
// for calls without outputs and for requests without what the person asked.
func inspect(t *testing.T, requests []agent.ModelRequest) (said bool, most int) {
	for _, req := range requests {
		size, open := 0, 0
		for _, it := range req.Items {
			size += len(it.Wire())
			said = said || it.Role == agent.RoleDeveloper && strings.Contains(it.Text, "left out")
			switch it.Type {
			case agent.ItemFunctionCall:
				open++
			case agent.ItemFunctionCallOutput:
				open--
			}
		}
		if open != 0 || req.Items[0].Text != "What time?" {
			t.Errorf("a request has %d calls without outputs and begins with %q", open, req.Items[0].Text)
		}
		most = max(most, size/4)
	}
	return said, most
}
