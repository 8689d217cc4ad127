package catalog

import (
	"context"
	"errors"
	"time"

	"countersign/agent"
	"countersign/agent/mcptoolset"
	"countersign/internal/agentsfile"
)

// toolset gives the agent the tools of an MCP server.
func (b *builder) toolset(a *agentsfile.Agent, built *agent.Agent, t *agentsfile.Tool) {
	declared := b.file.MCPServer(t.Server.Name)
	server, key, err := b.Servers.server(declared)
	if err != nil {
		b.refused(declared.Position, "MCP server "+declared.Name, err)
		return
	}
	b.used[key] = true
	policy, err := mcptoolset.ParsePolicy(t.Require)
	if err != nil {
		b.problem(t.RequireAt, "%v", err)
		return
	}
	set, err := mcptoolset.New(mcptoolset.Config{
		Server: server, AllowedTools: t.Tools.Allowed, BlockedTools: t.Tools.Blocked, ToolPrefix: t.Prefix,
		RequireApproval: policy,
	})
	if err != nil {
		b.refused(t.Position, "tools of MCP server "+declared.Name, err)
		return
	}
	built.Toolsets = append(built.Toolsets, withSecret(withInput(set, t, declared), t, declared))
	if b.gated == nil && (!never(t.Require) || t.Input.Asked()) {
		b.gated = t
	}
	b.rows = append(b.rows, Row{
		Agent: a.Name, Tool: t.Prefix + "*", Type: string(t.Type), Gate: mcpWords(t, declared),
		Call: whereabouts(declared), set: set, key: key,
	})
}

// listTimeout bounds asking the MCP servers of a file for their tools.
const listTimeout = 30 * time.Second

// ListedRows are Rows with what MCP servers offer right now in place of their "*": it starts or contacts them. The
// error says of every server that cannot be used why.
func (c *Catalog) ListedRows(ctx context.Context) ([]Row, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	var all []Row
	var errs []error
	failed := make(map[serverKey]bool)
	for _, r := range c.rows {
		switch {
		case r.set == nil:
			all = append(all, r)
			continue
		case failed[r.key]: // has been asked, and said why not
			continue
		}
		tools, err := r.set.Tools(ctx)
		if err != nil {
			errs = append(errs, err)
			failed[r.key] = true
		}
		for _, tool := range tools {
			all = append(all, r.of(&tool))
		}
	}
	return all, errors.Join(errs...)
}

// of is the row of one tool of an MCP server.
func (r Row) of(tool *agent.Tool) Row {
	r.Tool, r.Gate = tool.Name, "never asks"
	if tool.NeedsApproval != nil {
		r.Gate = "always asks"
	}
	return r
}

// never reports whether require_approval says that nothing asks.
func never(require any) bool { return require == "never" || require == false }

func mcpWords(t *agentsfile.Tool, s *agentsfile.MCPServer) string {
	switch {
	case never(t.Require):
		return "never asks"
	case t.Require == nil && s.Trusted:
		return "asks unless a tool only reads"
	case t.Require == nil, t.Require == "always", t.Require == true:
		return "always asks"
	}
	return "asks as require_approval says"
}

func whereabouts(s *agentsfile.MCPServer) string {
	text := s.URL.Written + s.SSE.Written
	for i, word := range s.Command {
		if i > 0 {
			text += " "
		}
		text += word.Written
	}
	return text
}
