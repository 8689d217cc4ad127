package celpolicy

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"countersign/approvals"
)

// told are facts of which all are known.
func told() approvals.PolicyFacts {
	return approvals.PolicyFacts{
		Told: map[approvals.Fact]error{
			approvals.FactRequesterName: nil, approvals.FactRequesterGroups: nil, approvals.FactChannel: nil,
		},
		RequesterName: "Ann", RequesterGroups: []string{"S1", "S2"},
		Channel: approvals.Channel{Name: "payments", Private: true},
	}
}

// TestFacts finds the policy by what the directory knows, and says what it needs to know.
func TestFacts(t *testing.T) {
	t.Parallel()
	const (
		name    = approvals.FactRequesterName
		groups  = approvals.FactRequesterGroups
		channel = approvals.FactChannel
	)
	for _, c := range []struct {
		name, when string
		matches    bool
		asks       []approvals.Fact // of the directory, before it answers
		blind      bool             // matches when nothing can be told
	}{
		{"name", `requester.name == "Ann"`, true, []approvals.Fact{name}, true},
		{"another name", `requester.name == "Ben"`, false, []approvals.Fact{name}, true},
		{"in a group", `"S2" in requester.groups`, true, []approvals.Fact{groups}, true},
		{"not in a group", `!("S3" in requester.groups)`, true, []approvals.Fact{groups}, true},
		{"in none of these", `requester.groups.exists(g, g == "S3")`, false, []approvals.Fact{groups}, true},
		{"channel", `channel.name == "payments" && channel.private && !channel.shared`, true,
			[]approvals.Fact{channel}, true},
		{"both", `channel.shared || "S9" in requester.groups`, false, []approvals.Fact{channel, groups}, true},
		{"not read", `requester.id == "U1"`, true, nil, true},
		{"another tool", `tool == "shell" && "S1" in requester.groups`, false, nil, false},
		{"this tool", `tool == "transfer_funds" && "S1" in requester.groups`, true, []approvals.Fact{groups}, true},
		{"settled before", `args.amount > 1 || channel.shared`, true, nil, true},
		{"settled behind", `channel.shared || args.amount > 1`, true, nil, true},
		{"present", `has(requester.groups)`, true, []approvals.Fact{groups}, true},
		{"absent argument", `args.memo == "x" || channel.shared`, true, []approvals.Fact{channel}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p, r := rules(t, c.when), request(`{"amount":5}`)
			policy := map[bool]string{true: "rule 0", false: "default_policy"}
			got, err := p.Requirement(t.Context(), r, approvals.PolicyFacts{})
			missing, asks := errors.AsType[*approvals.MissingFactsError](err)
			switch {
			case c.asks == nil && (err != nil || got.Policy != policy[c.matches]):
				t.Errorf("without facts: %s, %v", got.Policy, err)
			case c.asks != nil && (!asks || !slices.Equal(missing.Facts, c.asks)):
				t.Errorf("without facts: %v; want to be asked for %v", err, c.asks)
			}
			if got, err = p.Requirement(t.Context(), r, told()); err != nil || got.Policy != policy[c.matches] {
				t.Errorf("with facts: %s, %v; want %s", got.Policy, err, policy[c.matches])
			}
			blind := approvals.PolicyFacts{Told: map[approvals.Fact]error{
				name: approvals.ErrUnavailable, groups: approvals.ErrUnavailable, channel: approvals.ErrUnavailable,
			}}
			if got, err = p.Requirement(t.Context(), r, blind); err != nil || got.Policy != policy[c.blind] {
				t.Errorf("when nothing can be told: %s, %v; want %s", got.Policy, err, policy[c.blind])
			}
		})
	}
}

// TestFactsOfEarlierRules asks for what decides, not for what policies behind it read.
func TestFactsOfEarlierRules(t *testing.T) {
	t.Parallel()
	p := rules(t, `tool == "transfer_funds"`, `channel.shared`)
	got, err := p.Requirement(t.Context(), request(`{}`), approvals.PolicyFacts{})
	if err != nil || got.Policy != "rule 0" {
		t.Errorf("%s, %v", got.Policy, err)
	}
	p = rules(t, `tool == "shell"`, `channel.shared`)
	if _, err := p.Requirement(t.Context(), request(`{}`), approvals.PolicyFacts{}); err == nil {
		t.Error("control: answered without the fact")
	}
}

// TestGateWithoutDirectory asks when it depends on what cannot be found out, and only then.
func TestGateWithoutDirectory(t *testing.T) {
	t.Parallel()
	for expression, want := range map[string]bool{
		`!("S1" in requester.groups)`:                     true,
		`args.amount > 100 && "S1" in requester.groups`:   false,
		`args.amount > 0.5 && "S1" in requester.groups`:   true,
		`args.amount > 0.5 || requester.name == "nobody"`: true,
	} {
		gate, err := CompileGate(GateConfig{Expression: expression, Parameters: json.RawMessage(parameters)})
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := gate.Ask(t.Context(), call(`{"amount":1,"to":"x"}`)); got != want {
			t.Errorf("%s: %v", expression, got)
		}
	}
}

// TestToolCondition types the arguments where the expression can hold for one tool only.
func TestToolCondition(t *testing.T) {
	t.Parallel()
	tools := Schemas{}
	tools.Add("transfer_funds", json.RawMessage(parameters))
	tools.Add("wire", json.RawMessage(parameters))
	tools.Add("wire", json.RawMessage(`{"type":"object","properties":{"sum":{"type":"integer"}}}`))
	for _, c := range []struct {
		when, want string
		column     int
	}{
		{`tool == "transfer_funds" && args.amount > 100`, "", 0},
		{`"transfer_funds" == tool && (args.amount > 100 || args.count > 3)`, "", 0},
		{`tool == "transfer_funds" && args.amuont > 100`, "the tool's parameters have no 'amuont'", 33},
		{`args.to > 3 && agent == "a" && tool == "transfer_funds"`, "'>' does not go with text and a whole number", 9},
		{`tool == "transfer_funds" || args.amuont > 100`, "", 0},  // holds for others as well
		{`!(tool == "transfer_funds") && args.amuont > 1`, "", 0}, // holds for others alone
		{`tool != "transfer_funds" && args.amuont > 1`, "", 0},    // so does this
		{`tool == "wire" && args.amuont > 1`, "", 0},              // two tools have this name
		{`tool == "someone_elses" && args.amuont > 1`, "", 0},     // an MCP server's perhaps
		{`tool == agent && args.amuont > 1`, "", 0},               // any tool
		{`tool in ["transfer_funds"] && args.amuont > 1`, "", 0},  // not looked into
	} {
		_, err := CompileToolCondition(c.when, nil, tools)
		e, _ := errors.AsType[*Error](err)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.when, err)
		case c.want != "" && (e == nil || !strings.Contains(e.Error(), c.want) || e.Mistakes[0].Column != c.column):
			t.Errorf("%s: %v; want %s in column %d", c.when, err, c.want, c.column)
		}
	}
}

// TestTypedCondition reads arguments as the schema says, and holds where they are not what it says.
func TestTypedCondition(t *testing.T) {
	t.Parallel()
	tools := Schemas{"transfer_funds": json.RawMessage(parameters)}
	when, err := CompileToolCondition(`tool == "transfer_funds" && args.amount * 2.0 > 150.0`, nil, tools)
	if err != nil {
		t.Fatal(err)
	}
	p := rules(t)
	p.Rules = []Rule{{When: when, Then: &Static{Name: "typed", Users: []string{"U9"}, Quorum: 1, DenyQuorum: 1}}}
	for args, want := range map[string]string{
		`{"amount":80,"to":"x"}`: "typed", `{"amount":70,"to":"x"}`: "default_policy", `{"to":"x"}`: "typed",
		`{"amount":70,"count":1.5}`: "typed", // no whole number
	} {
		got, err := p.Requirement(t.Context(), request(args), approvals.PolicyFacts{})
		if err != nil || got.Policy != want {
			t.Errorf("%s: %s, %v; want %s", args, got.Policy, err, want)
		}
		other := request(args)
		other.Tool.Name = "shell"
		got, err = p.Requirement(t.Context(), other, approvals.PolicyFacts{})
		if err != nil || got.Policy != "default_policy" {
			t.Errorf("%s of another tool: %s, %v", args, got.Policy, err)
		}
	}
}

// TestHash changes with the words of the policy and the variables that its condition reads, and with nothing else.
func TestHash(t *testing.T) {
	t.Parallel()
	type change struct {
		when string
		vars Vars
		then func(*Static)
	}
	ask := func(c change) approvals.Requirement {
		t.Helper()
		when, err := CompileCondition(c.when, c.vars)
		if err != nil {
			t.Fatal(err)
		}
		then := &Static{Name: "money", Users: []string{"U9"}, Quorum: 1, DenyQuorum: 1, Version: "v1"}
		if c.then != nil {
			c.then(then)
		}
		p := rules(t)
		p.Rules = []Rule{{When: when, Then: then}}
		q, err := p.Requirement(t.Context(), request(`{"amount":5000}`), approvals.PolicyFacts{})
		if err != nil || q.Policy != "money" {
			t.Fatalf("%s, %v", q.Policy, err)
		}
		return q
	}
	const condition = "args.amount > vars.limit"
	limit := Vars{"limit": int64(1000)}
	base := ask(change{condition, Vars{"limit": int64(1000), "place": "here"}, nil})
	want := []approvals.PolicyVar{{Name: "limit", Value: "1000"}}
	if diff := cmp.Diff(want, base.Vars); diff != "" || base.Version != "v1" {
		t.Errorf("vars: %s; version %s", diff, base.Version)
	}
	for name, c := range map[string]struct {
		change
		same bool
	}{
		"again":               {change{condition, Vars{"limit": int64(1000), "place": "here"}, nil}, true},
		"a variable not read": {change{condition, Vars{"limit": int64(1000), "place": "there"}, nil}, true},
		"another file":        {change{condition, limit, func(s *Static) { s.Version = "v2" }}, true},
		"a variable read":     {change{condition, Vars{"limit": int64(1001)}, nil}, false},
		"its type":            {change{condition, Vars{"limit": 1000.5}, nil}, false},
		"the condition":       {change{"args.amount >= vars.limit", Vars{"limit": int64(1000)}, nil}, false},
		"the quorum":          {change{condition, limit, func(s *Static) { s.Quorum = 2 }}, false},
		"the risk":            {change{condition, limit, func(s *Static) { s.Risk = approvals.RiskHigh }}, false},
		"the name of groups":  {change{condition, limit, func(s *Static) { s.Groups = append(s.Groups, "S1") }}, false},
	} {
		if got := ask(c.change); (got.Hash == base.Hash) != c.same {
			t.Errorf("%s: %s, before %s", name, got.Hash, base.Hash)
		}
	}
	if base.Hash == [32]byte{} {
		t.Error("no hash")
	}
}

// TestFactsProperties holds for random policies, requests and facts: more facts never change an answer that was given
// with fewer, and asking for what is missing comes to an end with the answer that all facts give.
func TestFactsProperties(t *testing.T) {
	t.Parallel()
	conditions := append([]string{
		`"S1" in requester.groups`, `!("S1" in requester.groups)`, `requester.name == "Ann"`, "channel.private",
		`tool == "shell" && channel.shared`, `channel.name.startsWith("pay") || args.amount > 100`,
		`requester.groups.all(g, g != "S9") && has(args.to)`,
	}, conditions...)
	rapid.Check(t, func(t *rapid.T) {
		p := rules(t, rapid.SliceOfN(rapid.SampledFrom(conditions), 1, 4).Draw(t, "conditions")...)
		r, all := drawRequest(t), told()
		all.RequesterGroups = rapid.SliceOf(rapid.SampledFrom([]string{"S1", "S9"})).Draw(t, "groups")
		all.Channel.Private = rapid.Bool().Draw(t, "private")
		for fact := range all.Told {
			if rapid.IntRange(0, 3).Draw(t, string(fact)) == 0 {
				all.Told[fact] = approvals.ErrUnavailable
			}
		}
		want, err := p.Requirement(t.Context(), r, all)
		if err != nil {
			t.Fatal(err)
		}
		some := all
		some.Told = map[approvals.Fact]error{}
		for range 4 {
			got, err := p.Requirement(t.Context(), r, some)
			missing, asks := errors.AsType[*approvals.MissingFactsError](err)
			if !asks {
				if diff := cmp.Diff(want, got); diff != "" || err != nil {
					t.Fatalf("with %v: %v %s", some.Told, err, diff)
				}
				return
			}
			for _, f := range missing.Facts {
				some.Told[f] = all.Told[f]
			}
		}
		t.Fatal("asks without an end")
	})
}
