package policycheck

import (
	"fmt"
	"strings"
	"testing"

	"countersign/internal/agentsfile"
)

// try runs cases, one a line in flow style, against the agents file of the tests.
func try(t *testing.T, cases ...string) ([]Result, error) {
	t.Helper()
	text := "version: 1\ncases:\n"
	for i, c := range cases {
		text += fmt.Sprintf("  - { name: c%d, %s }\n", i, c)
	}
	parsed, err := agentsfile.ParseCases("cases.yaml", []byte(text), environment)
	if err != nil {
		t.Fatal(err)
	}
	return RunCases(t.Context(), parsed, parse(t, fmt.Sprintf(agentsYAML, "args.amount > 100", policies)), build)
}

const small, large = `tool: pay, arguments: { amount: 5, to: x }`, `tool: pay, arguments: { amount: 2000, to: x }`

// TestCasesPass states everything that holds.
func TestCasesPass(t *testing.T) {
	t.Parallel()
	const middle = `tool: pay, arguments: { amount: 500, to: x }`
	results, err := try(t,
		small+`, expect: { asked: false }`,
		small+`, expect: { asked: false, recorded: false }`,
		large+`, expect: { asked: true }`,
		large+`, expect: { policy: large, quorum: 2, approvers: { groups: [S1] }, deny_quorum: 1, `+
			`self_approval: false, expires_in: 24h, valid_for: 1h, on_expiry: reject, `+
			`always: { scopes: [run] }, possible: true }`,
		middle+`, expect: { policy: default_policy, quorum: 1, approvers: { channel_members: true } }`,
		middle+`, vars: { limit: 400 }, expect: { policy: large }`,
		middle+`, channel: D1, requester: U0BEN, expect: { policy: default_policy, possible: true }`,
		`tool: pay, arguments: { amount: 500, to: self }, requester: U0BEN, expect: { policy: alone, possible: true }`,
		`tool: pay, arguments: { amount: 500, to: self }, requester: U0ANN, expect: { policy: alone, possible: false }`,
		`tool: noted, expect: { recorded: true }`,
		`tool: noted, expect: { asked: false }`,
		`tool: look, expect: { asked: false, recorded: false }`,
	)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if !r.Passed {
			t.Errorf("%+v", r)
		}
	}
	if got := Summary(results); got != "12 cases, all as expected" {
		t.Error(got)
	}
}

// TestCasesFail says of each thing what was expected and what came.
func TestCasesFail(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{small + `, expect: { asked: true }`, "the call: people are asked, got runs without asking"},
		{small + `, expect: { policy: large }`, "the call: people are asked, got runs without asking"},
		{large + `, expect: { asked: false }`, "the call: runs without asking, got people are asked"},
		{large + `, expect: { policy: alone }`, "policy: alone, got large"},
		{large + `, expect: { quorum: 1 }`, "quorum: 1 person, got 2 people"},
		{large + `, expect: { approvers: { groups: [S2], users: [U1] } }`, "approvers: U1, group S2, got group S1"},
		{large + `, expect: { all_of: [{groups: [S1]}, {groups: [S2]}] }`,
			"all_of: group S1; group S2, got group S1; group S1"},
		{large + `, expect: { deny_quorum: 2 }`, "deny_quorum: 2 people, got 1 person"},
		{large + `, expect: { self_approval: true }`, "self_approval: yes, got no"},
		{large + `, expect: { expires_in: 86401s }`, "expires_in: 24h0m1s, got 24h"},
		{large + `, expect: { valid_for: 61m }`, "valid_for: 1h1m, got 1h"},
		{large + `, expect: { on_expiry: keep }`, "on_expiry: keep, got reject"},
		{large + `, expect: { always: { scopes: [] } }`, "always: no scope, got run"},
		{large + `, expect: { risk: high }`, "risk: high, got normal"},
		{large + `, expect: { always: { max_ttl: 2h } }`, "max_ttl: 2h, got 24h"},
		{large + `, expect: { possible: false }`, "can be met: no, got yes"},
		{`tool: noted, expect: { asked: true }`,
			"the call: people are asked, got runs without asking, and is recorded for review"},
		{`tool: pay, arguments: { amount: much, to: x }, expect: { asked: true }`,
			"got is refused: the arguments do not fit the tool's schema"},
		{large + `, agent: opps, expect: { asked: true }`, "got there is no such tool"},
		{`tool: search, expect: { asked: true }`, "got not known without the MCP server"},
	} {
		results, err := try(t, c.text)
		if err != nil {
			t.Fatal(err)
		}
		d := results[0].Differences
		if results[0].Passed || len(d) != 1 {
			t.Errorf("%s: %+v", c.text, results[0])
			continue
		}
		if got := fmt.Sprintf("%s: %s, got %s", d[0].What, d[0].Expected, d[0].Got); !strings.Contains(got, c.want) {
			t.Errorf("%s: %s", c.text, got)
		}
	}
}

// TestCasesNote says what is behind a surprise.
func TestCasesNote(t *testing.T) {
	t.Parallel()
	const gone, alone = `, agent: opps, expect: { asked: true }`,
		`tool: pay, arguments: { amount: 500, to: self }, requester: U0ANN, expect: { policy: large }`
	for text, want := range map[string]string{
		large + gone: `no agent called "opps"; did you mean "ops"?`,
		alone:        "too few people",
		`tool: pay, arguments: { to: x }, expect: { asked: true }`: "amount",
	} {
		results, err := try(t, text)
		if err != nil || results[0].Passed || !strings.Contains(results[0].Note, want) {
			t.Errorf("%s: %+v, %v", text, results, err)
		}
	}
}

// TestCasesCannotBeTried says where a case changes what is not there.
func TestCasesCannotBeTried(t *testing.T) {
	t.Parallel()
	for vars, want := range map[string]string{
		"limt: 1":    `has no vars.limt; did you mean "limit"?`,
		"limit: x":   "vars.limit is a whole number in the agents file, not text",
		"zone: true": "vars.zone is text in the agents file, not true or false",
	} {
		text := large + ", vars: { " + vars + " }, expect: { asked: true }"
		if _, err := try(t, text); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.HasPrefix(err.Error(), "cases.yaml:3:") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestCasesSayWhatTheDirectoryWould puts what a case says of people and channels to expressions.
func TestCasesSayWhatTheDirectoryWould(t *testing.T) {
	t.Parallel()
	const rules = `policies:
  - { name: board, when: '"S9" in requester.groups', approvers: { users: [U0ANN] }, risk: high }
  - { name: named, when: 'requester.name == "Ben"', approvers: { users: [U0ANN] } }
  - { name: open, when: 'channel.shared && !channel.private', approvers: { users: [U0ANN] } }
default_policy: { approvers: { channel_members: true }, self_approval: true }
`
	agents := parse(t, fmt.Sprintf(agentsYAML, `channel.name == "pay" || args.amount > 100`, rules))
	for _, c := range []struct {
		text string
		pass bool
	}{
		{large + `, requester: { name: Ann, groups: [S9] }, expect: { policy: board, risk: high }`, true},
		{large + `, requester: { name: Ann, groups: [S8] }, expect: { policy: board }`, false},
		{large + `, requester: { name: Ben }, expect: { policy: named, risk: normal }`, true},
		{large + `, expect: { policy: named }`, true}, // without a name the condition fails, and holds
		{large + `, requester: { name: Ann }, channel: { shared: true }, expect: { policy: open }`, true},
		{large + `, requester: { name: Ann }, channel: { shared: true, private: true }, expect: { policy: open }`,
			false},
		{large + `, requester: { name: Ann }, expect: { policy: default_policy }`, true},
		{small + `, channel: { name: pay }, requester: { name: Ann }, expect: { policy: default_policy }`, true},
		{small + `, channel: { name: other }, expect: { asked: true }`, false},
	} {
		text := "version: 1\ncases:\n  - { name: c, " + c.text + " }\n"
		parsed, err := agentsfile.ParseCases("cases.yaml", []byte(text), environment)
		if err != nil {
			t.Fatal(err)
		}
		results, err := RunCases(t.Context(), parsed, agents, build)
		if err != nil || results[0].Passed != c.pass {
			t.Errorf("%s: %v, %+v, want %t", c.text, err, results, c.pass)
		}
	}
}

// TestReplayKnowsNoDirectory: what Slack said then is not recorded, so the strict policy applies.
func TestReplayKnowsNoDirectory(t *testing.T) {
	t.Parallel()
	made, err := build(parse(t, fmt.Sprintf(agentsYAML, `channel.shared`, `policies:
  - { name: board, when: '"S9" in requester.groups', approvers: { users: [U0CARA] } }
default_policy: { approvers: { channel_members: true }, self_approval: true }
`)))
	if err != nil {
		t.Fatal(err)
	}
	got := NewReplay().add(t, made, recorded(0, `{"amount":5,"to":"x"}`))
	if got.Fate != Asked || got.Policy != "board" {
		t.Errorf("%+v", got)
	}
}
