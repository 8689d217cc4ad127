package agentsfile

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// agentWith is a file with one agent that has the further lines, indented by four spaces from line 6 on.
func agentWith(lines string) string {
	return "version: 1\nagents:\n  ops:\n    instructions: Help.\n    model: gpt-5.2\n" + lines
}

// toolWith is a file with one http tool that has the further lines, indented by eight spaces from line 10 on.
func toolWith(lines string) string {
	return agentWith("    tools:\n      - type: http\n        name: pay\n        description: Pay.\n" + lines)
}

func policyWith(lines string) string { return agentWith("default_policy:\n" + lines) }

// rulesWith is a file with these policies, in line 7, from column 5 on.
func rulesWith(policies ...string) string {
	return agentWith("policies:\n  - " + strings.Join(policies, "\n  - ") + "\n")
}

// problemCase is a wrong file and what is said about it.
type problemCase struct{ name, text, want string }

// TestProblems says of every wrong file where it is wrong and what to do.
func TestProblems(t *testing.T) {
	t.Parallel()
	for _, c := range slices.Concat(
		formProblems(), fileProblems(), agentProblems(), toolProblems(), serverProblems(), httpProblems(),
		policyProblems(), ruleProblems(), toolChoiceProblems(), guardrailProblems(), conversationProblems(),
	) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f, err := parse(t, c.text)
			if err == nil {
				t.Fatalf("accepted: %+v", f)
			}
			if _, ok := errors.AsType[Problems](err); !ok {
				t.Errorf("error is %T", err)
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("want %q in:\n%v", c.want, err)
			}
			if strings.Contains(err.Error(), secret) {
				t.Errorf("a value of the environment is shown:\n%v", err)
			}
		})
	}
}

// formProblems are wrong as YAML.
func formProblems() []problemCase {
	return []problemCase{
		{"empty", "", "agents.yaml:1:1: the file is empty"},
		{"only a comment", "# nothing\n", "agents.yaml:1:1: the file is empty"},
		{"a list", "- 1\n", "agents.yaml:1:1: the agents file is a mapping, not a list"},
		{"syntax", "version: 1\nagents: [a, b\nlimits: 2\n", "agents.yaml:3:1: not valid YAML"},
		{"unclosed quote", "version: 1\nagents: \"x\n", "agents.yaml:2:9: not valid YAML"},
		{"two documents", "version: 1\n---\nversion: 1\n", "agents.yaml:3:8: a second document starts here"},
		{"tab", "version: 1\nagents:\n\tops: {}\n", "agents.yaml:3:1: the line is indented with a tab"},
		{"encoding", "version: 1\nagents: \xff\n", "agents.yaml:2:1: the line is not valid UTF-8"},
		{"control character", "version: 1\nagents: \x00\n", "agents.yaml:2:1: the line holds a control character"},
		{"deep", "version: 1\nagents: " + strings.Repeat("[", 80) + strings.Repeat("]", 80),
			"nested deeper than 64 levels"},
		{"large", strings.Repeat("#", 1<<20+1), "agents.yaml: the file is larger than 1 MiB"},
		{"anchor", agentWith("    tools: &t []\n"), "agents.yaml:6:12: anchors and aliases are not supported"},
		{"alias", agentWith("    tools: *t\n"), "agents.yaml:6:12: anchors and aliases are not supported"},
		{"merge key", agentWith("    <<: {max_turns: 1}\n"), "agents.yaml:6:5: merge keys (<<) are not supported"},
		{"tag", agentWith("    max_turns: !!int 3\n"), "agents.yaml:6:16: tags are not supported; leave !!int away"},
		{"duplicate key", agentWith("    model: other\n"),
			`agents.yaml:6:5: key "model" is there twice; the first is on line 5`},
		{"number as key", "version: 1\n1: x\n", "agents.yaml:2:1: keys are text; put 1 in quotes"},
	}
}

// fileProblems are wrong at the top.
func fileProblems() []problemCase {
	return []problemCase{
		{"version in quotes", "version: \"1\"\nagents: {a: {instructions: x, model: y}}\n",
			"agents.yaml:1:10: version is the number 1, not text: write `version: 1`"},
		{"version of nothing", "version: {}\nagents: {a: {instructions: x, model: y}}\n",
			"agents.yaml:1:10: version is the number 1, not a mapping: write `version: 1`"},
		{"no version", "agents: {a: {instructions: x, model: y}}\n", "agents.yaml:1:1: the file needs `version: 1`"},
		{"later version", "version: 2\n", "agents.yaml:1:10: version 2 is not supported"},
		{"unknown key", "version: 1\nagnets: {}\n",
			`agents.yaml:2:1: unknown key "agnets" in the agents file; did you mean "agents"?`},
		{"hopeless key", "version: 1\nfoo: {}\n",
			`agents.yaml:2:1: unknown key "foo" in the agents file; known are version, default_agent`},
		{"no agents", "version: 1\n", "agents.yaml:1:1: the file needs at least one agent"},
		{"agents empty", "version: 1\nagents: {}\n", "agents.yaml:1:1: the file needs at least one agent"},
		{"agents as list", "version: 1\nagents: []\n", "agents.yaml:2:9: agents is a mapping, not a list"},
		{"no value", "version: 1\nagents:\n", "agents.yaml:2:1: agents has no value"},
		{"which agent", "version: 1\nagents: {a: {instructions: x, model: y}, b: {instructions: x, model: y}}\n",
			"agents.yaml:1:1: the file has several agents and needs `default_agent`"},
		{"unknown default agent", agentWith("default_agent: opps\n"),
			`agents.yaml:6:16: no agent is called "opps"; did you mean "ops"?`},
		{"channel name", agentWith("channels: {general: ops}\n"), "agents.yaml:6:12: channels are named by their id"},
		{"channel agent", agentWith("channels: {C123: zzz}\n"), `agents.yaml:6:18: no agent is called "zzz"`},
		{"limit of zero", agentWith("limits: {runs_per_person: 0}\n"),
			"agents.yaml:6:27: runs_per_person is between 1 and 1000000"},
		{"limit as text", agentWith("limits: {runs_per_person: many}\n"),
			"agents.yaml:6:27: runs_per_person is a whole number, not text"},
		{"requesters nobody", agentWith("requesters: {channel_members: false}\n"),
			"agents.yaml:6:13: requesters names nobody"},
	}
}

// agentProblems are wrong in an agent.
func agentProblems() []problemCase {
	return []problemCase{
		{"agent name", "version: 1\nagents: {\"a b\": {instructions: x, model: y}}\n",
			`agents.yaml:2:10: agent name "a b"`},
		{"no model", "version: 1\nagents: {a: {instructions: x}}\n", `agents.yaml:2:10: agent a needs "model"`},
		{"blank instructions", "version: 1\nagents: {a: {instructions: \" \", model: y}}\n",
			`agents.yaml:2:10: agent a needs "instructions"`},
		{"unknown api", agentWith("    api: rest\n"),
			`agents.yaml:6:10: api is one of responses, chat_completions, not "rest"`},
		{"turns", agentWith("    max_turns: 1.5\n"), "agents.yaml:6:16: max_turns is a whole number, not a number"},
		{"history", agentWith("    history_tokens: 999\n"),
			"agents.yaml:6:21: history_tokens is between 1000 and 10000000"},
		{"history in words", agentWith("    history_tokens: many\n"),
			"agents.yaml:6:21: history_tokens is a whole number, not"},
		{"history misspelt", agentWith("    history_token: 1000\n"), "did you mean \"history_tokens\"?"},
		{"huge number", agentWith("    max_turns: 99999999999999999999\n"), "agents.yaml:6:16: max_turns is"},
		{"temperature", agentWith("    temperature: 3\n"), "agents.yaml:6:18: temperature is between 0 and 2"},
		{"handoff to nobody", agentWith("    handoffs: [opps]\n"),
			`agents.yaml:6:16: no agent is called "opps"; did you mean "ops"?`},
		{"handoff to itself", agentWith("    handoffs: [ops]\n"),
			"agents.yaml:6:16: agent ops cannot hand over to itself"},
		{"handoff twice",
			agentWith("    handoffs: [b, b]\n") + "  b: {instructions: x, model: y}\ndefault_agent: ops\n",
			`agents.yaml:6:19: handoffs: "b" is there twice`},
		{"handoff as number", agentWith("    handoffs: [3]\n"),
			"agents.yaml:6:16: an entry of handoffs is text, not a whole number"},
		{"missing variable",
			agentWith("    max_turns: 3\n") + "channels: {C1: ops}\nrequesters: {users: [\"${WHO}\"]}\n",
			"agents.yaml:8:22: environment variable WHO is not set"},
		{"empty variable", "version: 1\nagents: {a: {instructions: \"${EMPTY}\", model: y}}\n",
			"agents.yaml:2:28: environment variable EMPTY is not set, or empty"},
		{"open variable", "version: 1\nagents: {a: {instructions: \"${TOKEN\", model: y}}\n",
			"agents.yaml:2:28: ${ starts the name of an environment variable"},
		{"odd variable", "version: 1\nagents: {a: {instructions: \"${TOK-EN}\", model: y}}\n",
			"agents.yaml:2:28: ${ starts the name of an environment variable"},
	}
}

// toolProblems are wrong in a tool.
func toolProblems() []problemCase {
	return []problemCase{
		{"tool as text", agentWith("    tools: [pay]\n"), "agents.yaml:6:13: a tool is a mapping, not text"},
		{"no type", agentWith("    tools: [{name: pay}]\n"),
			"agents.yaml:6:13: a tool needs `type`: function or http or shell"},
		{"unknown type", agentWith("    tools: [{type: htpp}]\n"),
			`agents.yaml:6:20: type is one of function, http, shell, apply_patch, mcp, hosted_mcp, agent, ` +
				`web_search, external, ask, not "htpp"`},
		{"shell without workdir", agentWith("    tools: [{type: shell}]\n"),
			`agents.yaml:6:13: a shell tool needs "workdir"`},
		{"relative workdir", agentWith("    tools: [{type: shell, workdir: repo}]\n"),
			`agents.yaml:6:36: workdir is an absolute path, not "repo"`},
		{"relative shell", agentWith("    tools: [{type: shell, workdir: /srv, shell: bash}]\n"),
			`shell is the absolute path of a program such as /bin/sh, not "bash"`},
		{"variable name", agentWith("    tools: [{type: shell, workdir: /srv, env: {A-B: x}}]\n"),
			`"A-B" is no name of an environment variable`},
		{"small output", agentWith("    tools: [{type: shell, workdir: /srv, max_output: 10}]\n"),
			"max_output is between 256 and 1048576"},
		{"patch without root", agentWith("    tools: [{type: apply_patch}]\n"),
			`agents.yaml:6:13: an apply_patch tool needs "root"`},
		{"bad pattern of paths", agentWith("    tools: [{type: apply_patch, root: /srv, allow: [\"[\"]}]\n"),
			`allow: "[" is no pattern of paths`},
		{"unknown agent", agentWith("    tools: [{type: agent, agent: finanse, description: x}]\n"),
			`agents.yaml:6:34: no agent is called "finanse"`},
		{"gated search", agentWith("    tools: [{type: web_search, needs_approval: true}]\n"),
			"needs_approval is not supported by this version"},
		{"external with url", agentWith("    tools: [{type: external, name: x, description: y, url: z}]\n"),
			`unknown key "url" in an external tool`},
		{"audit of nothing",
			agentWith("    tools: [{type: function, name: x, needs_approval: false, approval: audit}]\n"),
			"`approval: audit` records what needs_approval says yes to, and it says false"},
		{"function with url", agentWith("    tools: [{type: function, name: x, url: y}]\n"),
			`agents.yaml:6:39: unknown key "url" in a function tool`},
		{"two tools", agentWith("    tools: [{type: function, name: x}, {type: function, name: x}]\n"),
			`agents.yaml:6:40: the agent has two tools called "x"`},
		{"tool name", agentWith("    tools: [{type: function, name: \"x y\"}]\n"), `agents.yaml:6:36: tool name "x y"`},
	}
}

// serverProblems are wrong in an MCP server, or in a tool that names one.
func serverProblems() []problemCase {
	return []problemCase{
		{"no such server", agentWith("    tools: [{type: mcp, server: github}]\n"),
			"no MCP server is called \"github\"; declare it under `mcp_servers`"},
		{"nearly a server",
			agentWith("    tools: [{type: mcp, server: githb}]\nmcp_servers: {github: {url: \"https://h/\"}}\n"),
			`no MCP server is called "githb"; did you mean "github"?`},
		{"server twice", agentWith(
			"    tools: [{type: mcp, server: g}, {type: mcp, server: g}]\nmcp_servers: {g: {url: \"https://h/\"}}\n"),
			`the agent has the MCP server "g" twice`},
		{"two ways to a server", agentWith("mcp_servers: {g: {url: \"https://h/\", command: [x]}}\n"),
			"MCP server g needs exactly one of command, url and sse"},
		{"command as text", agentWith("mcp_servers: {g: {command: x}}\n"), "command is a list, not text"},
		{"no command", agentWith("mcp_servers: {g: {command: []}}\n"),
			"command is a list: the program and its arguments"},
		{"headers of a command", agentWith("mcp_servers: {g: {command: [x], headers: {A: b}}}\n"),
			"headers have no meaning for a command; use env"},
		{"env of a url", agentWith("mcp_servers: {g: {url: \"https://h/\", env: {A: b}}}\n"),
			"env and dir have no meaning without a command"},
		{"hosted without url", agentWith("    tools: [{type: hosted_mcp, server_label: a}]\n"),
			`a hosted_mcp tool needs "server_url"`},
	}
}

// httpProblems are wrong in a tool that calls a URL.
func httpProblems() []problemCase {
	call := "        method: POST\n        url: https://example.com/\n"
	return []problemCase{
		{"no method", toolWith("        url: https://example.com/\n"), `an http tool needs "method"`},
		{"method", toolWith("        method: post\n        url: https://example.com/\n"),
			`agents.yaml:10:17: method is one of GET, HEAD, POST, PUT, PATCH, DELETE, not "post"`},
		{"relative url", toolWith("        method: GET\n        url: /x\n"),
			`agents.yaml:11:14: url "/x" does not start with http:// or https://`},
		{"url with password", toolWith("        method: GET\n        url: https://u:${TOKEN}@h/\n"),
			`agents.yaml:11:14: url "https://u:${TOKEN}@h/" holds a user`},
		{"own header", toolWith(call + "        headers: {idempotency-key: x}\n"),
			"agents.yaml:12:19: header idempotency-key is set by the program"},
		{"header twice", toolWith(call + "        headers: {X-A: x, x-a: y}\n"),
			"agents.yaml:12:27: header x-a is there twice"},
		{"header number", toolWith(call + "        headers: {X-A: 3}\n"),
			"agents.yaml:12:24: header X-A is text, not a whole number; put it in quotes"},
		{"version number", toolWith(call + "        version: 3\n"),
			"agents.yaml:12:18: version is text, not a whole number; put it in quotes"},
		{"gate", toolWith(call + "        needs_approval: [x]\n"),
			"agents.yaml:12:25: needs_approval is true, false, or an expression"},
		{"gate with variable", toolWith(call + "        needs_approval: args.to != \"${TOKEN}\"\n"),
			"agents.yaml:12:25: ${…} is not expanded in needs_approval"},
		{"description with variable",
			agentWith("    tools:\n      - type: http\n        name: pay\n        description: Pay ${TOKEN}.\n" + call),
			"agents.yaml:9:22: ${…} is not expanded in description"},
		{"approval mode", toolWith(call + "        approval: later\n"),
			`agents.yaml:12:19: approval is one of required, audit, not "later"`},
		{"secret of no list", toolWith(call + "        secret: memo\n"), "agents.yaml:12:17: secret"},
		{"secret of nothing", toolWith(call + "        secret: []\n"),
			"agents.yaml:12:17: secret is a list of names of arguments such as [memo]"},
		{"secret twice", toolWith(call + "        secret: [to, to]\n"),
			`agents.yaml:12:22: secret: "to" is there twice`},
		{"secret of no name", toolWith(call + "        secret: [7]\n"), "agents.yaml:12:18:"},
		{"secret of a shell", agentWith("    tools:\n      - {type: shell, workdir: /srv, secret: [script]}\n"),
			"a shell tool cannot have secret: people approve what it does only if they see it"},
		{"secret of a patch", agentWith("    tools:\n      - {type: apply_patch, root: /srv, secret: [patch]}\n"),
			"an apply_patch tool cannot have secret: people approve what it does only if they see it"},
		{"secret of a hosted server",
			agentWith("    tools:\n      - {type: hosted_mcp, server_label: w, " +
				"server_url: \"https://w.example/\", secret: [token]}\n"),
			"a hosted_mcp tool cannot have secret: nobody knows before a call what the provider's tools take"},
		{"secret of an agent",
			agentWith("    tools:\n      - {type: agent, agent: ops, name: ask, description: Ask., secret: [input]}\n"),
			"an agent tool cannot have secret: its argument is what one agent tells another"},
		{"secret of a question",
			agentWith("    tools:\n      - {type: ask, name: ask, description: Ask., secret: [question]}\n"),
			"an ask tool cannot have secret: people cannot answer what they are not shown"},
		{"user input of no list", toolWith(call + "        requires_user_input: date\n"),
			"agents.yaml:12:30: requires_user_input is true for every part of the arguments, or a list of their names"},
		{"user input of nothing", toolWith(call + "        requires_user_input: []\n"),
			"agents.yaml:12:30: requires_user_input is true for every part of the arguments"},
		{"user input twice", toolWith(call + "        requires_user_input: [to, to]\n"),
			`agents.yaml:12:35: requires_user_input: "to" is there twice`},
		{"user input of a hosted server",
			agentWith("    tools:\n      - {type: hosted_mcp, server_label: w, " +
				"server_url: \"https://w.example/\", requires_user_input: true}\n"),
			"a hosted_mcp tool cannot have requires_user_input: " +
				"the provider carries its calls out as the model writes them"},
		{"user input of an agent",
			agentWith("    tools:\n      - {type: agent, agent: ops, name: ask, description: Ask., " +
				"requires_user_input: true}\n"),
			"an agent tool cannot have requires_user_input: its argument is what one agent tells another"},
		{"a gated question",
			agentWith("    tools:\n      - {type: ask, name: ask, description: Ask., needs_approval: true}\n"),
			"an ask tool cannot have needs_approval: it is a question to people already"},
		{"an audited question",
			agentWith("    tools:\n      - {type: ask, name: ask, description: Ask., approval: audit}\n"),
			"an ask tool cannot have approval: it is a question to people already"},
		{"user input of a question",
			agentWith("    tools:\n      - {type: ask, name: ask, description: Ask., requires_user_input: true}\n"),
			"an ask tool cannot have requires_user_input: people answer its question"},
		{"parameters of a question",
			agentWith("    tools:\n      - {type: ask, name: ask, description: Ask., parameters: {type: object}}\n"),
			"an ask tool cannot have parameters: it takes question, options and several"},
		{"trigger of a question",
			agentWith("    tools:\n      - {type: ask, name: ask, description: Ask., " +
				"trigger: {url: \"https://x.example/\"}}\n"),
			"an ask tool cannot have trigger: nothing is carried out"},
		{"guardrails of a question",
			agentWith("    tools:\n      - {type: ask, name: ask, description: Ask., guardrails: []}\n"),
			"guardrails is not supported by this version"},
		{"a question without a description", agentWith("    tools:\n      - {type: ask, name: ask}\n"),
			`an ask tool needs "description"`},
		{"timeout without unit", toolWith(call + "        timeout: 30\n"),
			"agents.yaml:12:18: timeout is a duration with its unit"},
		{"negative timeout", toolWith(call + "        timeout: -3s\n"),
			"agents.yaml:12:18: timeout: \"-3s\" is not between 0 and 10 years"},
		{"parameters of a list", toolWith(call + "        parameters: {type: array}\n"),
			"agents.yaml:12:21: parameters are the schema of an object"},
		{"wrong schema", toolWith(call + "        parameters: {type: object, properties: 3}\n"),
			"agents.yaml:12:21: parameters are no usable JSON Schema: schema at /properties: must be an object, " +
				"not a number"},
		{"bad pattern",
			toolWith(call + "        parameters: {type: object, properties: {a: {type: string, pattern: '('}}}\n"),
			"agents.yaml:12:21: parameters are no usable JSON Schema"},
		{"schema keyword", toolWith(call + "        parameters: {type: object, properties: {n: {minimun: 1}}}\n"),
			"agents.yaml:12:21: parameters are no usable JSON Schema: schema at /properties/n: " +
				`unknown keyword "minimun"; the nearest is "minimum"`},
		{"required unknown", toolWith(call + "        parameters: {type: object, required: [a]}\n"),
			`agents.yaml:12:21: parameters require "a"`},
		{"infinite schema", toolWith(call + "        parameters: {type: object, maximum: .inf}\n"),
			"agents.yaml:12:45: .inf cannot be used here"},
		{"addresses", toolWith(call + "        allow_addresses: [10.0.0.1]\n"),
			`agents.yaml:12:27: "10.0.0.1" is no range of addresses`},
	}
}

// policyProblems are wrong in the policy.
func policyProblems() []problemCase {
	return []problemCase{
		{"no approvers", policyWith("  quorum: 1\n"), `agents.yaml:7:3: default_policy needs "approvers"`},
		{"empty approvers", policyWith("  approvers: {users: []}\n"), "agents.yaml:7:14: approvers names nobody"},
		{"user by name", policyWith("  approvers: {users: [\"@ann\"]}\n"),
			"agents.yaml:7:23: users are named by their Slack id"},
		{"user twice", policyWith("  approvers: {users: [U1, U1]}\n"), "agents.yaml:7:27: U1 is there twice"},
		{"quorum of zero", policyWith("  approvers: {users: [U1]}\n  quorum: 0\n"),
			"agents.yaml:8:11: quorum is between 1 and 100"},
		{"a tie nobody breaks", policyWith("  approvers: {users: [U1, U2]}\n  quorum: 2\n  deny_quorum: 2\n"),
			"agents.yaml:9:16: quorum 2 and deny_quorum 2 of 2 people can end in a tie that nobody can break; " +
				"together they may be 3"},
		{"quorum out of reach", policyWith("  approvers: {users: [U1]}\n  quorum: 2\n"),
			"agents.yaml:8:11: quorum is 2, but only 1 people may decide"},
		{"yes", policyWith("  approvers: {users: [U1]}\n  self_approval: yes\n"),
			"agents.yaml:8:18: self_approval is true or false, not text"},
		{"unknown scope", policyWith("  approvers: {users: [U1]}\n  always: {scopes: [tread]}\n"),
			"agents.yaml:8:21: scopes is one of run, thread, channel, workspace, not \"tread\""},
		{"no time", policyWith("  approvers: {users: [U1]}\n  always: {max_ttl: 500ms}\n"),
			"agents.yaml:8:21: max_ttl is at least 1s; to allow no such answers, write scopes: []"},
		{"how many times", policyWith("  approvers: {users: [U1]}\n  always: {max_uses: 5}\n"),
			"agents.yaml:8:12: max_uses is not supported by this version"},
		{"all_of without sets", policyWith("  approvers: {all_of: []}\n"),
			"agents.yaml:7:23: all_of has between 2 and 100 sets"},
		{"all_of with one set", policyWith("  all_of: [{groups: [S1]}]\n"),
			"agents.yaml:7:11: all_of has between 2 and 100 sets"},
		{"all_of and approvers", policyWith("  approvers: {users: [U1]}\n  all_of: [{groups: [S1]}, {groups: [S2]}]\n"),
			"agents.yaml:8:11: all_of says who must agree, and approvers says it too"},
		{"all_of and a quorum", policyWith("  all_of: [{groups: [S1]}, {groups: [S2]}]\n  quorum: 2\n"),
			"agents.yaml:8:11: all_of asks for one person of each set; quorum does not go with it"},
		{"all_of beside others", policyWith("  approvers: {users: [U1], all_of: [{groups: [S1]}, {groups: [S2]}]}\n"),
			"agents.yaml:7:14: approvers has all_of and other people beside it"},
		{"nobody in a set", policyWith("  all_of: [{groups: [S1]}, {groups: []}]\n"),
			"agents.yaml:7:28: an entry of all_of names nobody"},
		{"one person for two sets", policyWith("  all_of: [{users: [U1]}, {users: [U1]}]\n"),
			"agents.yaml:7:27: nobody is left for this set of all_of"},
		{"two people for three sets", policyWith("  all_of: [{users: [U1, U2]}, {users: [U1]}, {users: [U2]}]\n"),
			"agents.yaml:7:46: nobody is left for this set of all_of"},
		{"misspelled", policyWith("  aprovers: {users: [U1]}\n"),
			`unknown key "aprovers" in default_policy; did you mean "approvers"?`},
	}
}

// TestControls accepts the frames that TestProblems puts its mistakes into.
func TestControls(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		agentWith(""),
		"\uFEFF" + agentWith(""),
		strings.ReplaceAll(agentWith(""), "\n", "\r\n"),
		toolWith("        method: POST\n        url: https://example.com/\n"),
		policyWith("  approvers: {users: [U1]}\n"),
		policyWith("  all_of: [{groups: [S1]}, {groups: [S2]}]\n"),
		policyWith("  all_of: [{users: [U1, U2]}, {users: [U1]}]\n"), // who is in both leaves the other's place
		policyWith("  all_of: [{users: [U1]}, {users: [U1], groups: [S1]}]\n"),
		policyWith("  all_of: [{groups: [S1]}, {groups: [S1]}]\n"), // two of the group
		policyWith("  approvers: {all_of: [{groups: [S1]}, {users: [U1], channel_members: true}]}\n"),
	} {
		if _, err := parse(t, text); err != nil {
			t.Errorf("%v in:\n%s", err, text)
		}
	}
}

// TestAllProblemsAtOnce reports every problem, in the order of the file.
func TestAllProblemsAtOnce(t *testing.T) {
	t.Parallel()
	_, err := parse(t, agentWith("    max_turns: no\n    api: rest\ndefault_policy: {quorum: 0}\nfoo: 1\n"))
	problems, ok := errors.AsType[Problems](err)
	if !ok || len(problems) != 5 {
		t.Fatalf("want 5 problems, have: %v", err)
	}
	for i := 1; i < len(problems); i++ {
		if problems[i].Line < problems[i-1].Line {
			t.Errorf("not in order:\n%v", err)
		}
	}
}

// TestOneProblemForOneMistake says what is wrong, and not also what follows from it.
func TestOneProblemForOneMistake(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{agentWith("    tools: [{type: agent, agent: 5, description: x}]\n"),
			"agents.yaml:6:34: agent is text, not a whole number; put it in quotes"},
		{agentWith("    tools: [{type: agent, description: x}]\n"),
			`agents.yaml:6:13: an agent tool needs "agent"`},
		{agentWith("    tools: [{type: apply_patch, root: /srv, allow: [\"\"]}]\n"),
			"agents.yaml:6:53: an entry of allow is empty"},
		{agentWith("    handoffs: [\"\"]\n"), "agents.yaml:6:16: an entry of handoffs is empty"},
		{agentWith("mcp_servers: {g: {command: x}}\n"), "agents.yaml:6:28: command is a list, not text"},
		{agentWith("mcp_servers: {g: {command: [3]}}\n"),
			"agents.yaml:6:29: an entry of command is text, not a whole number; put it in quotes"},
		{agentWith("    tools: [{type: function, needs_approval: true}]\n"),
			`agents.yaml:6:13: a function tool needs "name"`},
		{agentWith("    tools: [{type: external, description: x}]\n"),
			`agents.yaml:6:13: an external tool needs "name"`},
		{agentWith("    tools: [{type: http, description: x, method: GET, url: \"https://h/\"}]\n"),
			`agents.yaml:6:13: an http tool needs "name"`},
	} {
		have := ""
		if _, err := parse(t, c.text); err != nil {
			have = err.Error()
		}
		if have != c.want {
			t.Errorf("want %q, have %q in:\n%s", c.want, have, c.text)
		}
	}
}

// TestExpressionPosition maps places in an expression to the file.
func TestExpressionPosition(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, gate, at string
		line, column   int
	}{
		{"plain", "args.amount > 100", "agents.yaml:12:30", 1, 6},
		{"quoted", `"args.amount > 100"`, "agents.yaml:12:31", 1, 6},
		{"escapes", `"args.to == \"x\""`, "agents.yaml:12:25", 1, 6},
		{"block", "|\n          args.amount > 100 &&\n            args.to == 'x'", "agents.yaml:14:13", 2, 3},
		{"folded", ">\n          args.amount > 100 &&\n          args.to == 'x'", "agents.yaml:12:25", 1, 30},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f, err := parse(t, toolWith("        method: POST\n        url: https://example.com/\n"+
				"        needs_approval: "+c.gate+"\n"))
			if err != nil {
				t.Fatal(err)
			}
			if got := f.Agents[0].Tools[0].Gate.At(c.line, c.column).String(); got != c.at {
				t.Errorf("position %s, want %s", got, c.at)
			}
		})
	}
}

// TestMissingVariables says of each variable that is not set that alone: what its value would have to be is not known
// yet, and is said of one that is set.
func TestMissingVariables(t *testing.T) {
	t.Parallel()
	_, err := parse(t, toolWith("        method: POST\n        url: \"${URL_A}/${URL_B}\"\n        timeout: soon\n")+
		"requesters: {users: [\"${WHO}\", ann]}\ndefault_policy: {approvers: {groups: [\"${GROUP}\"]}}\n")
	var problems Problems
	if !errors.As(err, &problems) {
		t.Fatal(err)
	}
	want := []string{"variable URL_A is not set", "variable URL_B is not set", "timeout", "variable WHO is not set",
		`not "ann"`, "variable GROUP is not set"}
	if len(problems) != len(want) {
		t.Fatalf("%d problems, want %d:\n%v", len(problems), len(want), err)
	}
	for i, p := range problems {
		if !strings.Contains(p.Error(), want[i]) {
			t.Errorf("problem %d is %q, want %q", i, p, want[i])
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(agentWith(""))
	f.Add(toolWith("        method: POST\n        url: https://example.com/\n"))
	f.Add(policyWith("  approvers: {users: [U1]}\n"))
	f.Add("a: [[{b: &c *d}]]")
	f.Fuzz(func(t *testing.T, text string) {
		file, err := Parse("agents.yaml", []byte(text), env)
		if (file == nil) == (err == nil) {
			t.Fatalf("file %v, error %v", file, err)
		}
		if err != nil && strings.Contains(err.Error(), secret) {
			t.Fatal("a value of the environment is shown")
		}
	})
}
