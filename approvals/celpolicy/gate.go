package celpolicy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"cel.dev/cel-go/cel"

	"countersign/agent"
	"countersign/approvals"
)

// costLimit bounds the evaluation of an expression: about a tenth of a second, far above what a sensible one needs.
const costLimit = 1_000_000

// maxExpression bounds the length of an expression.
const maxExpression = 8 << 10

// ErrNotBoolean is returned by a gate whose expression gave something other than true or false.
var ErrNotBoolean = errors.New("expression did not give true or false")

// GateConfig says what to compile.
type GateConfig struct {
	// Expression decides whether a call is asked about. It sees args, tool, agent, requester, channel and call_id.
	Expression string
	// Parameters is the JSON Schema of the tool's arguments; nil leaves them untyped.
	Parameters json.RawMessage
}

// CompileGate returns a gate for Tool.NeedsApproval, or an [*Error] that says where the expression is wrong. requester
// and channel are known when the call's RunContext holds the [*approvals.Run]; an expression that needs them asks
// otherwise.
func CompileGate(cfg GateConfig) (func(context.Context, *agent.ToolCall) (bool, error), error) {
	if len(cfg.Expression) > maxExpression {
		long := fmt.Sprintf("the expression is longer than %d bytes", maxExpression)
		return nil, &Error{Mistakes: []Mistake{{1, 1, long}}}
	}
	shapes, err := newShapes(cfg.Parameters)
	if err != nil {
		return nil, fmt.Errorf("schema of the arguments: %w", err)
	}
	env, err := cel.NewEnv(
		cel.CustomTypeProvider(shapes),
		cel.CrossTypeNumericComparisons(true),
		cel.Variable("args", shapes.root.typ),
		cel.Variable("tool", cel.StringType),
		cel.Variable("agent", cel.StringType),
		cel.Variable("requester", cel.StringType),
		cel.Variable("channel", cel.StringType),
		cel.Variable("call_id", cel.StringType),
	)
	if err != nil {
		return nil, fmt.Errorf("expression environment: %w", err)
	}
	g := &gate{args: shapes.root}
	if g.program, err = compile(env, cfg.Expression); err != nil {
		return nil, err
	}
	return g.ask, nil
}

func compile(env *cel.Env, expression string) (cel.Program, error) {
	checked, issues := env.Compile(expression)
	if issues.Err() != nil {
		return nil, newError(issues)
	}
	if t := checked.OutputType(); !t.IsExactType(cel.BoolType) && !t.IsExactType(cel.DynType) {
		return nil, &Error{Mistakes: []Mistake{{1, 1, fmt.Sprintf("the expression gives %s, not true or false", t)}}}
	}
	return env.Program(checked,
		cel.EvalOptions(cel.OptOptimize),
		cel.CostLimit(costLimit),
		cel.InterruptCheckFrequency(100),
	)
}

// gate evaluates one expression. It is safe for concurrent use.
type gate struct {
	program cel.Program
	args    *shape
}

// ask reports whether the call needs approval. The result is true whenever the error is not nil. The error never holds
// a value of the arguments.
func (g *gate) ask(ctx context.Context, call *agent.ToolCall) (bool, error) {
	args, err := g.args.decode(call.Arguments)
	if err != nil {
		return true, err
	}
	vars := map[string]any{"args": args, "tool": call.Tool, "agent": call.Agent, "call_id": call.ID}
	if run, ok := runOf(call); ok {
		vars["requester"] = run.Requester.Local()
		vars["channel"] = run.Place.Channel
	}
	out, _, err := g.program.ContextEval(ctx, vars)
	if err != nil {
		return true, fmt.Errorf("evaluate the gate of %s: %w", call.Tool, &evaluationError{err})
	}
	answer, ok := out.Value().(bool)
	if !ok {
		return true, fmt.Errorf("evaluate the gate of %s: %w", call.Tool, ErrNotBoolean)
	}
	return answer, nil
}

func runOf(call *agent.ToolCall) (*approvals.Run, bool) {
	if call.Run == nil {
		return nil, false
	}
	run, ok := call.Run.Value.(*approvals.Run)
	return run, ok && run != nil
}

// evaluationError keeps the cause for errors.Is and leaves its text out: it can quote arguments.
type evaluationError struct{ cause error }

func (*evaluationError) Error() string {
	return "the expression cannot be evaluated for these arguments"
}

func (e *evaluationError) Unwrap() error { return e.cause }
