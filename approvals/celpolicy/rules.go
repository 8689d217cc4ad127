package celpolicy

import (
	"context"
	"net/url"
	"strings"

	"cel.dev/cel-go/cel"

	"countersign/approvals"
)

// Condition is a compiled expression that says which requests a policy is for. It is safe for concurrent use.
type Condition struct {
	program cel.Program
	vars    Vars
}

// CompileCondition compiles an expression over args, tool, agent, requester, channel, call_id and vars, or returns an
// [*Error] that says where it is wrong. A policy can be for many tools, so args has no known fields.
func CompileCondition(expression string, vars Vars) (*Condition, error) {
	env, err := newEnvironment(nil, vars)
	if err != nil {
		return nil, err
	}
	c := &Condition{vars: vars}
	c.program, err = env.compile(expression)
	return c, err
}

// holds reports whether the condition holds, or cannot be evaluated: a policy whose condition fails applies. The error
// is that of a context that ended, of which nothing follows for the request.
func (c *Condition) holds(ctx context.Context, s *subject) (bool, error) {
	if c == nil {
		return true, nil
	}
	holds, err := evaluate(ctx, c.program, s.values(c.vars))
	if err != nil {
		return true, ctx.Err()
	}
	return holds, nil
}

// Rule is a policy for the requests that fulfil a condition.
type Rule struct {
	When *Condition // nil: every request
	Then *Static
}

// Rules are policies in order, of which the first whose condition holds says who must agree. A condition that cannot be
// evaluated, because of an error, its cost, or a result other than true or false, counts as one that holds.
type Rules struct {
	Rules   []Rule
	Default approvals.Policy // where no condition holds
}

var _ approvals.Policy = (*Rules)(nil)

// Requirement returns what the first matching policy asks for. It depends on the request alone; its error is that of
// the policy, or of ctx when that ended.
func (p *Rules) Requirement(ctx context.Context, r *approvals.Request) (approvals.Requirement, error) {
	if len(p.Rules) > 0 {
		s := subjectOf(r)
		for _, rule := range p.Rules {
			holds, err := rule.When.holds(ctx, s)
			if err != nil {
				return approvals.Requirement{}, err
			}
			if holds {
				return rule.Then.Requirement(ctx, r)
			}
		}
	}
	return p.Default.Requirement(ctx, r)
}

// subjectOf is the call that the request is about. Arguments that are no JSON object are missing from it.
func subjectOf(r *approvals.Request) *subject {
	s := &subject{
		tool: r.Tool.Name, agent: r.Agent, callID: callID(r.Interruption), requester: r.Requester, place: r.Place,
	}
	if args, err := dynamic().decode(r.Arguments); err == nil {
		s.args = args
	}
	return s
}

// callID is the provider's id of the call, the last part of the id of its interruption.
func callID(interruption string) string {
	last := interruption[strings.LastIndexByte(interruption, '/')+1:]
	if id, err := url.PathUnescape(last); err == nil {
		return id
	}
	return last
}
