package catalog

import (
	"context"
	"fmt"
	"slices"

	"countersign/approvals"
	"countersign/approvals/celpolicy"
	"countersign/internal/agentsfile"
)

// Catalog is an agents file made ready to run: its agents and its policy. It does not change; a file that is read again
// makes another one.
type Catalog struct {
	// File is what it was made of.
	File *agentsfile.File

	agents map[string]approvals.AgentConfig
	policy approvals.Policy
	rows   []Row
	used   map[serverKey]bool // the MCP servers that it needs

	triggers map[triggerKey]approvals.Trigger

	unmatched []Unmatched
}

var (
	_ approvals.Agents = (*Catalog)(nil)
	_ approvals.Policy = (*Catalog)(nil)

	_ approvals.Triggers = (*Catalog)(nil)

	_ approvals.Delegator = (*Catalog)(nil)

	_ approvals.EmergencyPolicy = (*Catalog)(nil)
)

// Agent is part of approvals.Agents.
func (c *Catalog) Agent(name string) (approvals.AgentConfig, error) {
	a, ok := c.agents[name]
	if !ok {
		return approvals.AgentConfig{}, fmt.Errorf("agent %q: %w", name, approvals.ErrNotFound)
	}
	return a, nil
}

// Requirement is part of approvals.Policy.
func (c *Catalog) Requirement(
	ctx context.Context, r *approvals.Request, known approvals.PolicyFacts,
) (approvals.Requirement, error) {
	return c.policy.Requirement(ctx, r, known)
}

// Trigger is part of approvals.Triggers.
func (c *Catalog) Trigger(agentName, tool string) approvals.Trigger {
	return c.triggers[triggerKey{agentName, tool}]
}

// Triggered names the tools whose calls are sent to another system, each once.
func (c *Catalog) Triggered() (names []string) {
	for key := range c.triggers {
		if !slices.Contains(names, key.tool) {
			names = append(names, key.tool)
		}
	}
	slices.Sort(names)
	return names
}

// Delegations is part of approvals.Delegator.
func (c *Catalog) Delegations(ws approvals.WorkspaceID) []approvals.Delegation {
	all := make([]approvals.Delegation, len(c.File.Delegates))
	for i, d := range c.File.Delegates {
		all[i] = approvals.Delegation{
			From: approvals.NewUserID(ws, d.From), To: approvals.NewUserID(ws, d.To), Until: d.Ends(),
		}
	}
	return all
}

// Emergency is part of approvals.EmergencyPolicy.
func (c *Catalog) Emergency(ws approvals.WorkspaceID) approvals.Emergency {
	b := c.File.BreakGlass
	if b == nil {
		return approvals.Emergency{}
	}
	return approvals.Emergency{People: celpolicy.People(ws, b.Users, b.Groups, false), Notify: b.Notify}
}

// Serves reports whether runs may be started in the workspace: the agents file names it, or none.
func (c *Catalog) Serves(ws approvals.WorkspaceID) bool {
	return len(c.File.Workspaces) == 0 || slices.Contains(c.File.Workspaces, string(ws))
}

// Requesters are the people who may start runs in the workspace: nobody in one that is not served.
func (c *Catalog) Requesters(ws approvals.WorkspaceID) approvals.Approvers {
	if !c.Serves(ws) {
		return approvals.Approvers{}
	}
	p := c.File.Requesters
	return celpolicy.People(ws, p.Users, p.Groups, p.ChannelMembers)
}

// Retention says for how long records are kept.
func (c *Catalog) Retention() approvals.Retention { return approvals.Retention(c.File.Retention) }

// Limits bound what is under way at a time.
func (c *Catalog) Limits() approvals.Limits {
	l := c.File.Limits
	return approvals.Limits{
		RunsPerPerson: l.RunsPerPerson, RunsPerChannel: l.RunsPerChannel, PendingPerPerson: l.PendingPerPerson,
	}
}
