package catalog

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"countersign/agent"
	"countersign/internal/agentsfile"
)

// propertiesOf returns the names of what a tool takes, in no particular order.
func propertiesOf(tool *agent.Tool) []string {
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(tool.Parameters, &schema) != nil {
		return nil
	}
	names := make([]string, 0, len(schema.Properties))
	for name := range schema.Properties {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// input has people fill in what the file says. It reports whether it could.
func (b *builder) input(t *agentsfile.Tool, tool *agent.Tool) bool {
	if !t.Input.Asked() {
		return true
	}
	known := propertiesOf(tool)
	if len(known) == 0 {
		b.problem(t.Input.At, "requires_user_input: tool %q takes no arguments that people could fill in", tool.Name)
		return false
	}
	for _, name := range t.Input.Names {
		if !slices.Contains(known, name) {
			b.problem(t.Input.At, "requires_user_input: tool %q takes no %q; it takes %s", tool.Name, name,
				strings.Join(known, ", "))
			return false
		}
	}
	if b.gated == nil {
		b.gated = t
	}
	propose(t.Input, tool)
	return true
}

// propose makes the fields ones that the model may propose and people confirm or change, unless the tool says already
// that people alone fill them in.
func propose(in agentsfile.Input, tool *agent.Tool) {
	names := in.Names
	if in.All {
		names = propertiesOf(tool)
	}
	own := slices.Concat(tool.Fields, tool.Proposed)
	tool.Proposed = slices.Concat(tool.Proposed, slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return slices.Contains(own, name)
	}))
}

// withInput is the toolset as the file wants it.
func withInput(set agent.Toolset, t *agentsfile.Tool, server *agentsfile.MCPServer) agent.Toolset {
	if !t.Input.Asked() {
		return set
	}
	return &inputToolset{Toolset: set, input: t.Input, server: server.Name}
}

// inputToolset has people fill in parts of the calls of a server's tools.
type inputToolset struct {
	agent.Toolset
	input  agentsfile.Input
	server string
}

// Tools is part of agent.Toolset. A field that none of the tools takes is an error: nobody would be asked for it.
func (s *inputToolset) Tools(ctx context.Context) ([]agent.Tool, error) {
	tools, err := s.Toolset.Tools(ctx)
	if err != nil {
		return nil, err
	}
	tools = slices.Clone(tools)
	used := map[string]bool{}
	for i := range tools {
		known := propertiesOf(&tools[i])
		own := agentsfile.Input{All: s.input.All}
		for _, name := range s.input.Names {
			if slices.Contains(known, name) {
				own.Names, used[name] = append(own.Names, name), true
			}
		}
		propose(own, &tools[i])
	}
	for _, name := range s.input.Names {
		if !used[name] {
			return nil, fmt.Errorf("tools of MCP server %q: requires_user_input: none of them takes %q", s.server, name)
		}
	}
	return tools, nil
}
