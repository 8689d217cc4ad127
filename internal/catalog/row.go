package catalog

import (
	"slices"

	"countersign/agent"
	"countersign/agent/guardrail"
	"countersign/agent/mcptoolset"
	"countersign/internal/agentsfile"
)

// Row is a tool in words. Of an MCP server, which may offer others each time, one row with a "*" in Tool stands for
// all.
type Row struct {
	Agent string `json:"agent"`
	Tool  string `json:"tool"`
	Type  string `json:"type"`           // as in the agents file, or handoff
	Gate  string `json:"gate"`           // when it asks
	Call  string `json:"call,omitempty"` // what it reaches, as the file has it: variables are not expanded

	set *mcptoolset.Toolset // of a row that stands for the tools of an MCP server
	key serverKey           // of that server
}

// Rows are the tools of all agents in the order of the file.
func (c *Catalog) Rows() []Row { return c.rows }

func (b *builder) row(a *agentsfile.Agent, t *agentsfile.Tool, tool *agent.Tool) {
	r := Row{Agent: a.Name, Tool: t.Name, Type: string(t.Type), Gate: gateWords(t, tool)}
	switch t.Type {
	case agentsfile.HTTP:
		r.Call = t.Method + " " + t.URL.Written
	case agentsfile.Shell, agentsfile.ApplyPatch:
		r.Call = t.Directory.Written
	case agentsfile.HostedMCP:
		r.Call = t.URL.Written
	case agentsfile.External:
		if t.Trigger != nil {
			r.Call = t.Trigger.Method + " " + t.Trigger.URL.Written
		}
	case agentsfile.AgentTool:
		r.Call = "agent " + t.Agent.Name
	}
	b.rows = append(b.rows, r)
}

func gateWords(t *agentsfile.Tool, tool *agent.Tool) string {
	asksAgain := slices.ContainsFunc(t.Guardrails, func(g *agentsfile.Guardrail) bool {
		return g.Verdict.Action == guardrail.AskAgain
	})
	switch {
	case len(tool.Fields)+len(tool.Proposed) > 0 && tool.NeedsApproval == nil && !tool.External:
		return "asks people for values"
	case tool.NeedsApproval == nil && !tool.External && asksAgain:
		return "asks if a guardrail says so"
	case tool.Audit && t.Gate.Ask == agentsfile.AskIf:
		return "records if " + t.Gate.Expression
	case tool.Audit:
		return "records every call"
	case t.Gate.Ask == agentsfile.AskIf:
		return "asks if " + t.Gate.Expression
	case t.Gate.Ask == agentsfile.AskDefault && t.Type == agentsfile.Function && tool.NeedsApproval != nil:
		return "asks as the function says"
	case t.Type == agentsfile.AskTool:
		return "asks people, and waits for their answer"
	case tool.External && tool.NeedsApproval != nil:
		return "always asks, then waits for the result"
	case tool.External:
		return "waits for the result"
	case t.Type == agentsfile.HostedMCP:
		return hostedWords(t)
	case tool.NeedsApproval != nil:
		return "always asks"
	}
	return "never asks"
}
