package catalog

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"countersign/agent"
	"countersign/internal/agentsfile"
)

// secret marks the arguments that the file calls secret, beside those that a function calls so itself. It reports
// whether it could.
func (b *builder) secret(t *agentsfile.Tool, tool *agent.Tool) bool {
	known := propertiesOf(tool)
	for _, s := range t.Secret {
		if !slices.Contains(known, s.Name) {
			b.problem(s.Position, "secret: %s", unknownArgument(tool.Name, s.Name, known))
			return false
		}
	}
	hide(t.Secret, known, tool)
	return true
}

func unknownArgument(tool, name string, known []string) string {
	text := fmt.Sprintf("tool %q takes no %q", tool, name)
	switch near := agentsfile.Nearest(name, known); {
	case near != "":
		return text + fmt.Sprintf("; did you mean %q?", near)
	case len(known) == 0:
		return text + "; it takes no arguments that are known by name"
	}
	return text + "; it takes " + strings.Join(known, ", ")
}

// hide makes those of the arguments secret that the tool takes.
func hide(names []agentsfile.Reference, known []string, tool *agent.Tool) {
	tool.Secret = slices.Clone(tool.Secret)
	for _, s := range names {
		if slices.Contains(known, s.Name) && !slices.Contains(tool.Secret, s.Name) {
			tool.Secret = append(tool.Secret, s.Name)
		}
	}
}

// withSecret is the toolset with the arguments masked that the file calls secret.
func withSecret(set agent.Toolset, t *agentsfile.Tool, server *agentsfile.MCPServer) agent.Toolset {
	if len(t.Secret) == 0 {
		return set
	}
	return &secretToolset{Toolset: set, secret: t.Secret, server: server.Name}
}

// secretToolset makes arguments of a server's tools secret.
type secretToolset struct {
	agent.Toolset
	secret []agentsfile.Reference
	server string
}

// Tools is part of agent.Toolset. A name that none of the tools takes is an error: it may be misspelt, and the value
// would be shown.
func (s *secretToolset) Tools(ctx context.Context) ([]agent.Tool, error) {
	tools, err := s.Toolset.Tools(ctx)
	if err != nil {
		return nil, err
	}
	tools = slices.Clone(tools)
	var all []string
	for i := range tools {
		known := propertiesOf(&tools[i])
		hide(s.secret, known, &tools[i])
		all = append(all, known...)
	}
	for _, name := range s.secret {
		if slices.Contains(all, name.Name) {
			continue
		}
		text := fmt.Sprintf("tools of MCP server %q: secret: none of them takes %q", s.server, name.Name)
		if near := agentsfile.Nearest(name.Name, all); near != "" {
			text += fmt.Sprintf("; did you mean %q?", near)
		}
		return nil, fmt.Errorf("%s (%s)", text, name.Position)
	}
	return tools, nil
}
