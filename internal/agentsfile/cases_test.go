package agentsfile

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func parseCases(text string) (*CaseFile, error) {
	return ParseCases("cases.yaml", []byte(text), func(string) (string, bool) { return "", false })
}

func casesWith(lines string) string {
	return "version: 1\ncases:\n  - name: a\n    tool: pay\n" + lines
}

// TestCases reads everything that a case can hold, and fills in what it leaves out.
func TestCases(t *testing.T) {
	t.Parallel()
	_, err := parseCases(`version: 1
environment: { TOKEN: none }
cases:
  - name: everything
    tool: pay
    agent: ops
    arguments: { amount: 5, list: [1.50, x], deep: { a: null, b: true }, text: "${NOT_EXPANDED" }
    requester: { id: U1, name: Ann, groups: [S1] }
    channel: { id: C1, name: general, private: true, shared: true }
    call_id: c9
    vars: { limit: 3 }
    expect: { policy: large, quorum: 2, always: { scopes: [] }, expires_in: 2h, possible: true }
  - name: least
    tool: pay
    channel: D1
    expect: { asked: false }
`)
	if err == nil || !strings.Contains(err.Error(), "cases.yaml:7:80: ${…} is not expanded in arguments") {
		t.Errorf("%v", err)
	}
	f, err := parseCases(`version: 1
cases:
  - name: everything
    tool: pay
    arguments: { amount: 5, list: [1.50, x], deep: { a: null, b: true } }
    requester: { id: U1, name: Ann, groups: [S1] }
    channel: { id: C1, name: general, private: true, shared: true }
    vars: { limit: 3 }
    expect: { policy: large, quorum: 2, always: { scopes: [] } }
  - name: least
    tool: pay
    channel: D1
    expect: { asked: false }
`)
	if err != nil {
		t.Fatal(err)
	}
	first, second := f.Cases[0], f.Cases[1]
	if got := string(first.Arguments); got != `{"amount":5,"list":[1.5,"x"],"deep":{"a":null,"b":true}}` {
		t.Errorf("arguments %s", got)
	}
	if diff := cmp.Diff(CaseRequester{"U1", "Ann", []string{"S1"}}, first.Requester); diff != "" {
		t.Error(diff)
	}
	channel := CaseChannel{ID: "C1", Name: "general", Private: true, Shared: true}
	if diff := cmp.Diff(channel, first.Channel); diff != "" {
		t.Error(diff)
	}
	if e := first.Expect; *e.Policy != "large" || *e.Quorum != 2 || e.AlwaysScopes == nil || e.Asked != nil {
		t.Errorf("expects %+v", e)
	}
	if string(second.Arguments) != "{}" || !second.Channel.Direct || second.Requester.ID == "" || second.CallID == "" {
		t.Errorf("least: %+v", second)
	}
}

// TestCaseProblems says of every wrong file of cases where it is wrong and what to do.
func TestCaseProblems(t *testing.T) {
	t.Parallel()
	for _, c := range []problemCase{
		{"nothing", "", "cases.yaml:1:1: the file is empty"},
		{"no version", "cases: []\n", "the file needs `version: 1`"},
		{"no cases", "version: 1\ncases: []\n", "the file has no cases, so nothing is tested"},
		{"cases left out", "version: 1\n", "the file has no cases, so nothing is tested"},
		{"misspelt key", "version: 1\ncase: []\n", `cases.yaml:2:1: unknown key "case" in the file of cases; did you ` +
			`mean "cases"?`},
		{"misspelt key of a case", casesWith("    argument: {}\n    expect: { asked: true }\n"),
			`cases.yaml:5:5: unknown key "argument" in a case; did you mean "arguments"?`},
		{"misspelt expectation", casesWith("    expect: { quorom: 2 }\n"), `did you mean "quorum"?`},
		{"no expectation", casesWith(""), `cases.yaml:3:5: a case needs "expect"`},
		{"empty expectation", casesWith("    expect: {}\n"), "the case expects nothing"},
		{"not asked under a policy", casesWith("    expect: { asked: false, quorum: 2 }\n"),
			"cases.yaml:5:29: nobody is asked in this case, so no policy applies; leave quorum out"},
		{"asked and recorded", casesWith("    expect: { asked: true, recorded: true }\n"), "cannot both be true"},
		{"two ways to say who", casesWith("    expect: { approvers: {users: [U1]}, all_of: [{users: [U1]}, " +
			"{users: [U2]}] }\n"), "approvers and all_of say both who must agree"},
		{"requester by name", casesWith("    requester: ann\n    expect: { asked: true }\n"),
			`cases.yaml:5:16: requester is named by its Slack id, such as U0123456789, not "ann"`},
		{"channel by name", casesWith("    channel: { id: general }\n    expect: { asked: true }\n"),
			`channel is named by its Slack id`},
		{"twice", casesWith("    expect: { asked: true }\n  - { name: a, tool: pay, expect: { asked: true } }\n"),
			`two cases are called "a"; the first is on line 3`},
		{"arguments as a list", casesWith("    arguments: [1]\n    expect: { asked: true }\n"),
			"cases.yaml:5:16: arguments is a mapping, not a list"},
		{"empty value of the environment", "version: 1\nenvironment: { A: \"\" }\ncases: [{name: a, tool: b, " +
			"expect: {asked: true}}]\n", "A is empty, which counts as not set"},
	} {
		_, err := parseCases(c.text)
		if _, ok := errors.AsType[Problems](err); !ok || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: want %q in:\n%v", c.name, c.want, err)
		}
	}
}
