package celpolicy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"cel.dev/cel-go/cel"

	"countersign/agent"
	"countersign/agent/guardrail"
)

// GuardrailConfig says what to compile.
type GuardrailConfig struct {
	Name string
	// Expression is true where the guardrail acts. Those of agents see text; those of tools see args, tool and text,
	// which is the output, or the arguments as canonical JSON.
	Expression string
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
	r, err := newRule(cfg, "text", cel.Variable("text", cel.StringType))
	if err != nil {
		return agent.InputGuardrail{}, err
	}
	check := func(ctx context.Context, _ *agent.Agent, input []agent.Item) (guardrail.Verdict, error) {
		return r.judge(ctx, map[string]any{"text": said(input)})
	}
	return agent.InputGuardrail{Name: cfg.Name, Check: check}, nil
}

// CompileOutputGuardrail returns a guardrail for Agent.OutputGuardrails, or an [*Error]. Its text is the answer.
func CompileOutputGuardrail(cfg GuardrailConfig) (agent.OutputGuardrail, error) {
	r, err := newRule(cfg, "text", cel.Variable("text", cel.StringType))
	if err != nil {
		return agent.OutputGuardrail{}, err
	}
	check := func(ctx context.Context, _ *agent.Agent, output string) (guardrail.Verdict, error) {
		return r.judge(ctx, map[string]any{"text": output})
	}
	return agent.OutputGuardrail{Name: cfg.Name, Check: check}, nil
}

// CompileToolInputGuardrail returns a guardrail for Tool.InputGuardrails, or an [*Error].
func CompileToolInputGuardrail(cfg GuardrailConfig) (agent.ToolInputGuardrail, error) {
	r, err := newToolRule(cfg)
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
	r, err := newToolRule(cfg)
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
	program cel.Program
	args    *shape // of tools
	verdict guardrail.Verdict
}

func newToolRule(cfg GuardrailConfig) (*rule, error) {
	shapes, err := newShapes(cfg.Parameters)
	if err != nil {
		return nil, fmt.Errorf("schema of the arguments: %w", err)
	}
	r, err := newRule(cfg, "args, tool and text", cel.CustomTypeProvider(shapes),
		cel.Variable("args", shapes.root.typ), cel.Variable("tool", cel.StringType),
		cel.Variable("text", cel.StringType))
	if err != nil {
		return nil, err
	}
	r.args = shapes.root
	return r, nil
}

// newRule compiles the expression; sees lists the variables for people.
func newRule(cfg GuardrailConfig, sees string, options ...cel.EnvOption) (*rule, error) {
	if len(cfg.Expression) > maxExpression {
		long := fmt.Sprintf("the expression is longer than %d bytes", maxExpression)
		return nil, &Error{Mistakes: []Mistake{{1, 1, long}}}
	}
	env, err := cel.NewEnv(append(options, cel.CrossTypeNumericComparisons(true))...)
	if err != nil {
		return nil, fmt.Errorf("expression environment: %w", err)
	}
	program, err := compile(env, cfg.Expression)
	if err != nil {
		return nil, ownWords(err, sees)
	}
	return &rule{program: program, verdict: cfg.Verdict}, nil
}

// ownWords says of an unknown name which ones a guardrail knows, instead of those of gates.
func ownWords(err error, sees string) error {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return err
	}
	for i := range e.Mistakes {
		m := &e.Mistakes[i]
		if before, _, found := strings.Cut(m.Message, "; known are "); found {
			m.Message = before + "; this guardrail sees " + sees
		}
	}
	return e
}

func (r *rule) judgeCall(ctx context.Context, call *agent.ToolCall, text string) (guardrail.Verdict, error) {
	args, err := r.args.decode(call.Arguments)
	if err != nil {
		return r.verdict, nil // what cannot be checked does not pass
	}
	return r.judge(ctx, map[string]any{"args": args, "tool": call.Tool, "text": text})
}

// judge evaluates the expression. A context that has ended says nothing about what is checked, and is an error.
func (r *rule) judge(ctx context.Context, vars map[string]any) (guardrail.Verdict, error) {
	out, _, err := r.program.ContextEval(ctx, vars)
	if stopped := ctx.Err(); err != nil && stopped != nil {
		return guardrail.Verdict{}, fmt.Errorf("evaluate a guardrail: %w", stopped)
	}
	if err == nil {
		if acts, ok := out.Value().(bool); ok && !acts {
			return guardrail.Verdict{}, nil
		}
	}
	return r.verdict, nil
}
