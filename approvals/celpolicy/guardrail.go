package celpolicy

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"cel.dev/cel-go/cel"

	"countersign/agent"
	"countersign/agent/guardrail"
)

// GuardrailConfig says what to compile.
type GuardrailConfig struct {
	Name string
	// Expression is true where the guardrail acts. Those of agents see text and vars; those of tools see args, tool,
	// vars, and as text the output, or the arguments as canonical JSON.
	Expression string
	// Vars are what the expression may read as vars.NAME.
	Vars Vars
	// Verdict is what it says then, and whenever the expression cannot be evaluated. AskAgain is said once of a call:
	// people who were asked again have the last word.
	Verdict guardrail.Verdict
	// Parameters is the JSON Schema of the tool's arguments; nil leaves them untyped.
	Parameters json.RawMessage
	// BeforeApproval is that of agent.ToolInputGuardrail.
	BeforeApproval bool
}

// CompileInputGuardrail returns a guardrail for Agent.InputGuardrails, or an [*Error] that says where the expression is
// wrong. Its text is what a person, or a calling agent, says now: the messages after the last one of the model, with
// an empty line between them. Earlier ones were checked when they were new.
func CompileInputGuardrail(cfg GuardrailConfig) (agent.InputGuardrail, error) {
	r, err := newRule(cfg, agentWords)
	if err != nil {
		return agent.InputGuardrail{}, err
	}
	check := func(ctx context.Context, _ *agent.Agent, input []agent.Item) (guardrail.Verdict, error) {
		return r.judge(ctx, map[string]any{wordText: said(input)})
	}
	return agent.InputGuardrail{Name: cfg.Name, Check: check}, nil
}

// CompileOutputGuardrail returns a guardrail for Agent.OutputGuardrails, or an [*Error]. Its text is the answer.
func CompileOutputGuardrail(cfg GuardrailConfig) (agent.OutputGuardrail, error) {
	r, err := newRule(cfg, agentWords)
	if err != nil {
		return agent.OutputGuardrail{}, err
	}
	check := func(ctx context.Context, _ *agent.Agent, output string) (guardrail.Verdict, error) {
		return r.judge(ctx, map[string]any{wordText: output})
	}
	return agent.OutputGuardrail{Name: cfg.Name, Check: check}, nil
}

// CompileToolInputGuardrail returns a guardrail for Tool.InputGuardrails, or an [*Error].
func CompileToolInputGuardrail(cfg GuardrailConfig) (agent.ToolInputGuardrail, error) {
	r, err := newRule(cfg, toolWords)
	if err != nil {
		return agent.ToolInputGuardrail{}, err
	}
	check := func(ctx context.Context, call *agent.ToolCall) (guardrail.Verdict, error) {
		if cfg.Verdict.Action == guardrail.AskAgain && call.AskedAgain > 0 {
			return guardrail.Verdict{}, nil
		}
		return r.judgeCall(ctx, call, string(call.Arguments))
	}
	return agent.ToolInputGuardrail{Name: cfg.Name, BeforeApproval: cfg.BeforeApproval, Check: check}, nil
}

// CompileToolOutputGuardrail returns a guardrail for Tool.OutputGuardrails, or an [*Error].
func CompileToolOutputGuardrail(cfg GuardrailConfig) (agent.ToolOutputGuardrail, error) {
	r, err := newRule(cfg, toolWords)
	if err != nil {
		return agent.ToolOutputGuardrail{}, err
	}
	check := func(ctx context.Context, call *agent.ToolCall, out agent.ToolOutput) (guardrail.Verdict, error) {
		return r.judgeCall(ctx, call, out.Text)
	}
	return agent.ToolOutputGuardrail{Name: cfg.Name, Check: check}, nil
}

// said joins what was said last.
func said(input []agent.Item) string {
	first := len(input)
	for first > 0 && input[first-1].Type == agent.ItemMessage && input[first-1].Role == agent.RoleUser {
		first--
	}
	texts := make([]string, 0, len(input)-first)
	for i := range input[first:] {
		texts = append(texts, input[first+i].Text)
	}
	return strings.Join(texts, "\n\n")
}

// rule is the expression of a guardrail and what follows from it. It is safe for concurrent use.
type rule struct {
	expression *compiled
	args       *shape
	vars       Vars
	verdict    guardrail.Verdict
}

// agentWords are those of guardrails of agents.
func agentWords(*shapes) []word { return []word{{wordText, cel.StringType}} }

// toolWords are those of guardrails of tools.
func toolWords(s *shapes) []word {
	return []word{{wordArgs, s.root.typ}, {wordTool, cel.StringType}, {wordText, cel.StringType}}
}

func newRule(cfg GuardrailConfig, words func(*shapes) []word) (*rule, error) {
	shapes, err := newShapes(cfg.Parameters)
	if err != nil {
		return nil, fmt.Errorf("schema of the arguments: %w", err)
	}
	env, err := shapes.environment(cfg.Vars, words(shapes))
	if err != nil {
		return nil, err
	}
	r := &rule{args: shapes.root, vars: cfg.Vars, verdict: cfg.Verdict}
	r.expression, err = env.compile(cfg.Expression)
	return r, err
}

func (r *rule) judgeCall(ctx context.Context, call *agent.ToolCall, text string) (guardrail.Verdict, error) {
	args, err := r.args.decode(call.Arguments)
	if err != nil {
		return r.verdict, nil // what cannot be checked does not pass
	}
	return r.judge(ctx, map[string]any{wordArgs: args, wordTool: call.Tool, wordText: text})
}

// judge evaluates the expression. A context that has ended says nothing about what is checked, and is an error.
func (r *rule) judge(ctx context.Context, values map[string]any) (guardrail.Verdict, error) {
	values[wordVars] = map[string]any(r.vars)
	acts, err := r.expression.evaluate(ctx, values)
	if stopped := ctx.Err(); err != nil && stopped != nil {
		return guardrail.Verdict{}, fmt.Errorf("evaluate a guardrail: %w", stopped)
	}
	if err == nil && !acts {
		return guardrail.Verdict{}, nil
	}
	return r.verdict, nil
}
