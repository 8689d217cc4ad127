package celpolicy

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"countersign/agent"
	"countersign/approvals"
)

const parameters = `{"type":"object","required":["amount","to"],"properties":{
	"amount":{"type":"number"},"count":{"type":"integer"},"to":{"type":"string"},"memo":{"type":"string"},
	"any":{},"either":{"type":["string","null"]},"urgent":{"type":"boolean"},
	"tags":{"type":"array","items":{"type":"string"}},
	"address":{"type":"object","properties":{"city":{"type":"string"},"zip":{"type":"integer"}}},
	"labels":{"type":"object","additionalProperties":{"type":"string"}}}}`

func call(args string) *agent.ToolCall {
	return &agent.ToolCall{
		ID: "call_1", Tool: "transfer_funds", Agent: "ops", Arguments: json.RawMessage(args),
		Run: &agent.RunContext{Value: &approvals.Run{Requester: "T1/U1", Place: approvals.Place{Channel: "C1"}}},
	}
}

// TestGate evaluates expressions over arguments.
func TestGate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, expression, args string
		want                   bool
	}{
		{"above", "args.amount > 100", `{"amount":100.01,"to":"x"}`, true},
		{"not above", "args.amount > 100", `{"amount":100,"to":"x"}`, false},
		{"whole number for a number", "args.amount > 99.5", `{"amount":100,"to":"x"}`, true},
		{"arithmetic on a number", "args.amount * 2.0 > 150.0", `{"amount":80,"to":"x"}`, true},
		{"integer", "args.count == 3", `{"amount":1,"to":"x","count":3}`, true},
		{"large integer", "args.count > 9007199254740991", `{"amount":1,"to":"x","count":9007199254740993}`, true},
		{"text", "args.to.startsWith('acct_')", `{"amount":1,"to":"acct_9"}`, true},
		{"list", "args.tags.exists(t, t == 'vip')", `{"amount":1,"to":"x","tags":["a","vip"]}`, true},
		{"nested", "args.address.zip > 10", `{"amount":1,"to":"x","address":{"city":"a","zip":11}}`, true},
		{"map", "args.labels['env'] == 'prod'", `{"amount":1,"to":"x","labels":{"env":"prod"}}`, true},
		{"untyped", "args.any > 1", `{"amount":1,"to":"x","any":1.5}`, true},
		{"null", "args.either == null", `{"amount":1,"to":"x","either":null}`, true},
		{"boolean", "args.urgent", `{"amount":1,"to":"x","urgent":false}`, false},
		{"present", "has(args.memo) && args.memo != ''", `{"amount":1,"to":"x","memo":"m"}`, true},
		{"absent", "has(args.memo) && args.memo != ''", `{"amount":1,"to":"x"}`, false},
		{"who and where", "requester.id == 'U1' && channel.id == 'C1' && !channel.direct",
			`{"amount":1,"to":"x"}`, true},
		{"somebody else", "requester.id == 'U2'", `{"amount":1,"to":"x"}`, false},
		{"names", "tool == 'transfer_funds' && agent == 'ops' && call_id == 'call_1'", `{"amount":1,"to":"x"}`, true},
		{"constant", "false", `{"amount":1,"to":"x"}`, false},
		{"pattern", "args.to.matches('^[a-z]+$')", `{"amount":1,"to":"abc"}`, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			gate, err := CompileGate(GateConfig{Expression: c.expression, Parameters: json.RawMessage(parameters)})
			if err != nil {
				t.Fatal(err)
			}
			got, err := gate.Ask(t.Context(), call(c.args))
			if err != nil || got != c.want {
				t.Errorf("%v, %v; want %v", got, err, c.want)
			}
		})
	}
}

// TestGateAsksOnError shows that what cannot be evaluated asks, and that the error quotes no argument.
func TestGateAsksOnError(t *testing.T) {
	t.Parallel()
	const canary = "canary-4711"
	big := `{"amount":1,"to":"x","tags":[` + strings.Repeat(`"`+canary+`",`, 2000) + `"z"]}`
	withoutRun := call(`{"amount":1,"to":"x"}`)
	withoutRun.Run = nil
	otherValue := call(`{"amount":1,"to":"x"}`)
	otherValue.Run.Value = "something"
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		name, expression string
		ctx              context.Context
		call             *agent.ToolCall
	}{
		{"absent argument", "args.memo == 'x'", t.Context(), call(`{"amount":1,"to":"x"}`)},
		{"absent argument, negated", "args.memo != 'x'", t.Context(), call(`{"amount":1,"to":"x"}`)},
		{"wrong dynamic type", "args.any > 1", t.Context(), call(`{"amount":1,"to":"x","any":"` + canary + `"}`)},
		{"no conversion", "int(args.to) > 1", t.Context(), call(`{"amount":1,"to":"` + canary + `"}`)},
		{"division by zero", "1 / args.count > 0", t.Context(), call(`{"amount":1,"to":"x","count":0}`)},
		{"not a boolean", "args.any", t.Context(), call(`{"amount":1,"to":"x","any":"` + canary + `"}`)},
		{"too costly", "args.tags.exists(a, args.tags.exists(b, a + b == 'zzz'))", t.Context(), call(big)},
		{"cancelled", "args.tags.all(a, a != 'q')", cancelled, call(big)},
		{"integer out of range", "args.count > 0", t.Context(),
			call(`{"amount":1,"to":"x","count":99999999999999999999}`)},
		{"no object", "args.amount > 1", t.Context(), call(`[1]`)},
		{"no JSON", "args.amount > 1", t.Context(), call(`{"amount":`)},
		{"requester unknown", "requester.id == 'U2'", t.Context(), withoutRun},
		{"channel unknown", "channel.id == 'C2'", t.Context(), otherValue},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			gate, err := CompileGate(GateConfig{Expression: c.expression, Parameters: json.RawMessage(parameters)})
			if err != nil {
				t.Fatal(err)
			}
			got, err := gate.Ask(c.ctx, c.call)
			if err == nil || !got {
				t.Fatalf("%v, %v; want true and an error", got, err)
			}
			if strings.Contains(err.Error(), canary) {
				t.Errorf("the error quotes an argument: %v", err)
			}
		})
	}
}

// TestGateUnknownRunNotNeeded lets expressions that do not need the run decide without it.
func TestGateUnknownRunNotNeeded(t *testing.T) {
	t.Parallel()
	gate, err := CompileGate(GateConfig{Expression: "args.amount > 100", Parameters: json.RawMessage(parameters)})
	if err != nil {
		t.Fatal(err)
	}
	c := call(`{"amount":1,"to":"x"}`)
	c.Run = nil
	if got, err := gate.Ask(t.Context(), c); got || err != nil {
		t.Errorf("%v, %v", got, err)
	}
}

// TestCompileErrors says where an expression is wrong.
func TestCompileErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, expression, parameters string
		line, column                 int
		message                      string
	}{
		{"syntax", "args.amount >", parameters, 1, 14,
			"this is not an expression: something is missing at its end"},
		{"empty", "", parameters, 1, 1, "this is not an expression: something is missing at its end"},
		{"operator that is none", "args.amount >> 3", parameters, 1, 14, "this is not an expression: unexpected '>'"},
		{"operators alone", ">>", parameters, 1, 1, "this is not an expression: unexpected '>'"},
		{"one equals sign", "args.amount = 1", parameters, 1, 13, "unexpected '='; to compare, write =="},
		{"and in words", "args.amount > 1 and true", parameters, 1, 17, "unexpected 'and'; write &&"},
		{"open parenthesis", "(args.amount > 1", parameters, 1, 17, "this is not an expression: ')' is missing"},
		{"open text", "args.to == 'x", parameters, 1, 12, "a text is not closed"},
		{"two dots", "args..to == 'x'", parameters, 1, 6, "unexpected '.'"},
		{"bad pattern", "args.to.matches('(')", parameters, 1, 1, "missing closing )"},
		{"misspelled argument", "args.amout > 100", parameters, 1, 5, "the tool's parameters have no 'amout'"},
		{"misspelled nested argument", "args.address.ctiy == 'x'", parameters, 1, 13, "no 'ctiy'"},
		{"unknown name", "arg.amount > 100", parameters, 1, 1, "nothing is called 'arg'"},
		{"wrong type", "args.to > 100", parameters, 1, 9, "'>' does not go with text and a whole number"},
		{"wrong type of a list", "args.tags == args.to", parameters, 1, 11, "'==' does not go with a list and text"},
		{"wrong argument", "args.to.startsWith(3)", parameters, 1, 19,
			"'startsWith' does not go with text and a whole number"},
		{"mixed numbers", "args.amount + 1 > 2.0", parameters, 1, 13, "write a whole number with .0"},
		{"number", "args.amount", parameters, 1, 1, "the expression gives a number, not true or false"},
		{"sum", "args.amount + 1", parameters, 1, 1, "the expression gives a number or a text, not true or false"},
		{"sum of what does not exist", "args.amuont + 1", parameters, 1, 5, "the tool's parameters have no 'amuont'"},
		{"requester as text", "requester == 'U1'", parameters, 1, 1,
			`write requester.id, for instance requester.id == "U1"`},
		{"requester as text, right", "args.any == requester", parameters, 1, 13, "write requester.id"},
		{"requester in a list", "requester in ['U1']", parameters, 1, 1, "write requester.id"},
		{"channel as text", "channel.startsWith('C')", parameters, 1, 1,
			`write channel.id, for instance channel.id == "C1"`},
		{"requester's name", "requester.name > 3", parameters, 1, 16,
			"'>' does not go with text and a whole number"},
		{"requester's groups", "requester.groups == 'S1'", parameters, 1, 18,
			"'==' does not go with a list and text"},
		{"unknown field of channel", "has(channel.topic)", parameters, 1, 4,
			"channel has no 'topic'; it has id, direct, name, private and shared"},
		{"unknown field", "requester.mail == 'x'", parameters, 1, 10,
			"requester has no 'mail'; it has id, name and groups"},
		{"unknown variable", "args.amount > vars.limt", parameters, 1, 19, "vars has no 'limt'; it has limit, place"},
		{"variable of another type", "vars.place > 3", parameters, 1, 12,
			"'>' does not go with text and a whole number"},
		{"vars as a whole", "vars == args.any", parameters, 1, 1, "write vars.NAME"},
		{"second line", "args.amount > 100 &&\n  args.tto == 'x'", parameters, 2, 7, "no 'tto'"},
		{"long", strings.Repeat("true || ", 2000) + "true", parameters, 1, 1, "longer than"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := CompileGate(GateConfig{
				Expression: c.expression, Parameters: json.RawMessage(c.parameters),
				Vars: Vars{"place": "here", "limit": int64(5)},
			})
			e, ok := errors.AsType[*Error](err)
			if !ok {
				t.Fatalf("error is %T: %v", err, err)
			}
			m := e.Mistakes[0]
			if m.Line != c.line || m.Column != c.column || !strings.Contains(m.Message, c.message) {
				t.Errorf("%v; want %d:%d %s", err, c.line, c.column, c.message)
			}
		})
	}
}

// TestUntyped leaves arguments unchecked where the schema leaves them open.
func TestUntyped(t *testing.T) {
	t.Parallel()
	for _, open := range []string{
		"", `{}`, `{"type":"object"}`, `{"type":"object","properties":{"a":{}},"additionalProperties":true}`,
	} {
		gate, err := CompileGate(GateConfig{Expression: "args.whatever == 1", Parameters: json.RawMessage(open)})
		if err != nil {
			t.Errorf("%s: %v", open, err)
			continue
		}
		if got, err := gate.Ask(t.Context(), call(`{"whatever":1}`)); !got || err != nil {
			t.Errorf("%s: %v, %v", open, got, err)
		}
		if got, err := gate.Ask(t.Context(), call(`{"whatever":2}`)); got || err != nil {
			t.Errorf("%s: %v, %v", open, got, err)
		}
	}
}

// FuzzGate feeds expressions and arguments: whatever happens, there is an answer, and an error never says no.
func FuzzGate(f *testing.F) {
	f.Add("args.amount > 100", `{"amount":1,"to":"x"}`)
	f.Add("args.tags.exists(t, t == 'vip')", `{"tags":["a"]}`)
	f.Add("requester.id == 'U1' || channel.id.matches('C.*')", `{}`)
	f.Add("args.any.map(x, x * 2)[0] > 1", `{"any":[1]}`)
	f.Fuzz(func(t *testing.T, expression, args string) {
		gate, err := CompileGate(GateConfig{Expression: expression, Parameters: json.RawMessage(parameters)})
		if err != nil {
			return
		}
		if ask, err := gate.Ask(t.Context(), call(args)); err != nil && !ask {
			t.Fatal("an error said no")
		}
	})
}
