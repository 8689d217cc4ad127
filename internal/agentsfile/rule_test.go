package agentsfile

import "testing"

// ruleProblems are wrong in policies and in the values that their conditions read.
func ruleProblems() []problemCase {
	rule := func(lines string) string {
		return rulesWith("name: money\n    when: args.amount > 1\n    approvers: {users: [U1]}\n" + lines)
	}
	return []problemCase{
		{"policies as mapping", agentWith("policies: {}\n"), "agents.yaml:6:11: policies is a list, not a mapping"},
		{"policy as text", rulesWith("money"), "agents.yaml:7:5: a policy is a mapping, not text"},
		{"policy without a name", rulesWith("{when: x, approvers: {users: [U1]}}"),
			`agents.yaml:7:5: a policy needs "name"`},
		{"policy without a condition", rulesWith("{name: money, approvers: {users: [U1]}}"),
			`agents.yaml:7:5: a policy needs "when"`},
		{"policy with a blank condition", rulesWith("{name: money, when: ' ', approvers: {users: [U1]}}"),
			`agents.yaml:7:5: a policy needs "when"`},
		{"policy without approvers", rulesWith("{name: money, when: x}"),
			`agents.yaml:7:5: a policy needs "approvers"`},
		{"policy name", rulesWith("{name: a b, when: x, approvers: {users: [U1]}}"),
			`agents.yaml:7:12: policy name "a b": use 1 to 64 letters`},
		{"policy called as the default", rulesWith("{name: default_policy, when: x, approvers: {users: [U1]}}"),
			"agents.yaml:7:12: default_policy is what the policy for everything else is called"},
		{"two policies of one name", rulesWith("{name: a, when: x, approvers: {users: [U1]}}",
			"{name: a, when: y, approvers: {users: [U1]}}"),
			`agents.yaml:8:5: there are two policies called "a"; the first is on line 7`},
		{"condition as number", rulesWith("{name: a, when: 3, approvers: {users: [U1]}}"),
			"agents.yaml:7:21: when is text, not a whole number; put it in quotes"},
		{"variable in a condition", rulesWith(`{name: a, when: "args.to == '${TOKEN}'", approvers: {users: [U1]}}`),
			"agents.yaml:7:21: ${…} is not expanded in when"},
		{"unknown key of a policy", rule("    quorom: 2\n"),
			`agents.yaml:10:5: unknown key "quorom" in a policy; did you mean "quorum"?`},
		{"unreachable quorum of a policy", rule("    quorum: 2\n"),
			"agents.yaml:10:13: quorum is 2, but only 1 people"},
		{"reminders too often", rule("    remind_every: 59s\n"), "agents.yaml:10:19: remind_every is at least 1m"},
		{"reminders behind the deadline", rule("    remind_every: 24h\n"),
			"agents.yaml:10:19: remind_every is not shorter than expires_in (24h0m0s): nobody would be reminded"},
		{"nobody breaks the glass", agentWith("break_glass: { notify: C1 }\n"),
			"agents.yaml:6:14: break_glass names nobody"},
		{"channel members break the glass", agentWith("break_glass: { users: [U1], channel_members: true }\n"),
			`unknown key "channel_members" in break_glass`},
		{"break_glass tells a person", agentWith("break_glass: { users: [U1], notify: U1 }\n"),
			`agents.yaml:6:37: notify is the Slack id of a channel, such as C0123456789, not "U1"`},
		{"delegates as list", agentWith("delegates: [U1]\n"), "agents.yaml:6:12: delegates is a mapping, not a list"},
		{"delegate of nobody", agentWith("delegates: { ann: { to: U2, until: 2026-12-31 } }\n"),
			`agents.yaml:6:14: delegates are by the Slack id of the person who is away, ` +
				`such as U0123456789, not "ann"`},
		{"nobody as delegate", agentWith("delegates: { U1: { to: ben, until: 2026-12-31 } }\n"),
			`agents.yaml:6:24: to is the Slack id of a person, such as U0123456789, not "ben"`},
		{"their own delegate", agentWith("delegates: { U1: { to: U1, until: 2026-12-31 } }\n"),
			"agents.yaml:6:24: U1 cannot decide for themselves as their own delegate"},
		{"delegate without an end", agentWith("delegates: { U1: { to: U2 } }\n"), `a delegate needs "until"`},
		{"delegate until an odd day", agentWith("delegates: { U1: { to: U2, until: 2026-02-30 } }\n"),
			`until is the last day, such as 2026-12-31, not "2026-02-30"`},
		{"escalation to nobody", rule("    escalate: { after: 30m }\n"), `agents.yaml:10:15: escalate needs "to"`},
		{"escalation without a time", rule("    escalate: { to: { users: [U1] } }\n"), `escalate needs "after"`},
		{"escalation to an empty set", rule("    escalate: { after: 30m, to: {} }\n"), "escalate.to names nobody"},
		{"escalation behind the deadline",
			rule("    expires_in: 30m\n    escalate: { after: 30m, to: { users: [U1] } }\n"),
			"agents.yaml:11:24: after is not shorter than expires_in (30m0s): nobody else would be asked in time"},
		{"no freeze", rule("    freeze: {}\n"), "agents.yaml:10:13: freeze is a list, not a mapping"},
		{"freeze without an end", rule("    freeze: [{from: 2026-12-24}]\n"),
			`agents.yaml:10:14: an entry of freeze needs "to"`},
		{"freeze of another year", rule("    freeze: [{from: 24.12., to: 2026-12-27}]\n"),
			"agents.yaml:10:21: from is a date, such as 2026-12-24, or an instant"},
		{"freeze without an offset", rule("    freeze: [{from: 2026-12-24, to: 2026-12-27T18:00:00}]\n"),
			"agents.yaml:10:37: to is a date"},
		{"freeze on no day", rule("    freeze: [{from: 2026-02-30, to: 2026-12-27}]\n"),
			"agents.yaml:10:21: from is a date"},
		{"freeze backwards", rule("    freeze: [{from: 2026-12-27, to: 2026-12-26}]\n"),
			"agents.yaml:10:14: this freeze ends before it begins"},
		{"freeze of no time", rule("    freeze: [{from: 2026-12-27T00:00:00Z, to: 2026-12-27T01:00:00+01:00}]\n"),
			"agents.yaml:10:14: this freeze ends before it begins"},
		{"freeze but for nobody", rule("    freeze: [{from: 2026-12-24, to: 2026-12-27, except: {}}]\n"),
			"except names nobody"},
		{"risk", rule("    risk: higher\n"), `agents.yaml:10:11: risk is one of normal, high, not "higher"`},
		{"standing answers at high risk", rule("    risk: high\n    always: {scopes: [run]}\n"),
			"agents.yaml:11:13: `risk: high` allows no standing answers; leave always out"},
		{"notify whom", rule("    notify: { named: all }\n"),
			`agents.yaml:10:22: named is one of auto, dm, mention, none, not "all"`},
		{"notify a person", rule("    notify: { channel: U1 }\n"),
			`agents.yaml:10:24: channel is the Slack id of a channel, such as C0123456789, not "U1"`},
		{"notify with another key", rule("    notify: { chanel: C1 }\n"), "chanel"},
		{"condition of the default policy", policyWith("  approvers: {users: [U1]}\n  when: x\n"),
			`agents.yaml:8:3: unknown key "when" in default_policy`},
		{"vars as list", agentWith("vars: [a]\n"), "agents.yaml:6:7: vars is a mapping, not a list"},
		{"name in vars", agentWith("vars: {1a: x}\n"), `agents.yaml:6:8: "1a" is no name in vars`},
		{"unreadable name in vars", agentWith("vars: {in: x}\n"), "agents.yaml:6:8: no expression could read vars.in"},
		{"list in vars", agentWith("vars: {a: [x]}\n"),
			"agents.yaml:6:11: vars.a is text, a number, or true or false, not a list"},
		{"nothing in vars", agentWith("vars:\n  a:\n"), "vars.a is text, a number, or true or false, not nothing"},
		{"large number in vars", agentWith("vars: {a: 9223372036854775808}\n"),
			"agents.yaml:6:11: vars.a is too large for a whole number"},
		{"variable in vars that is not set", agentWith("vars: {a: \"${TOKEN} ${ABSENT}\"}\n"),
			"agents.yaml:6:11: environment variable ABSENT is not set"},
	}
}

// TestConditionPosition maps places in the condition of a policy to the file.
func TestConditionPosition(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, when, at string
		line, column   int
	}{
		{"plain", `tool == "pay" && args.amout > 1`, "agents.yaml:7:36", 1, 22},
		{"plain over two lines", "tool == 'pay' &&\n      args.amout > 1", "agents.yaml:7:15", 1, 22},
		{"single quotes", `'tool == "pay" && args.amout > 1'`, "agents.yaml:7:37", 1, 22},
		{"double quotes", `"tool == 'pay' && args.amout > 1"`, "agents.yaml:7:37", 1, 22},
		{"escapes", `"tool == \"pay\" && args.amout > 1"`, "agents.yaml:7:15", 1, 22},
		{"escapes without a trace", `"tool == '\x70ay' && args.amout > 1"`, "agents.yaml:7:15", 1, 22},
		{"quotes over two lines", "\"tool == 'pay' &&\n      args.amout > 1\"", "agents.yaml:7:15", 1, 22},
		{"truth", "true", "agents.yaml:7:15", 1, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f, err := parse(t, rulesWith("when:     "+c.when+"\n    name: a\n    approvers: {users: [U1]}"))
			if err != nil {
				t.Fatal(err)
			}
			if got := f.Policies[0].When.At(c.line, c.column).String(); got != c.at {
				t.Errorf("position %s, want %s", got, c.at)
			}
		})
	}
}
