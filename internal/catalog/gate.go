package catalog

import (
	"context"
	"errors"

	"countersign/agent"
	"countersign/approvals/celpolicy"
	"countersign/internal/agentsfile"
)

// gate sets when the tool asks. Without a word in the file, functions keep the gate they were registered with, and
// HTTP calls that can change something ask.
func (b *builder) gate(t *agentsfile.Tool, tool *agent.Tool) bool {
	switch t.Gate.Ask {
	case agentsfile.AskAlways:
		tool.NeedsApproval = agent.AlwaysAsk
	case agentsfile.AskNever:
		tool.NeedsApproval = nil
	case agentsfile.AskIf:
		gate, err := celpolicy.CompileGate(celpolicy.GateConfig{
			Expression: t.Gate.Expression, Parameters: tool.Parameters, Vars: b.vars,
		})
		if err != nil {
			b.expression(t.Gate.At, "needs_approval of "+t.Name, err)
			return false
		}
		tool.NeedsApproval, tool.Because = gate.Ask, gate.Because
	default:
		b.defaultGate(t, tool)
	}
	tool.Audit = t.Audit
	if t.Audit && tool.NeedsApproval == nil {
		b.problem(t.Position, "`approval: audit` records what needs_approval says yes to, and tool %q has no gate",
			t.Name)
		return false
	}
	if (tool.NeedsApproval != nil && !tool.Audit || tool.External) && b.gated == nil {
		b.gated = t
	}
	if t.Type == agentsfile.HostedMCP && t.Gate.Ask == agentsfile.AskNever {
		tool.NeedsApproval = askNever // without a gate, people are asked what the provider asks
	}
	return true
}

func askNever(context.Context, *agent.ToolCall) (bool, error) { return false, nil }

// defaultGate is the gate of a tool of which the file says nothing: what can change something asks.
func (b *builder) defaultGate(t *agentsfile.Tool, tool *agent.Tool) {
	switch t.Type {
	case agentsfile.Function, agentsfile.WebSearch, agentsfile.AgentTool, agentsfile.AskTool:
	case agentsfile.HTTP:
		if !safeMethod(t.Method) {
			tool.NeedsApproval = agent.AlwaysAsk
		}
	case agentsfile.HostedMCP: // of what the provider asks, people are asked everything
		if t.Require != "never" && t.Require != false {
			tool.NeedsApproval = agent.AlwaysAsk
		}
	default:
		tool.NeedsApproval = agent.AlwaysAsk
	}
}

func safeMethod(method string) bool { return method == "GET" || method == "HEAD" }

// expression notes where in the file an expression is wrong; at is its place, and what says which it is.
func (b *builder) expression(at func(line, column int) agentsfile.Position, what string, err error) {
	e, ok := errors.AsType[*celpolicy.Error](err)
	if !ok {
		b.problem(at(1, 1), "%s: %v", what, err)
		return
	}
	for _, m := range e.Mistakes {
		b.problem(at(m.Line, m.Column), "%s: %s", what, m.Message)
	}
}
