package celpolicy

import (
	"context"
	"errors"
	"fmt"

	"cel.dev/cel-go/cel"
)

// costLimit bounds the evaluation of an expression: about a tenth of a second, far above what a sensible one needs.
const costLimit = 1_000_000

// maxExpression bounds the length of an expression.
const maxExpression = 8 << 10

// ErrNotBoolean is returned by a gate whose expression gave something other than true or false.
var ErrNotBoolean = errors.New("expression did not give true or false")

// compile checks an expression. Its error is an [*Error] that says where the expression is wrong.
func (e *environment) compile(source string) (cel.Program, error) {
	if len(source) > maxExpression {
		return nil, wholly("the expression is longer than %d bytes", maxExpression)
	}
	parsed, issues := e.env.Parse(source)
	if issues.Err() != nil {
		return nil, syntaxError(issues)
	}
	if err := e.misused(parsed); err != nil {
		return nil, err
	}
	checked, issues := e.env.Check(parsed)
	if issues.Err() != nil {
		return nil, e.typeError(parsed, issues)
	}
	if t := checked.OutputType(); !t.IsExactType(cel.BoolType) && !t.IsExactType(cel.DynType) {
		return nil, wholly("the expression gives %s, not true or false", typeWord(t.String()))
	}
	program, err := e.env.Program(checked,
		cel.EvalOptions(cel.OptOptimize),
		cel.CostLimit(costLimit),
		cel.InterruptCheckFrequency(100),
	)
	if err != nil { // for instance a pattern that is none
		return nil, wholly("%v", err)
	}
	return program, nil
}

// evaluate returns the expression's answer. Its error never holds a value of the arguments.
func evaluate(ctx context.Context, program cel.Program, values map[string]any) (bool, error) {
	out, _, err := program.ContextEval(ctx, values)
	if err != nil {
		return false, &evaluationError{err}
	}
	answer, ok := out.Value().(bool)
	if !ok {
		return false, ErrNotBoolean
	}
	return answer, nil
}

// evaluationError keeps the cause for errors.Is and leaves its text out: it can quote arguments.
type evaluationError struct{ cause error }

func (*evaluationError) Error() string {
	return "the expression cannot be evaluated for these arguments"
}

func (e *evaluationError) Unwrap() error { return e.cause }

// wholly is a mistake of the expression as a whole.
func wholly(format string, args ...any) *Error {
	return &Error{Mistakes: []Mistake{{1, 1, fmt.Sprintf(format, args...)}}}
}
