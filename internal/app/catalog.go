package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"countersign/agent"
	"countersign/agent/mcptoolset"
	"countersign/agent/openaimodel"
	"countersign/approvals"
	"countersign/approvals/celpolicy"
	"countersign/internal/agentsfile"
)

// catalog is an agents file made ready to run: its agents and its policy.
type catalog struct {
	file   *agentsfile.File
	agents map[string]approvals.AgentConfig
	policy approvals.Policy
	tools  []toolRow
	used   map[serverKey]bool // the MCP servers that it needs
}

// toolRow is what check says about a tool.
type toolRow struct {
	Agent string              `json:"agent"`
	Tool  string              `json:"tool"`
	Type  string              `json:"type"`
	Gate  string              `json:"gate"`
	Call  string              `json:"call,omitempty"`
	set   *mcptoolset.Toolset // of a row that stands for the tools of an MCP server
	key   serverKey           // of that server
}

var (
	_ approvals.Agents = (*catalog)(nil)
	_ approvals.Policy = (*catalog)(nil)
)

// Agent is part of approvals.Agents.
func (c *catalog) Agent(name string) (approvals.AgentConfig, error) {
	a, ok := c.agents[name]
	if !ok {
		return approvals.AgentConfig{}, fmt.Errorf("agent %q: %w", name, approvals.ErrNotFound)
	}
	return a, nil
}

// Requirement is part of approvals.Policy.
func (c *catalog) Requirement(ctx context.Context, r *approvals.Request) (approvals.Requirement, error) {
	return c.policy.Requirement(ctx, r)
}

// requesters are the people who may start runs in the workspace.
func (c *catalog) requesters(ws approvals.WorkspaceID) approvals.Approvers {
	p := c.file.Requesters
	return celpolicy.People(ws, p.Users, p.Groups, p.ChannelMembers)
}

func (c *catalog) limits() approvals.Limits {
	l := c.file.Limits
	return approvals.Limits{RunsPerPerson: l.RunsPerPerson, RunsPerChannel: l.RunsPerChannel, PendingPerPerson: l.PendingPerPerson}
}

// builder makes a catalog of a file.
type builder struct {
	functions []agent.Tool
	model     func(*agentsfile.Agent) (agent.Model, error)
	servers   *mcpServers

	file     *agentsfile.File
	used     map[serverKey]bool // of servers
	agents   map[string]*agent.Agent
	problems agentsfile.Problems
	gated    *agentsfile.Tool // the first gated tool
	rows     []toolRow
}

// build returns the catalog, or agentsfile.Problems.
func (b *builder) build(f *agentsfile.File) (*catalog, error) {
	c := &catalog{file: f, agents: make(map[string]approvals.AgentConfig), policy: policyOf(f.DefaultPolicy)}
	b.file, b.agents, b.used = f, make(map[string]*agent.Agent), make(map[serverKey]bool)
	for _, a := range f.Agents { // agents refer to each other
		b.agents[a.Name] = &agent.Agent{Name: a.Name, Instructions: a.Instructions.Value, Settings: a.Settings}
	}
	for _, a := range f.Agents {
		b.agent(a)
		c.agents[a.Name] = approvals.AgentConfig{Agent: b.agents[a.Name], MaxTurns: a.MaxTurns, HistoryTokens: a.HistoryTokens}
	}
	if b.gated != nil && f.DefaultPolicy == nil {
		b.problem(b.gated.Position, "tool %q needs approval and the file has no `default_policy`: nobody could approve. "+
			"Add one, for instance\n  default_policy: { approvers: { channel_members: true } }", b.gated.Name)
	}
	b.checkAgents()
	if len(b.problems) > 0 {
		return nil, b.problems
	}
	c.tools, c.used = b.rows, b.used
	return c, nil
}

// checkAgents finds what makes sense in every part and not together, for instance two shells in the provider's own form.
func (b *builder) checkAgents() {
	if len(b.problems) > 0 {
		return // half an agent has more wrong with it than the file
	}
	seen := make(map[string]bool) // several agents may lead to the same one
	for _, a := range b.file.Agents {
		if err := b.agents[a.Name].Check(); err != nil && !seen[err.Error()] {
			seen[err.Error()] = true
			b.refused(a.Position, "agent "+a.Name, err)
		}
	}
}

func (b *builder) problem(at agentsfile.Position, format string, args ...any) {
	b.problems = append(b.problems, &agentsfile.Problem{Position: at, Message: fmt.Sprintf(format, args...)})
}

// refused notes why a part cannot be made. Errors about its configuration name the part themselves.
func (b *builder) refused(at agentsfile.Position, part string, err error) {
	if errors.Is(err, agent.ErrConfig) {
		b.problem(at, "%s", strings.TrimPrefix(err.Error(), agent.ErrConfig.Error()+": "))
		return
	}
	b.problem(at, "%s: %v", part, err)
}

// agent fills in an agent of the file.
func (b *builder) agent(a *agentsfile.Agent) {
	built := b.agents[a.Name]
	var err error
	if built.Model, err = b.model(a); err != nil {
		b.problem(a.Position, "model %s: %v", a.Model, err)
	}
	for _, t := range a.Tools {
		if t.Type == agentsfile.MCP {
			b.toolset(a, built, t)
			continue
		}
		b.needsResponses(a, t)
		tool, ok := b.tool(t)
		if !ok || !b.gate(t, &tool) {
			continue
		}
		built.Tools = append(built.Tools, tool)
		b.row(a, t, &tool)
	}
	for _, h := range a.Handoffs {
		to := b.agents[h.Name]
		built.Handoffs = append(built.Handoffs, agent.Handoff{Agent: to, Description: handoffWords(b.file.Agent(h.Name))})
		b.rows = append(b.rows, toolRow{Agent: a.Name, Tool: "transfer_to_" + h.Name, Type: "handoff", Gate: "never asks"})
	}
}

// needsResponses notes what the other API has no words for.
func (b *builder) needsResponses(a *agentsfile.Agent, t *agentsfile.Tool) {
	if a.API != string(openaimodel.Responses) && (t.Native || t.Type == agentsfile.HostedMCP || t.Type == agentsfile.WebSearch) {
		what := string(t.Type)
		if t.Native {
			what = "native: true"
		}
		b.problem(t.Position, "%s needs `api: responses`; agent %s has `api: %s`", what, a.Name, a.API)
	}
}

func (b *builder) tool(t *agentsfile.Tool) (agent.Tool, bool) {
	var tool agent.Tool
	var err error
	switch t.Type {
	case agentsfile.Function:
		return b.function(t)
	case agentsfile.HTTP:
		tool, err = newHTTPTool(t)
	case agentsfile.Shell:
		tool, err = newShellTool(t)
	case agentsfile.ApplyPatch:
		tool, err = newPatchTool(t)
	case agentsfile.HostedMCP:
		return b.hostedMCP(t)
	case agentsfile.WebSearch:
		tool = agent.Tool{Name: t.Name, Kind: agent.KindWebSearch, Wire: agent.WireHosted, Hosted: json.RawMessage(`{"type":"web_search"}`), Idempotent: true}
	case agentsfile.External:
		tool, err = newExternalTool(t)
	case agentsfile.AgentTool:
		tool = b.agents[t.Agent.Name].AsToolWith(agent.AsToolOptions{Name: t.Name, Description: t.Description, MaxTurns: t.MaxTurns})
	}
	if err != nil {
		b.refused(t.Position, fmt.Sprintf("%s tool %q", t.Type, t.Name), err)
		return tool, false
	}
	return tool, true
}

// function finds the registered function and lays the file's wishes over it.
func (b *builder) function(t *agentsfile.Tool) (agent.Tool, bool) {
	i := slices.IndexFunc(b.functions, func(f agent.Tool) bool { return f.Name == t.Name })
	if i < 0 {
		b.problem(t.Position, "no function called %q is registered in this program%s", t.Name, b.suggest(t.Name))
		return agent.Tool{}, false
	}
	tool := b.functions[i]
	if t.Version != "" {
		tool.Version = t.Version
	}
	if t.Timeout > 0 {
		tool.Timeout = t.Timeout
	}
	if t.Idempotent != nil {
		tool.Idempotent = *t.Idempotent
	}
	return tool, true
}

func (b *builder) suggest(name string) string {
	names := make([]string, len(b.functions))
	for i, f := range b.functions {
		names[i] = f.Name
	}
	if near := agentsfile.Nearest(name, names); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return "; it has " + strings.Join(names, ", ")
}

// gate sets when the tool asks. Without a word in the file, functions keep the gate they were registered with, and
// HTTP calls that can change something ask.
func (b *builder) gate(t *agentsfile.Tool, tool *agent.Tool) bool {
	switch t.Gate.Ask {
	case agentsfile.AskAlways:
		tool.NeedsApproval = agent.AlwaysAsk
	case agentsfile.AskNever:
		tool.NeedsApproval = nil
	case agentsfile.AskIf:
		gate, err := celpolicy.CompileGate(celpolicy.GateConfig{Expression: t.Gate.Expression, Parameters: tool.Parameters})
		if err != nil {
			b.expression(t, err)
			return false
		}
		tool.NeedsApproval = gate
	default:
		b.defaultGate(t, tool)
	}
	tool.Audit = t.Audit
	if t.Audit && tool.NeedsApproval == nil {
		b.problem(t.Position, "`approval: audit` records what needs_approval says yes to, and tool %q has no gate", t.Name)
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
	case agentsfile.Function, agentsfile.WebSearch, agentsfile.AgentTool:
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

// expression notes where in the file an expression is wrong.
func (b *builder) expression(t *agentsfile.Tool, err error) {
	e, ok := errors.AsType[*celpolicy.Error](err)
	if !ok {
		b.problem(t.Gate.At(1, 1), "needs_approval of %s: %v", t.Name, err)
		return
	}
	for _, m := range e.Mistakes {
		b.problem(t.Gate.At(m.Line, m.Column), "needs_approval of %s: %s", t.Name, m.Message)
	}
}

func (b *builder) row(a *agentsfile.Agent, t *agentsfile.Tool, tool *agent.Tool) {
	r := toolRow{Agent: a.Name, Tool: t.Name, Type: string(t.Type), Gate: gateWords(t, tool)}
	switch t.Type {
	case agentsfile.HTTP:
		r.Call = t.Method + " " + t.URL.Written
	case agentsfile.Shell, agentsfile.ApplyPatch:
		r.Call = t.Directory.Written
	case agentsfile.HostedMCP:
		r.Call = t.URL.Written
	case agentsfile.AgentTool:
		r.Call = "agent " + t.Agent.Name
	}
	b.rows = append(b.rows, r)
}

func gateWords(t *agentsfile.Tool, tool *agent.Tool) string {
	switch {
	case tool.Audit && t.Gate.Ask == agentsfile.AskIf:
		return "records if " + t.Gate.Expression
	case tool.Audit:
		return "records every call"
	case t.Gate.Ask == agentsfile.AskIf:
		return "asks if " + t.Gate.Expression
	case t.Gate.Ask == agentsfile.AskDefault && t.Type == agentsfile.Function && tool.NeedsApproval != nil:
		return "asks as the function says"
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

// policyOf makes the policy of the file's words.
func policyOf(p *agentsfile.Policy) approvals.Policy {
	if p == nil {
		return celpolicy.None{}
	}
	s := &celpolicy.Static{
		Name: "default_policy", Users: p.Approvers.Users, Groups: p.Approvers.Groups, ChannelMembers: p.Approvers.ChannelMembers,
		Quorum: p.Quorum, DenyQuorum: p.DenyQuorum, SelfApproval: p.SelfApproval,
		ExpiresIn: p.ExpiresIn, OnExpiry: approvals.OnExpiry(p.OnExpiry), ValidFor: p.ValidFor,
	}
	for _, scope := range p.AlwaysScopes {
		s.Always = append(s.Always, approvals.Scope(scope))
	}
	return s
}
