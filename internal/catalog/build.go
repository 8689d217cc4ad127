package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"countersign/agent"
	"countersign/agent/asktool"
	"countersign/agent/history"
	"countersign/agent/openaimodel"
	"countersign/approvals"
	"countersign/approvals/celpolicy"
	"countersign/internal/agentsfile"
)

// Config is what a catalog is made with beside the file. All fields are needed but Functions.
type Config struct {
	// Functions are the Go functions that tools of type function may name.
	Functions []agent.Tool
	// Model makes the model of an agent. NoModel is one for programs that run no agents.
	Model func(*agentsfile.Agent) (agent.Model, error)
	// Servers are the MCP servers that are open. Those that the file declares are taken from there or added.
	Servers *Servers
}

// Build makes the catalog of the file. What is wrong with it is returned together, as agentsfile.Problems.
func Build(f *agentsfile.File, cfg Config) (*Catalog, error) {
	b := &builder{
		Config: cfg, file: f, agents: make(map[string]*agent.Agent), used: make(map[serverKey]bool),
		vars: varsOf(f.Vars), triggers: make(map[triggerKey]approvals.Trigger),
	}
	return b.build()
}

// builder makes one catalog.
type builder struct {
	Config
	file     *agentsfile.File
	used     map[serverKey]bool // of servers
	agents   map[string]*agent.Agent
	problems agentsfile.Problems
	gated    *agentsfile.Tool // the first gated tool
	rows     []Row
	vars     celpolicy.Vars
	triggers map[triggerKey]approvals.Trigger

	unmatched []Unmatched
}

func (b *builder) build() (*Catalog, error) {
	f := b.file
	c := &Catalog{File: f, agents: make(map[string]approvals.AgentConfig)}
	for _, a := range f.Agents { // agents refer to each other
		b.agents[a.Name] = &agent.Agent{
			Name: a.Name, Instructions: a.Instructions.Value, Settings: a.Settings,
			Shorten:        shortening(a),
			KeepToolChoice: a.KeepToolChoice, ToolUse: agent.ToolUseBehavior{StopOnFirst: a.StopOnFirstTool},
		}
	}
	for _, a := range f.Agents {
		b.agent(a)
		c.agents[a.Name] = approvals.AgentConfig{
			Agent: b.agents[a.Name], MaxTurns: a.MaxTurns, HistoryTokens: a.HistoryTokens,
			ProviderConversation: a.ProviderConversation,
		}
	}
	c.policy = b.policies()
	if b.gated != nil && f.DefaultPolicy == nil {
		b.problem(b.gated.Position, "tool %q needs approval and the file has no `default_policy`: nobody could "+
			"approve. "+
			"Add one, for instance\n  default_policy: { approvers: { channel_members: true } }", b.gated.Name)
	}
	b.checkAgents()
	if len(b.problems) > 0 {
		return nil, b.problems
	}
	c.rows, c.used, c.triggers, c.unmatched = b.rows, b.used, b.triggers, b.unmatched
	return c, nil
}

// checkAgents finds what makes sense in every part and not together, for instance two shells in the provider's own
// form.
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

// shortening bounds what the model is sent. A conversation that the provider keeps is not sent, and not shortened.
func shortening(a *agentsfile.Agent) func(context.Context, *agent.History) error {
	if a.ProviderConversation {
		return nil
	}
	return history.KeepNewest(a.HistoryTokens)
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
	if built.Model, err = b.Model(a); err != nil {
		b.problem(a.Position, "model %s: %v", a.Model, err)
	}
	b.guardAgent(a, built)
	for _, t := range a.Tools {
		if t.Type == agentsfile.MCP {
			b.toolset(a, built, t)
			continue
		}
		b.needsResponses(a, t)
		tool, ok := b.tool(t)
		if !ok || !b.gate(t, &tool) || !b.trigger(a, t, &tool) || !b.input(t, &tool) || !b.secret(t, &tool) ||
			!b.title(t, &tool) {
			continue
		}
		b.guardTool(t, &tool)
		built.Tools = append(built.Tools, tool)
		b.row(a, t, &tool)
	}
	for _, h := range a.Handoffs {
		to := b.agents[h.Name]
		built.Handoffs = append(built.Handoffs, agent.Handoff{
			Agent: to, Description: handoffDescription(b.file.Agent(h.Name)),
		})
		b.rows = append(b.rows, Row{Agent: a.Name, Tool: "transfer_to_" + h.Name, Type: "handoff", Gate: "never asks"})
	}
}

// needsResponses notes what the other API has no words for.
func (b *builder) needsResponses(a *agentsfile.Agent, t *agentsfile.Tool) {
	only := t.Native || t.Type == agentsfile.HostedMCP || t.Type == agentsfile.WebSearch
	if only && a.API != string(openaimodel.Responses) {
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
		tool = agent.NewHostedTool(agent.KindWebSearch, t.Name, json.RawMessage(`{"type":"web_search"}`), nil)
		tool.Idempotent = true
	case agentsfile.External:
		tool, err = newExternalTool(t)
	case agentsfile.AskTool:
		tool = asktool.New(t.Name, t.Description)
		tool.Version = t.Version
	case agentsfile.AgentTool:
		tool = b.agents[t.Agent.Name].AsTool(t.Name, t.Description)
		tool.Use.MaxTurns = t.MaxTurns
	}
	if err != nil {
		b.refused(t.Position, fmt.Sprintf("%s tool %q", t.Type, t.Name), err)
		return tool, false
	}
	return tool, true
}

// function finds the registered function and lays the file's wishes over it.
func (b *builder) function(t *agentsfile.Tool) (agent.Tool, bool) {
	i := slices.IndexFunc(b.Functions, func(f agent.Tool) bool { return f.Name == t.Name })
	if i < 0 {
		b.problem(t.Position, "no function called %q is registered in this program%s", t.Name, b.suggest(t.Name))
		return agent.Tool{}, false
	}
	tool := b.Functions[i]
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
	names := make([]string, len(b.Functions))
	for i, f := range b.Functions {
		names[i] = f.Name
	}
	if near := agentsfile.Nearest(name, names); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return "; it has " + strings.Join(names, ", ")
}
