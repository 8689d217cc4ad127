package agentsfile

import "testing"

// conversationProblems are conversations that the provider cannot keep.
func conversationProblems() []problemCase {
	const kept = "    conversation: provider\n"
	return []problemCase{
		{"conversation of another", agentWith("    conversation: model\n"),
			`agents.yaml:6:19: conversation is one of provider, not "model"`},
		{"conversation over chat completions", agentWith("    api: chat_completions\n" + kept),
			"agents.yaml:7:19: conversation: provider needs `api: responses`"},
		{"conversation with history", agentWith("    history_tokens: 5000\n" + kept),
			"agents.yaml:6:21: history_tokens bounds what the model is sent"},
		{"conversation with an output guardrail",
			agentWith(kept + "    guardrails: [{ name: tidy, on: output, when: 'true' }]\n"),
			`agents.yaml:7:18: guardrail "tidy" looks at answers`},
		{"handoff out of the conversation", agentWith(kept+"    handoffs: [b]\n") +
			"  b: { instructions: x, model: y }\ndefault_agent: ops\n",
			`agents.yaml:7:16: agents "ops" and "b" share a conversation, and only "ops" has`},
		{"handoff into the conversation", agentWith("    handoffs: [b]\n") +
			"  b: { instructions: x, model: y, conversation: provider }\ndefault_agent: ops\n",
			`and only "b" has ` + "`conversation: provider`" + `; give it to "ops" as well`},
	}
}

// TestConversation accepts what goes together: guardrails of input, and agents used as tools, which have conversations
// of their own.
func TestConversation(t *testing.T) {
	t.Parallel()
	f, err := parse(t, agentWith("    conversation: provider\n"+
		"    guardrails: [{ name: tidy, on: input, when: 'true' }]\n    handoffs: [b]\n"+
		"    tools: [{ type: agent, agent: c, name: c, description: x }]\n")+
		"  b: { instructions: x, model: y, conversation: provider }\n"+
		"  c: { instructions: x, model: y, history_tokens: 5000 }\ndefault_agent: ops\n")
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []bool{true, true, false} {
		if got := f.Agents[i].ProviderConversation; got != want {
			t.Errorf("agent %s: %v", f.Agents[i].Name, got)
		}
	}
}
