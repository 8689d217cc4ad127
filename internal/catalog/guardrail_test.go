package catalog

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"countersign/agent"
	"countersign/agent/scripted"
)

// guardedOps is a file with an agent that has guardrails, and a tool that has some.
func guardedOps(own, tools string) string {
	return strings.Replace(head, "model: m", "model: m\n    guardrails: ["+own+"]", 1) +
		"      - { type: function, name: current_time, guardrails: [" + tools + "] }\n" + policy
}

// TestGuardrailsAct runs an agent through guardrails of every kind: each that acts, and beside it one that does not.
func TestGuardrailsAct(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, own, tools string
		trips            string // the guardrail that ends the run
		output           string // of the call, as the model reads it
		asked            int    // how often people are asked
	}{
		{"none", "", "", "", "x", 0},
		{"input trips", `{ name: g, on: input, when: 'text == "Go."', message: M }`, "", "g", "", 0},
		{"input passes", `{ name: g, on: input, when: 'text == "Stay."' }`, "", "", "x", 0},
		{"answer trips", `{ name: g, on: output, when: 'text == "Done."', message: M }`, "", "g", "", 0},
		{"answer passes", `{ name: g, on: output, when: 'text != "Done."' }`, "", "", "x", 0},
		{"call trips", "", `{ name: g, on: input, when: 'tool == "current_time"', message: M }`, "g", "", 0},
		{"call passes", "", `{ name: g, on: input, when: 'text != "{}"' }`, "", "x", 0},
		{"call replaced", "", `{ name: g, on: input, when: 'true', action: replace, message: No. }`, "", "No.", 0},
		{"output trips", "", `{ name: g, on: output, when: 'text == "x"', message: M }`, "g", "", 0},
		{"output replaced", "", `{ name: g, on: output, when: 'text == "x"', action: replace, message: No. }`,
			"", "No.", 0},
		{"asked about", "", `{ name: g, on: input, when: 'true', action: ask_again }`, "", "x", 1},
		{"not asked about", "", `{ name: g, on: input, when: 'false', action: ask_again }`, "", "x", 0},
		{"failing", "", `{ name: g, on: input, when: '1 / size(args) > 0', action: replace, message: No. }`,
			"", "No.", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			model := scripted.New(scripted.Calls(scripted.Call("c1", "current_time", "{}")), scripted.Say("Done."))
			result, asked, err := playAnswered(t, guardedOps(c.own, c.tools), model)
			if tripped, ok := errors.AsType[*agent.TripwireError](err); ok && c.trips != "" {
				if tripped.Guardrail != c.trips || tripped.Message != "M" {
					t.Errorf("tripped: %v", err)
				}
				return
			}
			if err != nil || c.trips != "" {
				t.Fatalf("not as wanted: %v", err)
			}
			items := result.State.Items()
			i := slices.IndexFunc(items, func(it agent.Item) bool { return it.Type == agent.ItemFunctionCallOutput })
			if i < 0 || items[i].Output != c.output || asked != c.asked {
				t.Errorf("asked %d times, items %+v", asked, items)
			}
		})
	}
}

// playAnswered runs the agent and approves whatever is asked; asked says how often.
func playAnswered(t *testing.T, text string, model agent.Model) (result *agent.Result, asked int, err error) {
	t.Helper()
	c, err := buildCatalog(t, text)
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := c.Agent("ops")
	if err != nil {
		t.Fatal(err)
	}
	runner := agent.Runner{ModelOf: func(*agent.Agent) agent.Model { return model }}
	input := []agent.Item{agent.UserMessage("Go.")}
	result, err = runner.Run(t.Context(), cfg.Agent, input, agent.RunOptions{})
	for err == nil && len(result.Interruptions) > 0 {
		asked += len(result.Interruptions)
		for _, in := range result.Interruptions {
			if err := result.State.Approve(in, agent.ApproveOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		result, err = runner.Resume(t.Context(), cfg.Agent, result.State, agent.RunOptions{})
	}
	return result, asked, err
}

// TestGuardrailBeforeApproval spares people a question whose answer would change nothing, and with a guardrail that
// only looks afterwards does not.
func TestGuardrailBeforeApproval(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		key   string
		asked int
	}{{", before_approval: true", 0}, {", before_approval: false", 1}, {"", 1}} {
		text := head + "      - { type: function, name: launch, guardrails: " +
			"[{ name: g, on: input, when: 'true', action: replace, message: No." + c.key + " }] }\n" + policy
		model := scripted.New(scripted.Calls(scripted.Call("c1", "launch", "{}")), scripted.Say("Done."))
		if _, asked, err := playAnswered(t, text, model); err != nil || asked != c.asked {
			t.Errorf("%q: asked %d times, %v", c.key, asked, err)
		}
	}
}

// TestGuardrailProblems says where in the file an expression is wrong, and which tools come to ask by a guardrail.
func TestGuardrailProblems(t *testing.T) {
	t.Parallel()
	asks := "{ name: g, on: input, when: 'true', action: ask_again }"
	for _, c := range []struct{ name, text, want string }{
		{"of an agent", guardedOps("{ name: g, on: input, when: 'args.x' }", ""),
			"agents.yaml:6:47: guardrail g: nothing is called 'args'"},
		{"of an answer", guardedOps("{ name: g, on: output, when: 'text' }", ""),
			"agents.yaml:6:48: guardrail g: the expression gives text, not true or false"},
		{"of a call", guardedOps("", "{ name: g, on: input, when: 'tol == \"x\"' }"),
			"agents.yaml:8:89: guardrail g: nothing is called 'tol'"},
		{"of an output", guardedOps("", "{ name: g, on: output, when: 'requester == \"U1\"' }"),
			"agents.yaml:8:90: guardrail g: nothing is called 'requester'"},
		{"asks without a policy", strings.TrimSuffix(guardedOps("", asks), policy),
			`tool "current_time" needs approval and the file has no ` + "`default_policy`"},
		{"asks", guardedOps("", asks), ""},
	} {
		catalog, err := buildCatalog(t, c.text)
		switch {
		case c.want == "" && err != nil, c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: want %q, have %v", c.name, c.want, err)
		case err == nil && catalog.rows[0].Gate != "asks if a guardrail says so":
			t.Errorf("%s: check says %q", c.name, catalog.rows[0].Gate)
		}
	}
}

// TestGuardrailsOfFunctions keeps the guardrails that a function was registered with, and the registered function.
func TestGuardrailsOfFunctions(t *testing.T) {
	t.Parallel()
	cfg := testConfig()
	cfg.Functions[0].InputGuardrails = make([]agent.ToolInputGuardrail, 0, 2)
	both := "{ name: b, on: input, when: 'true' }"
	c, err := Build(parseFile(t, guardedOps("", both)), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if got := c.agents["ops"].Agent.Tools[0].InputGuardrails; len(got) != 1 || got[0].Name != "b" {
		t.Errorf("guardrails: %+v", got)
	}
	if spare := cfg.Functions[0].InputGuardrails[:1]; spare[0].Name != "" {
		t.Errorf("the registered function was changed: %+v", spare)
	}
}
