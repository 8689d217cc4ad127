package catalog

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"countersign/agent"
	"countersign/approvals"
)

const payments = "version: 1\nvars: { limit: 1000, place: \"${TOKEN}\" }\nagents:\n  ops:\n    instructions: Help.\n" +
	"    model: m\n    tools:\n      - type: http\n        name: pay\n        description: D\n        method: POST\n" +
	"        url: \"${URL}\"\n        parameters: { type: object, properties: { amount: { type: number } } }\n"

// ask is a request about a payment.
func ask(args string) *approvals.Request {
	return &approvals.Request{
		RequestHead: approvals.RequestHead{
			Workspace: "T1", Requester: "T1/U1", Place: approvals.Place{Channel: "C1"}, Agent: "ops",
			Tool: approvals.ToolSnapshot{Name: "pay"}, Interruption: "ops/1/c1",
		},
		RequestContent: approvals.RequestContent{Arguments: json.RawMessage(args)},
	}
}

// TestPolicies lets the first policy that is for a request say who must agree, and check tell all of them in order.
func TestPolicies(t *testing.T) {
	t.Parallel()
	c, err := buildCatalog(t, payments+`policies:
  - { name: large, when: 'tool == "pay" && args.amount > vars.limit', approvers: { groups: [S1] }, quorum: 2 }
  - name: away
    when: |
      channel.id != "C1" ||
        vars.place == "`+canary+`" && requester.id == "U7"
    all_of: [{ users: [U8] }, { users: [U9] }]
`+policy)
	if err != nil {
		t.Fatal(err)
	}
	elsewhere, another := ask(`{"amount":5}`), ask(`{"amount":5}`)
	elsewhere.Place.Channel, another.Requester = "C2", "T1/U7"
	for _, a := range []struct {
		request *approvals.Request
		want    string
		seats   int
		because string
	}{
		{ask(`{"amount":1001}`), "large", 2, "amount > vars.limit"},
		{ask(`{"amount":1000}`), "default_policy", 1, ""},
		{ask(`{}`), "large", 2, ""}, // the condition cannot be evaluated, so that nothing is known of the amount
		{elsewhere, "away", 2, `channel.id != "C1" or (vars.place == "` + canary + `" and requester.id == "U7")`},
		{another, "away", 2, `channel.id != "C1" or (vars.place == "` + canary + `" and requester.id == "U7")`},
	} {
		q, err := c.Requirement(t.Context(), a.request, approvals.PolicyFacts{})
		if err != nil || q.Policy != a.want || len(q.Seats) != a.seats || q.Because != a.because {
			t.Errorf("%s: %+v, %v; want %s", a.request.Arguments, q, err, a.want)
		}
	}
	rows, err := c.PolicyRows(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []PolicyRow{
		{"large", `tool == "pay" && args.amount > vars.limit`, "2 of group S1, not the requester", "normal", nil},
		{"away", `channel.id != "C1" || vars.place == "` + canary + `" && requester.id == "U7"`,
			"one each of U8; and U9, not the requester", "normal", nil},
		{"default_policy", "", "1 member of this channel, not the requester", "normal", nil},
	}
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Error(diff)
	}
}

// TestVarsInGates lets a gate read the file's variables.
func TestVarsInGates(t *testing.T) {
	t.Parallel()
	c, err := buildCatalog(t, payments+"        needs_approval: args.amount > vars.limit\n"+policy)
	if err != nil {
		t.Fatal(err)
	}
	gate := c.agents["ops"].Agent.Tools[0].NeedsApproval
	for args, want := range map[string]bool{`{"amount":1001}`: true, `{"amount":1000}`: false} {
		got, err := gate(t.Context(), &agent.ToolCall{Arguments: json.RawMessage(args)})
		if err != nil || got != want {
			t.Errorf("%s: %v, %v", args, got, err)
		}
	}
}

// TestPolicyProblems says where in the file an expression is wrong.
func TestPolicyProblems(t *testing.T) {
	t.Parallel()
	rule := func(when string) string {
		return payments + "policies:\n  - name: money\n    when: " + when +
			"\n    approvers: { users: [U1] }\n" + policy
	}
	gate := func(expression string) string {
		return payments + "        needs_approval: " + expression + "\n" + policy
	}
	for _, c := range []struct{ name, text, want string }{
		{"syntax", rule(`tool == "pay" && args.amount >> 1`),
			"agents.yaml:16:41: policy money: this is not an expression: unexpected '>'"},
		{"no condition", rule("args.amount + 1"), "agents.yaml:16:11: policy money: the expression gives "},
		{"type", rule(`'tool > 3'`), "agents.yaml:16:17: policy money: '>' does not go with text and a whole number"},
		{"unknown variable", rule("args.amount > vars.limt"),
			"agents.yaml:16:29: policy money: vars has no 'limt'; it has limit, place"},
		{"unknown name in a block", rule("|\n      tool == 'pay' &&\n        amount > 5"),
			"agents.yaml:18:9: policy money: nothing is called 'amount'; known are args, tool, agent, requester, "},
		{"unknown field", rule("channel.topic"), "agents.yaml:16:18: policy money: channel has no 'topic'"},
		{"misspelt argument of the tool", rule(`tool == "pay" && args.amuont > 5`),
			"agents.yaml:16:32: policy money: the tool's parameters have no 'amuont'"},
		{"argument of another type", rule(`tool == "pay" && args.amount == "5"`),
			"agents.yaml:16:40: policy money: '==' does not go with a number and text"},
		{"text of before", rule(`requester == "U1"`),
			`agents.yaml:16:11: policy money: requester is an object; write requester.id, for instance ` +
				`requester.id == "U1"`},
		{"text of before in a gate", gate(`args.amount > 5 && requester == "U1"`),
			`agents.yaml:14:44: needs_approval of pay: requester is an object; write requester.id, for instance ` +
				`requester.id == "U1"`},
		{"no variable at all", strings.Replace(gate("vars.limit > 5"), `vars: { limit: 1000, place: "${TOKEN}" }`,
			"vars: {}", 1),
			"agents.yaml:14:29: needs_approval of pay: the file has no vars, so there is no vars.limit"},
		{"no default policy", strings.Replace(rule("true"), policy, "", 1),
			`agents.yaml:8:9: tool "pay" needs approval and the file has no ` + "`default_policy`"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := buildCatalog(t, c.text)
			if err == nil {
				t.Fatal("accepted")
			}
			if !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("want %q, have:\n%v", c.want, err)
			}
			if strings.Contains(err.Error(), canary) {
				t.Errorf("a value of the environment is shown: %v", err)
			}
		})
	}
}

// TestTimesOfPolicies brings what the file says about time to the policy.
func TestTimesOfPolicies(t *testing.T) {
	t.Parallel()
	c, err := buildCatalog(t, payments+"default_policy: { approvers: { channel_members: true }, on_expiry: keep, "+
		"remind_every: 15m, escalate: { after: 25h, to: { groups: [S3] } } }\n")
	if err != nil {
		t.Fatal(err)
	}
	q, err := c.Requirement(t.Context(), ask(`{}`), approvals.PolicyFacts{})
	if err != nil || q.OnExpiry != approvals.ExpiryKeep || q.RemindEvery != 15*time.Minute ||
		q.Escalation.After != 25*time.Hour || q.Escalation.To.Groups[0] != "S3" {
		t.Errorf("%+v, %v", q, err)
	}
}

// TestDelegations brings who decides for whom from the file to the policy; the last day counts whole.
func TestDelegations(t *testing.T) {
	t.Parallel()
	c, err := buildCatalog(t, payments+policy+"delegates: { U1: { to: U2, until: 2026-12-31 } }\n")
	if err != nil {
		t.Fatal(err)
	}
	want := []approvals.Delegation{
		{From: "T1/U1", To: "T1/U2", Until: time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)},
	}
	if diff := cmp.Diff(want, c.Delegations("T1")); diff != "" {
		t.Error(diff)
	}
}

// TestUnmatched names the policies for tools that no agent has. Those that may hold for others too, or for tools that
// are only known while an agent runs, are not among them.
func TestUnmatched(t *testing.T) {
	t.Parallel()
	const policies = `policies:
  - { name: misspelt, when: 'tool == "pai" && args.amount > 5', approvers: { groups: [S1] } }
  - { name: gone, when: '"refund_customer" == tool', approvers: { groups: [S1] } }
  - { name: there, when: 'args.amount > 7 && tool == "pay"', approvers: { groups: [S1] } }
  - { name: several, when: 'tool == "pai" || tool == "pay"', approvers: { groups: [S1] } }
  - { name: any, when: 'channel.direct', approvers: { groups: [S1] } }
`
	misspelt, gone := Unmatched{"misspelt", "pai", "pay"}, Unmatched{"gone", "refund_customer", ""}
	for more, want := range map[string][]Unmatched{
		"": {misspelt, gone},
		"      - { type: mcp, server: bank, allowed_tools: [refund_customer] }\n" +
			"mcp_servers: { bank: { url: https://bank.example } }\n": {misspelt},
		"      - { type: mcp, server: bank }\nmcp_servers: { bank: { url: https://bank.example } }\n": nil,
		"      - { type: hosted_mcp, server_label: wiki, server_url: https://wiki.example }\n":        nil,
	} {
		c, err := buildCatalog(t, payments+more+policies+policy)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, c.Unmatched()); diff != "" {
			t.Errorf("with %q (-want +have):\n%s", more, diff)
		}
	}
	const want = `policy misspelt holds for no call: no agent has a tool called "pai"; did you mean "pay"?`
	if got := misspelt.String(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
