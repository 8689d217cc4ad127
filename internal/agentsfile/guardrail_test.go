package agentsfile

import "testing"

// guarded is a file whose agent has the guardrail g: line 6.
func guarded(keys string) string { return agentWith("    guardrails: [{ name: g, " + keys + " }]\n") }

// guardedTool is a file whose tool has the guardrail g: line 12.
func guardedTool(keys string) string {
	return toolWith("        method: POST\n        url: https://example.com/\n        guardrails: [{ name: g, " +
		keys + " }]\n")
}

func guardedExternal(on string) string {
	return agentWith("    tools: [{ type: external, name: x, description: x, guardrails: [{ name: g, on: " + on +
		", when: 'true' }] }]\n")
}

// guardrailProblems are guardrails that cannot do what they say.
func guardrailProblems() []problemCase {
	return []problemCase{
		{"guardrails as mapping", agentWith("    guardrails: { name: g }\n"),
			"agents.yaml:6:17: guardrails is a list, not a mapping"},
		{"guardrail as text", agentWith("    guardrails: [g]\n"),
			"agents.yaml:6:18: a guardrail is a mapping, not text"},
		{"guardrail without on", guarded("when: 'true'"), `agents.yaml:6:18: a guardrail needs "on"`},
		{"guardrail without when", guarded("on: input"), `agents.yaml:6:18: a guardrail needs "when"`},
		{"guardrail without name", agentWith("    guardrails: [{ on: input, when: 'true' }]\n"),
			`agents.yaml:6:18: a guardrail needs "name"`},
		{"guardrail that says true", guarded("on: input, when: true"),
			"agents.yaml:6:46: when is text, not true or false"},
		{"guardrail misspelt", guarded("on: input, wen: 'true'"),
			`unknown key "wen" in a guardrail; did you mean "when"?`},
		{"guardrail on both", guarded("on: both, when: 'true'"),
			`agents.yaml:6:33: on is one of input, output, not "both"`},
		{"agent that replaces", guarded("on: input, when: 'true', action: replace, message: M"),
			`agents.yaml:6:62: action is one of trip, not "replace"`},
		{"agent before approval", guarded("on: input, when: 'true', before_approval: true"),
			`unknown key "before_approval" in a guardrail`},
		{"guardrail's name", agentWith("    guardrails: [{ name: a b, on: input, when: 'true' }]\n"),
			`agents.yaml:6:26: guardrail name "a b"`},
		{"guardrail twice", agentWith("    guardrails: [{ name: g, on: input, when: 'true' }," +
			" { name: g, on: output, when: 'true' }]\n"), `two guardrails are called "g" here; the first is on line 6`},
		{"guardrail with variable", guarded("on: input, when: 'text == \"${TOKEN}\"'"),
			"agents.yaml:6:46: ${…} is not expanded in when"},
		{"replaced by nothing", guardedTool("on: input, when: 'true', action: replace"),
			"agents.yaml:12:66: `action: replace` needs a `message`"},
		{"replaced by empty text", guardedTool("on: input, when: 'true', action: replace, message: ''"),
			"`action: replace` needs a `message`"},
		{"output asked about again", guardedTool("on: output, when: 'true', action: ask_again"),
			"`action: ask_again` is for `on: input`"},
		{"output before approval", guardedTool("on: output, when: 'true', before_approval: true"),
			"before_approval is for `on: input`"},
		{"again before approval", guardedTool("on: input, when: 'true', action: ask_again, before_approval: true"),
			"before_approval has no meaning with `action: ask_again`"},
		{"input of an external tool", guardedExternal("input"), "its guardrails are `on: output`"},
		{"guardrail of a server", agentWith("    tools: [{ type: mcp, server: x, guardrails: [] }]\n"),
			"guardrails is not supported by this version"},
		{"guardrail of a search", agentWith("    tools: [{ type: web_search, guardrails: [] }]\n"),
			"guardrails is not supported by this version"},
	}
}

// TestGuardrails accepts guardrails like the refused ones, and finds places in their expressions.
func TestGuardrails(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		guarded("on: output, when: 'true'"),
		guarded("on: input, when: 'true', action: trip, message: M"),
		guardedTool("on: input, when: 'true', action: replace, message: M, before_approval: true"),
		guardedTool("on: input, when: 'true', action: ask_again"),
		guardedTool("on: output, when: 'true', action: replace, message: M"),
		guardedExternal("output"),
	} {
		if _, err := parse(t, text); err != nil {
			t.Errorf("%v in:\n%s", err, text)
		}
	}
	f, err := parse(t, guarded("on: input, when: 'size(text) > 3'"))
	if err != nil {
		t.Fatal(err)
	}
	if got := f.Agents[0].Guardrails[0].At(1, 6).String(); got != "agents.yaml:6:52" {
		t.Errorf("the sixth character is at %s", got)
	}
}
