package celpolicy

import (
	"context"
	"errors"
	"fmt"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"

	"countersign/approvals"
)

// costLimit bounds the evaluation of an expression: about a tenth of a second, far above what a sensible one needs.
const costLimit = 1_000_000

// maxExpression bounds the length of an expression.
const maxExpression = 8 << 10

// ErrNotBoolean is returned by a gate whose expression gave something other than true or false.
var ErrNotBoolean = errors.New("expression did not give true or false")

// parse reads an expression. Its error is an [*Error].
func (e *environment) parse(source string) (*cel.Ast, error) {
	if len(source) > maxExpression {
		return nil, wholly("the expression is longer than %d bytes", maxExpression)
	}
	parsed, issues := e.env.Parse(source)
	if issues.Err() != nil {
		return nil, syntaxError(issues)
	}
	return parsed, nil
}

// compiled is an expression ready to be evaluated. It is safe for concurrent use.
type compiled struct {
	program cel.Program
	reads   reads
	words   string // see wordsOf
}

// compile checks an expression. Its error is an [*Error] that says where the expression is wrong.
func (e *environment) compile(source string) (*compiled, error) {
	parsed, err := e.parse(source)
	if err != nil {
		return nil, err
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
	c := &compiled{reads: readsOf(checked), words: e.wordsOf(parsed)}
	options := cel.OptOptimize
	if len(c.reads.facts) > 0 {
		options |= cel.OptPartialEval
	}
	c.program, err = e.env.Program(checked,
		cel.EvalOptions(options),
		cel.CostLimit(costLimit),
		cel.InterruptCheckFrequency(100),
	)
	if err != nil { // for instance a pattern that is none
		return nil, wholly("%v", err)
	}
	return c, nil
}

// ErrFactUnknown is returned by a gate whose expression depends on what the directory cannot tell.
var ErrFactUnknown = errors.New("it cannot be found out what the expression depends on")

// answer evaluates the expression for the subject. A [*approvals.MissingFactsError] says what it depends on that nobody
// has asked for yet. Facts that it could do without, being what the rest is, are not asked for.
func (c *compiled) answer(ctx context.Context, s *subject, vars Vars) (bool, error) {
	values := s.values(vars)
	if s.requester == "" { // nobody to ask about
		return c.evaluate(ctx, values)
	}
	unknown := c.reads.unknown(s.known)
	if len(unknown) == 0 {
		return c.evaluate(ctx, values)
	}
	partly, err := cel.PartialVars(values, unknown...)
	if err != nil {
		return false, &evaluationError{err}
	}
	answer, err := c.evaluate(ctx, partly)
	if missing := s.known.Missing(c.reads.facts); errors.Is(err, ErrFactUnknown) && len(missing) > 0 {
		return false, &approvals.MissingFactsError{Facts: missing}
	}
	return answer, err
}

// evaluate returns the expression's answer for a map of values or a partial activation. Its error never holds a value
// of the arguments.
func (c *compiled) evaluate(ctx context.Context, values any) (bool, error) {
	out, _, err := c.program.ContextEval(ctx, values)
	if err != nil {
		return false, &evaluationError{err}
	}
	if types.IsUnknown(out) {
		return false, ErrFactUnknown
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
