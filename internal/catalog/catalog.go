package catalog

import (
	"context"
	"fmt"

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
}

var (
	_ approvals.Agents = (*Catalog)(nil)
	_ approvals.Policy = (*Catalog)(nil)
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

// Requesters are the people who may start runs in the workspace.
func (c *Catalog) Requesters(ws approvals.WorkspaceID) approvals.Approvers {
	p := c.File.Requesters
	return celpolicy.People(ws, p.Users, p.Groups, p.ChannelMembers)
}

// Limits bound what is under way at a time.
func (c *Catalog) Limits() approvals.Limits {
	l := c.File.Limits
	return approvals.Limits{
		RunsPerPerson: l.RunsPerPerson, RunsPerChannel: l.RunsPerChannel, PendingPerPerson: l.PendingPerPerson,
	}
}
