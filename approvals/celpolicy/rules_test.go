package celpolicy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"countersign/approvals"
)

// vars are the values that the expressions of these tests read.
func vars() Vars {
	return Vars{"place": "here", "limit": int64(1000), "share": 0.5, "careful": true}
}

func request(args string) *approvals.Request {
	return &approvals.Request{
		RequestHead: approvals.RequestHead{
			Workspace: "T1", Requester: "T1/U1", Place: approvals.Place{Channel: "C1", Direct: true},
			Agent: "ops", Tool: approvals.ToolSnapshot{Name: "transfer_funds"}, Interruption: "ops/1/call%2F1",
		},
		RequestContent: approvals.RequestContent{Arguments: json.RawMessage(args)},
	}
}

// rules are policies named after their place, with these conditions, before a default policy.
func rules(t interface{ Fatal(...any) }, when ...string) *Rules {
	p := &Rules{Default: &Static{Name: "default_policy", ChannelMembers: true, Quorum: 1, DenyQuorum: 1}}
	for i, expression := range when {
		c, err := CompileCondition(expression, vars())
		if err != nil {
			t.Fatal(err)
		}
		p.Rules = append(p.Rules, Rule{When: c, Then: &Static{
			Name: fmt.Sprint("rule ", i), Users: []string{"U9"}, Quorum: i + 1, DenyQuorum: 1,
		}})
	}
	return p
}

// TestRules finds the policy of a request.
func TestRules(t *testing.T) {
	t.Parallel()
	const canary = "canary-4711"
	big := `{"tags":[` + strings.Repeat(`"`+canary+`",`, 2000) + `"z"]}`
	for _, c := range []struct {
		name string
		when []string
		args string
		want string
	}{
		{"none", nil, `{}`, "default_policy"},
		{"match", []string{"args.amount > 100"}, `{"amount":101}`, "rule 0"},
		{"no match", []string{"args.amount > 100"}, `{"amount":100}`, "default_policy"},
		{"first of two", []string{"args.amount > 1", "args.amount > 2"}, `{"amount":5}`, "rule 0"},
		{"second of two", []string{"args.amount > 10", "args.amount > 2"}, `{"amount":5}`, "rule 1"},
		{"names", []string{`tool == "transfer_funds" && agent == "ops" && call_id == "call/1"`}, `{}`, "rule 0"},
		{"another tool", []string{`tool == "shell"`}, `{}`, "default_policy"},
		{"another tool, absent argument", []string{`tool == "shell" && args.amount > 1`}, `{}`, "default_policy"},
		{"people", []string{`requester.id == "U1" && channel.id == "C1" && channel.direct`}, `{}`, "rule 0"},
		{"other people", []string{`requester.id == "U2" || !channel.direct`}, `{}`, "default_policy"},
		{"vars", []string{`args.amount > vars.limit && vars.careful && vars.place == "here"`}, `{"amount":1001}`,
			"rule 0"},
		{"vars, not above", []string{`args.amount > vars.limit`}, `{"amount":1000.0}`, "default_policy"},
		{"number in vars", []string{`args.share > vars.share`}, `{"share":0.51}`, "rule 0"},
		{"absent argument", []string{"args.amount > 100"}, `{}`, "rule 0"},
		{"wrong type", []string{"args.amount > 100"}, `{"amount":"much"}`, "rule 0"},
		{"not a boolean", []string{"args.amount"}, `{"amount":5}`, "rule 0"},
		{"too costly", []string{"args.tags.exists(a, args.tags.exists(b, a + b == 'zzz'))"}, big, "rule 0"},
		{"failure of the second", []string{"false", "args.amount > 100"}, `{}`, "rule 1"},
		{"no JSON", []string{"args.amount > 100"}, `{"amount":`, "rule 0"},
		{"no JSON, not needed", []string{`tool == "shell"`}, `{"amount":`, "default_policy"},
		{"no object", []string{"!has(args.amount)", "true"}, `[]`, "rule 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := rules(t, c.when...)
			got, err := p.Requirement(t.Context(), request(c.args), approvals.PolicyFacts{})
			if err != nil || got.Policy != c.want {
				t.Errorf("%s, %v; want %s", got.Policy, err, c.want)
			}
		})
	}
}

// TestRulesOfAnEndedContext gives no requirement: that somebody stopped waiting says nothing about the request.
func TestRulesOfAnEndedContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	args := `{"tags":[` + strings.Repeat(`"a",`, 2000) + `"z"]}`
	p := rules(t, "!args.tags.all(a, a != 'q')")
	if got, err := p.Requirement(ctx, request(args), approvals.PolicyFacts{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%+v, %v", got, err)
	}
	got, err := p.Requirement(t.Context(), request(args), approvals.PolicyFacts{})
	if err != nil || got.Policy != "default_policy" {
		t.Errorf("control: %+v, %v", got, err)
	}
}

// TestRulesFailClosed shows that a rule without a condition is for every request.
func TestRulesFailClosed(t *testing.T) {
	t.Parallel()
	p := rules(t)
	p.Rules = []Rule{{Then: &Static{Name: "all", Users: []string{"U9"}, Quorum: 1, DenyQuorum: 1}}}
	got, err := p.Requirement(t.Context(), request(`{}`), approvals.PolicyFacts{})
	if err != nil || got.Policy != "all" {
		t.Errorf("%+v, %v", got, err)
	}
	p.Rules[0].Then.DenyQuorum = 0
	_, err = p.Requirement(t.Context(), request(`{}`), approvals.PolicyFacts{})
	if !errors.Is(err, approvals.ErrInvalid) {
		t.Errorf("an unusable policy: %v", err)
	}
}

// conditions are drawn for random policies: they hold, do not, or fail, as the request is.
var conditions = []string{
	"true", "false", "args.amount > 100", "args.amount <= 100", "has(args.to) && args.to == 'x'",
	`tool == "shell"`, `requester.id in ["U1", "U2"]`, "channel.direct", "args.amount > vars.limit",
	`agent == vars.place`, "args.to", `call_id.startsWith("a")`,
}

func drawRequest(t *rapid.T) *approvals.Request {
	args := map[string]any{}
	if rapid.Bool().Draw(t, "has amount") {
		args["amount"] = rapid.OneOf(rapid.IntRange(0, 2000).AsAny(), rapid.SampledFrom([]any{"much", nil, 100.5})).
			Draw(t, "amount")
	}
	if rapid.Bool().Draw(t, "has to") {
		args["to"] = rapid.SampledFrom([]any{"x", "y", true, false}).Draw(t, "to")
	}
	data, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	r := request(string(data))
	r.Tool.Name = rapid.SampledFrom([]string{"shell", "transfer_funds"}).Draw(t, "tool")
	r.Agent = rapid.SampledFrom([]string{"ops", "here"}).Draw(t, "agent")
	r.Requester = rapid.SampledFrom([]approvals.UserID{"T1/U1", "T1/U2", "T1/U3"}).Draw(t, "requester")
	r.Place.Direct = rapid.Bool().Draw(t, "direct")
	r.Interruption = "ops/1/" + rapid.SampledFrom([]string{"a1", "b1"}).Draw(t, "call id")
	return r
}

// TestRulesProperties holds for random policies and requests: the answer depends on the request alone, and a policy in
// front that is for no request changes none.
func TestRulesProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		when := rapid.SliceOfN(rapid.SampledFrom(conditions), 0, 4).Draw(t, "conditions")
		p, r, other := rules(t, when...), drawRequest(t), drawRequest(t)
		ask := func(p *Rules, r *approvals.Request) approvals.Requirement {
			q, err := p.Requirement(context.Background(), r, approvals.PolicyFacts{})
			if err != nil {
				t.Fatal(err)
			}
			return q
		}
		want := ask(p, r)
		ask(p, other)
		if diff := cmp.Diff(want, ask(p, r)); diff != "" {
			t.Errorf("asked again after another request: %s", diff)
		}
		if diff := cmp.Diff(want, ask(rules(t, when...), r)); diff != "" {
			t.Errorf("asked of the same policies, made again: %s", diff)
		}
		never := rules(t, rapid.SampledFrom([]string{"false", "tool == 'nothing'"}).Draw(t, "in front"))
		never.Rules = append(never.Rules, p.Rules...)
		if diff := cmp.Diff(want, ask(never, r)); diff != "" {
			t.Errorf("with a policy in front that is for no request: %s", diff)
		}
		always := rules(t, "true")
		always.Rules = append(always.Rules, p.Rules...)
		if got := ask(always, r); got.Policy != "rule 0" || got.DenyQuorum != 1 || len(got.Seats) != 1 {
			t.Errorf("with a policy in front that is for every request: %+v", got)
		}
	})
}
