package celpolicy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"countersign/agent"
	"countersign/approvals"
)

// GateConfig says what to compile.
type GateConfig struct {
	// Expression decides whether a call is asked about. It sees args, tool, agent, requester, channel, call_id and
	// vars.
	Expression string
	// Parameters is the JSON Schema of the tool's arguments; nil leaves them untyped.
	Parameters json.RawMessage
	// Vars are what the expression may read as vars.NAME.
	Vars Vars
}

// CompileGate returns a gate for a tool, or an [*Error] that says where the expression is wrong. requester
// and channel are known when the call's RunContext holds the [*approvals.Run]; what the directory knows of them is
// found out by [approvals.FindFacts], when the expression depends on it. An expression that needs what is not known
// asks.
func CompileGate(cfg GateConfig) (*Gate, error) {
	env, err := newEnvironment(cfg.Parameters, cfg.Vars)
	if err != nil {
		return nil, err
	}
	g := &Gate{args: env.args, vars: cfg.Vars}
	if g.expression, err = env.compile(cfg.Expression); err != nil {
		return nil, err
	}
	return g, nil
}

// Gate evaluates one expression. It is safe for concurrent use.
type Gate struct {
	expression *compiled
	args       *shape
	vars       Vars
}

// Because is for Tool.Because: the expression in words for people, where it is what asks about the call.
func (g *Gate) Because(ctx context.Context, call *agent.ToolCall) string {
	if asks, err := g.Ask(ctx, call); err != nil || !asks {
		return ""
	}
	return g.expression.words
}

// Ask is for Tool.NeedsApproval. It reports whether the call needs approval. The result is true whenever the error is
// not nil. The error never holds a value of the arguments.
func (g *Gate) Ask(ctx context.Context, call *agent.ToolCall) (bool, error) {
	args, err := g.args.decode(call.Arguments)
	if err != nil {
		return true, err
	}
	s := subject{args: args, tool: call.Tool, agent: call.Agent, callID: call.ID}
	run, ok := runOf(call)
	if ok {
		s.requester, s.place = run.Requester, run.Place
	}
	answer, err := g.expression.answer(ctx, &s, g.vars)
	if missing, asks := errors.AsType[*approvals.MissingFactsError](err); asks {
		s.known = approvals.FindFacts(ctx, run, missing.Facts)
		answer, err = g.expression.answer(ctx, &s, g.vars)
	}
	if err != nil {
		return true, fmt.Errorf("evaluate the gate of %s: %w", call.Tool, err)
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
