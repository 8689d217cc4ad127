package agentsfile

import "testing"

// choosing is a file whose agent chooses a tool: line 6 is tool_choice.
func choosing(choice string) string {
	return agentWith("    tool_choice: " + choice + "\n" +
		"    tools:\n      - { type: function, name: current_time }\n" +
		"      - { type: mcp, server: github, prefix: gh_, allowed_tools: [get_issue, close_issue],\n" +
		"          blocked_tools: [close_issue] }\n" +
		"    handoffs: [billing]\n" +
		"  billing: { instructions: x, model: y }\ndefault_agent: ops\nmcp_servers: { github: { command: [x] } }\n")
}

// toolChoiceProblems are choices that no agent can follow.
func toolChoiceProblems() []problemCase {
	return []problemCase{
		{"choice misspelt", choosing("curent_time"),
			`agents.yaml:6:18: tool_choice: agent ops has no tool called "curent_time"; ` +
				`did you mean "current_time"?`},
		{"choice of a word misspelt", choosing("requird"), `did you mean "required"?`},
		{"choice of nothing known", choosing("zzz"), `agent ops has no tool called "zzz"; ` +
			"known are current_time, transfer_to_billing, auto, required, none"},
		{"choice of a tool that is not allowed", choosing("gh_delete_repo"), `has no tool called "gh_delete_repo"`},
		{"choice of a tool that is blocked", choosing("gh_close_issue"), `has no tool called "gh_close_issue"`},
		{"choice without its prefix", choosing("get_issue"), `has no tool called "get_issue"`},
		{"choice of a handoff that is not there", choosing("transfer_to_ops"), `has no tool called "transfer_to_ops"`},
		{"choice empty", choosing(`""`),
			"agents.yaml:6:18: tool_choice is auto, required, none, or the name of a tool"},
		{"choice as number", choosing("3"), "agents.yaml:6:18: tool_choice is text, not a whole number"},
		{"choice of a variable", choosing("${TOKEN}"), "agents.yaml:6:18: ${…} is not expanded in tool_choice"},
		{"forced without tools", agentWith("    tool_choice: required\n"),
			`agents.yaml:6:18: tool_choice "required" forces a call, and agent ops has no tools`},
		{"kept without a choice", agentWith("    keep_tool_choice: true\n"),
			"agents.yaml:6:23: keep_tool_choice has no meaning without a tool_choice that forces calls"},
		{"kept without force", agentWith("    tool_choice: auto\n    keep_tool_choice: true\n"),
			"agents.yaml:7:23: keep_tool_choice has no meaning"},
		{"stop misspelt", agentWith("    stop_on_first_tol: true\n"), `did you mean "stop_on_first_tool"?`},
	}
}

// TestToolChoice accepts every way to choose that an agent can follow.
func TestToolChoice(t *testing.T) {
	t.Parallel()
	for _, choice := range []string{
		"auto", "required", "none", "current_time", "gh_get_issue", "transfer_to_billing",
	} {
		f, err := parse(t, choosing(choice))
		if err != nil {
			t.Errorf("%s: %v", choice, err)
			continue
		}
		if got := f.Agents[0].Settings.ToolChoice; got != choice {
			t.Errorf("%s became %q", choice, got)
		}
	}
	for _, text := range []string{agentWith("    keep_tool_choice: false\n"), agentWith("    tool_choice: none\n")} {
		if _, err := parse(t, text); err != nil {
			t.Errorf("%v in:\n%s", err, text)
		}
	}
}
