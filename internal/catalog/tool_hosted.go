package catalog

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"countersign/agent"
	"countersign/agent/mcptoolset"
	"countersign/internal/agentsfile"
)

// hosted is how the provider is told about an MCP server that it talks to itself.
type hosted struct {
	Type        string   `json:"type"`
	Label       string   `json:"server_label"`
	URL         string   `json:"server_url"`
	Description string   `json:"server_description,omitempty"`
	Allowed     []string `json:"allowed_tools,omitempty"`
	Require     any      `json:"require_approval"`
}

// hostedMCP makes the tool that the file declares, without a gate. What a decision is bound to holds the URL and the
// names of the headers; their values are sent and nothing else is done with them.
func (b *builder) hostedMCP(t *agentsfile.Tool) (agent.Tool, bool) {
	var tool agent.Tool
	if _, err := mcptoolset.ParsePolicy(t.Require); err != nil {
		b.problem(t.RequireAt, "%v", err)
		return tool, false
	}
	if never(t.Require) && t.Gate.Ask != agentsfile.AskDefault && t.Gate.Ask != agentsfile.AskNever {
		b.problem(t.Gate.At(1, 1), "hosted_mcp tool %q: needs_approval is about the calls that the provider asks "+
			"for, and "+
			"`require_approval: never` has it ask for none; leave require_approval out", t.Name)
		return tool, false
	}
	if t.URL.Secret() {
		b.problem(t.URL.Position, "hosted_mcp tool %q: ${…} is not expanded in server_url, "+
			"which is stored and shown; put what is secret into headers", t.Name)
		return tool, false
	}
	described, err := json.Marshal(hosted{
		Type: "mcp", Label: t.Name, URL: t.URL.Value, Description: t.Description, Allowed: t.Tools.Allowed,
		Require: hostedRequire(t.Require),
	})
	if err != nil {
		b.refused(t.Position, fmt.Sprintf("hosted_mcp tool %q", t.Name), err)
		return tool, false
	}
	var names []string
	var secrets json.RawMessage
	if len(t.Headers) > 0 {
		headers := make(map[string]string, len(t.Headers))
		for _, h := range t.Headers {
			headers[h.Name] = h.Value.Value
			names = append(names, "header "+h.Name)
		}
		secrets, _ = json.Marshal(map[string]any{"headers": headers}) // texts always can be
	}
	tool = agent.NewHostedTool(agent.KindHostedMCP, t.Name, described, secrets)
	tool.Description, tool.Attributes = t.Description, names
	return tool, true
}

// hostedRequire is require_approval in the provider's form. What the file does not speak of is asked about, so always
// has to be said only beside never: a filter by name and one by what the server says may choose the same tool.
func hostedRequire(require any) any {
	if never(require) {
		return "never"
	}
	m, ok := require.(map[string]any)
	if !ok {
		return "always"
	}
	allowed, hasNever := m["never"].(map[string]any)
	asked, hasAlways := m["always"].(map[string]any)
	switch {
	case hasNever && hasAlways:
		return map[string]any{"always": providerFilter(asked), "never": providerFilter(allowed)}
	case hasNever:
		return map[string]any{"never": providerFilter(allowed)}
	case hasAlways:
		return "always"
	}
	var names []string // tools by name
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if never(m[name]) {
			names = append(names, name)
		}
	}
	if names == nil {
		return "always"
	}
	return map[string]any{"never": map[string]any{"tool_names": names}}
}

// providerFilter spells a filter as the provider does.
func providerFilter(filter map[string]any) map[string]any {
	spelled := make(map[string]any, len(filter))
	for key, value := range filter {
		switch key {
		case "toolNames":
			key = "tool_names"
		case "readOnly":
			key = "read_only"
		}
		spelled[key] = value
	}
	return spelled
}

func hostedWords(t *agentsfile.Tool) string {
	switch {
	case never(t.Require):
		return "never asks"
	case t.Gate.Ask == agentsfile.AskNever:
		return "the provider asks, and nobody is"
	case t.Require == nil, t.Require == "always", t.Require == true:
		return "always asks"
	}
	return "asks as require_approval says"
}
