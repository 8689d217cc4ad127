package celpolicy

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strings"

	"countersign/approvals"
)

// Condition is a compiled expression that says which requests a policy is for. It is safe for concurrent use.
type Condition struct {
	source     string
	expression *compiled
	args       *shape // of calls of the tool that the condition is for; nil: of none in particular
	tool       string // that it can hold for alone; empty: for any
	vars       Vars
	values     []approvals.PolicyVar
	shown      []approvals.PolicyVar // values, as far as people may read them
}

// CompileCondition compiles an expression over args, tool, agent, requester, channel, call_id and vars, or returns an
// [*Error] that says where it is wrong. A policy can be for many tools, so args has no known fields.
func CompileCondition(expression string, vars Vars) (*Condition, error) {
	return CompileToolCondition(expression, vars, nil)
}

// CompileToolCondition is CompileCondition with what is known of the tools. Where the expression can only hold for one
// tool, being tool == "NAME" && …, args has the fields of that tool's schema.
func CompileToolCondition(expression string, vars Vars, tools Schemas) (*Condition, error) {
	env, err := newEnvironment(nil, vars)
	if err != nil {
		return nil, err
	}
	c := &Condition{source: expression, vars: vars}
	parsed, err := env.parse(expression)
	if err != nil {
		return nil, err
	}
	if name, ok := pinned(parsed.NativeRep().Expr()); ok {
		c.tool = name
	}
	if schema := tools[c.tool]; len(schema) > 0 {
		if env, err = newEnvironment(schema, vars); err != nil {
			return nil, err
		}
		c.args = env.args
	}
	if c.expression, err = env.compile(expression); err != nil {
		return nil, err
	}
	c.values, err = c.expression.reads.values(vars)
	c.shown = c.values
	return c, err
}

// Tool returns the name of the one tool that the condition can hold for, being tool == "NAME" && …; empty: it is for
// none in particular.
func (c *Condition) Tool() string { return c.tool }

// Hide has what is recorded of the condition, for people to read, hold words in the place of the variable's value. The
// policy's hash goes by the value still.
func (c *Condition) Hide(name, words string) {
	c.shown = slices.Clone(c.shown)
	for i := range c.shown {
		if c.shown[i].Name == name {
			quoted, _ := json.Marshal(words) // a text
			c.shown[i].Value = string(quoted)
		}
	}
}

// holds reports whether the condition holds, or cannot be evaluated: a policy whose condition fails applies. truly says
// which of the two it is. The error is that of a context that ended, of which nothing follows for the request, or a
// [*approvals.MissingFactsError].
func (c *Condition) holds(ctx context.Context, s *subject, r *approvals.Request) (holds, truly bool, err error) {
	if c == nil {
		return true, true, nil
	}
	if c.args != nil && c.tool == s.tool {
		typed := *s
		typed.args = nil
		if args, err := c.args.decode(r.Arguments); err == nil {
			typed.args = args
		}
		s = &typed
	}
	holds, err = c.expression.answer(ctx, s, c.vars)
	if missing, ok := errors.AsType[*approvals.MissingFactsError](err); ok {
		return true, false, missing
	}
	if err != nil {
		return true, false, ctx.Err()
	}
	return holds, holds, nil
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

// Requirement returns what the first matching policy asks for. It depends on the request and the facts alone; its error
// is that of the policy, of ctx when that ended, or says which facts are missing to tell whether a policy matches.
func (p *Rules) Requirement(
	ctx context.Context, r *approvals.Request, known approvals.PolicyFacts,
) (approvals.Requirement, error) {
	if len(p.Rules) > 0 {
		s := subjectOf(r)
		s.known = known
		for _, rule := range p.Rules {
			holds, truly, err := rule.When.holds(ctx, s, r)
			if err != nil {
				return approvals.Requirement{}, err
			}
			if holds {
				return rule.Then.requirement(r.Workspace, rule.When, truly)
			}
		}
	}
	return p.Default.Requirement(ctx, r, known)
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
