package catalog

import (
	"errors"
	"slices"

	"countersign/agent"
	"countersign/agent/guardrail"
	"countersign/approvals/celpolicy"
	"countersign/internal/agentsfile"
)

// guardAgent gives the agent the guardrails of the file.
func (b *builder) guardAgent(a *agentsfile.Agent, built *agent.Agent) {
	for _, g := range a.Guardrails {
		cfg := celpolicy.GuardrailConfig{Name: g.Name, Expression: g.When, Verdict: g.Verdict, Vars: b.vars}
		if g.Output {
			check, err := celpolicy.CompileOutputGuardrail(cfg)
			b.guardrail(g, err)
			built.OutputGuardrails = append(built.OutputGuardrails, check)
			continue
		}
		check, err := celpolicy.CompileInputGuardrail(cfg)
		b.guardrail(g, err)
		built.InputGuardrails = append(built.InputGuardrails, check)
	}
}

// guardTool gives the tool the guardrails of the file, behind those that a function was registered with.
func (b *builder) guardTool(t *agentsfile.Tool, tool *agent.Tool) {
	tool.InputGuardrails = slices.Clone(tool.InputGuardrails)
	tool.OutputGuardrails = slices.Clone(tool.OutputGuardrails)
	for _, g := range t.Guardrails {
		cfg := celpolicy.GuardrailConfig{
			Name: g.Name, Expression: g.When, Verdict: g.Verdict,
			Parameters: tool.Parameters, BeforeApproval: g.BeforeApproval, Vars: b.vars,
		}
		if g.Verdict.Action == guardrail.AskAgain && b.gated == nil {
			b.gated = t
		}
		if g.Output {
			check, err := celpolicy.CompileToolOutputGuardrail(cfg)
			b.guardrail(g, err)
			tool.OutputGuardrails = append(tool.OutputGuardrails, check)
			continue
		}
		check, err := celpolicy.CompileToolInputGuardrail(cfg)
		b.guardrail(g, err)
		tool.InputGuardrails = append(tool.InputGuardrails, check)
	}
}

// guardrail notes where in the file the expression of a guardrail is wrong, if it is.
func (b *builder) guardrail(g *agentsfile.Guardrail, err error) {
	if e, ok := errors.AsType[*celpolicy.Error](err); ok {
		for _, m := range e.Mistakes {
			b.problem(g.At(m.Line, m.Column), "guardrail %s: %s", g.Name, m.Message)
		}
	} else if err != nil {
		b.problem(g.Position, "guardrail %s: %v", g.Name, err)
	}
}
