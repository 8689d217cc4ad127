package celpolicy

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"countersign/agent"
	"countersign/agent/guardrail"
)

func guard(expression string, action guardrail.Action) GuardrailConfig {
	return GuardrailConfig{
		Name: "g", Expression: expression, Verdict: guardrail.Verdict{Action: action, Message: "M"},
		Parameters: json.RawMessage(parameters), Vars: Vars{"word": "w"},
	}
}

// TestToolGuardrails evaluates expressions over calls and outputs. What cannot be evaluated acts.
func TestToolGuardrails(t *testing.T) {
	t.Parallel()
	const args = `{"amount":100,"to":"x"}`
	for _, c := range []struct {
		name, expression, args string
		acts                   bool
	}{
		{"above", "args.amount > 99.5", args, true},
		{"below", "args.amount > 100", args, false},
		{"tool", "tool == 'transfer_funds'", args, true},
		{"other tool", "tool == 'x'", args, false},
		{"absent argument", "args.memo == 'x'", args, true},
		{"absent argument, asked for", "has(args.memo) && args.memo == 'x'", args, false},
		{"no arguments", "false", "null", true},
		{"too dear", "args.tags.exists(a, args.tags.exists(b, args.tags.exists(c, a + b == c)))",
			`{"tags":[` + strings.Repeat(`"a",`, 999) + `"a"]}`, true},
		{"dear enough", "args.tags.exists(a, a == 'b')", `{"tags":[` + strings.Repeat(`"a",`, 999) + `"a"]}`, false},
		{"not boolean", "args.any", `{"any":0}`, true},
		{"boolean at last", "args.any", `{"any":false}`, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			input, err := CompileToolInputGuardrail(guard(c.expression, guardrail.Replace))
			if err != nil {
				t.Fatal(err)
			}
			output, err := CompileToolOutputGuardrail(guard(c.expression, guardrail.Replace))
			if err != nil {
				t.Fatal(err)
			}
			before, err := input.Check(t.Context(), call(c.args))
			if err != nil || (before == guardrail.Verdict{Action: guardrail.Replace, Message: "M"}) != c.acts {
				t.Errorf("input: %+v, %v", before, err)
			}
			after, err := output.Check(t.Context(), call(c.args), agent.ToolOutput{})
			if err != nil || after != before {
				t.Errorf("output: %+v, %v", after, err)
			}
		})
	}
}

// TestGuardrailText shows what text is for each of the four.
func TestGuardrailText(t *testing.T) {
	t.Parallel()
	input := []agent.Item{
		agent.UserMessage("earlier"), agent.AssistantMessage("yes"), agent.UserMessage("one"), agent.UserMessage("two"),
	}
	for _, c := range []struct {
		text                 string
		in, out, tool, after bool
	}{
		{"text == 'one\\n\\ntwo'", true, false, false, false},
		{"text.contains('earlier')", false, false, false, false},
		{"text == 'answer'", false, true, false, false},
		{`text == '{"to":"x"}'`, false, false, true, false},
		{"text == 'output'", false, false, false, true},
	} {
		cfg := guard(c.text, guardrail.Trip)
		in, err1 := CompileInputGuardrail(cfg)
		out, err2 := CompileOutputGuardrail(cfg)
		tool, err3 := CompileToolInputGuardrail(cfg)
		after, err4 := CompileToolOutputGuardrail(cfg)
		if err := errors.Join(err1, err2, err3, err4); err != nil {
			t.Fatal(err)
		}
		acts := func(v guardrail.Verdict, err error) bool {
			if err != nil {
				t.Error(err)
			}
			return v.Action == guardrail.Trip
		}
		got := []bool{
			acts(in.Check(t.Context(), nil, input)), acts(out.Check(t.Context(), nil, "answer")),
			acts(tool.Check(t.Context(), call(`{"to":"x"}`))),
			acts(after.Check(t.Context(), call(`{"to":"x"}`), agent.ToolOutput{Text: "output"})),
		}
		for i, want := range []bool{c.in, c.out, c.tool, c.after} {
			if got[i] != want {
				t.Errorf("%s, guardrail %d: %v", c.text, i, got[i])
			}
		}
	}
}

// TestGuardrailMistakes finds at once what is wrong with an expression, in words of guardrails.
func TestGuardrailMistakes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ expression, agent, tool string }{
		{"size(txt) > 1", "1:6: nothing is called 'txt' (did you mean 'text'?); known are text and vars",
			"1:6: nothing is called 'txt' (did you mean 'text'?); known are args, tool, text and vars"},
		{"args.amount > 1", "1:1: nothing is called 'args'; known are text and vars", ""},
		{"args.amuont > 1", "nothing is called 'args'", "1:5: the tool's parameters have no 'amuont'"},
		{"text", "1:1: the expression gives text, not true or false", "1:1: the expression gives text"},
		{strings.Repeat(" ", maxExpression) + "true", "longer than 8192 bytes", "longer than 8192 bytes"},
		{"requester == 'U1'", "nothing is called 'requester'", "nothing is called 'requester'"},
		{"text == vars.wrod", "vars has no 'wrod'; it has word", "vars has no 'wrod'; it has word"},
		{"text == vars.word", "", ""},
	} {
		_, err1 := CompileInputGuardrail(guard(c.expression, guardrail.Trip))
		_, err2 := CompileOutputGuardrail(guard(c.expression, guardrail.Trip))
		_, err3 := CompileToolInputGuardrail(guard(c.expression, guardrail.Trip))
		_, err4 := CompileToolOutputGuardrail(guard(c.expression, guardrail.Trip))
		for i, err := range []error{err1, err2, err3, err4} {
			want := []string{c.agent, c.agent, c.tool, c.tool}[i]
			if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%.40q, guardrail %d: want %q, have %v", c.expression, i, want, err)
			}
		}
	}
}

// TestAsksAgainOnce leaves a call alone that people were asked about again.
func TestAsksAgainOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		action guardrail.Action
		asked  int
		want   guardrail.Action
	}{
		{guardrail.AskAgain, 0, guardrail.AskAgain}, {guardrail.AskAgain, 1, guardrail.Allow},
		{guardrail.Replace, 1, guardrail.Replace},
	} {
		g, err := CompileToolInputGuardrail(guard("true", c.action))
		if err != nil {
			t.Fatal(err)
		}
		asked := call(`{}`)
		asked.AskedAgain = c.asked
		if v, err := g.Check(t.Context(), asked); err != nil || v.Action != c.want {
			t.Errorf("%s, asked again %d times: %+v, %v", c.action, c.asked, v, err)
		}
	}
}

// TestGuardrailInterrupted does not take the end of a context for something that was found.
func TestGuardrailInterrupted(t *testing.T) {
	t.Parallel()
	cfg := guard("args.tags.exists(a, args.tags.exists(b, a + b == 'c'))", guardrail.Trip)
	g, err := CompileToolInputGuardrail(cfg)
	if err != nil {
		t.Fatal(err)
	}
	long := call(`{"tags":[` + strings.Repeat(`"a",`, 300) + `"a"]}`)
	ctx, cancel := context.WithCancel(t.Context())
	if v, err := g.Check(ctx, long); err != nil || v.Action != guardrail.Allow {
		t.Errorf("with time: %+v, %v", v, err)
	}
	cancel()
	if v, err := g.Check(ctx, long); !errors.Is(err, context.Canceled) || v.Action != guardrail.Allow {
		t.Errorf("without: %+v, %v", v, err)
	}
}
