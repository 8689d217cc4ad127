package openaidev

import (
	"encoding/json"
	"fmt"
	"slices"
)

type mcpListItem struct {
	ID          string        `json:"id"`
	Type        string        `json:"type"`
	ServerLabel string        `json:"server_label"`
	Tools       []mcpListTool `json:"tools"`
	Error       *string       `json:"error"`
}

type mcpListTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"input_schema"`
	Annotations any             `json:"annotations"`
}

type mcpRequestItem struct {
	ID          string `json:"id"`
	Type        string `json:"type"`
	Arguments   string `json:"arguments"`
	Name        string `json:"name"`
	ServerLabel string `json:"server_label"`
}

type mcpCallItem struct {
	ID                string  `json:"id"`
	Type              string  `json:"type"`
	Status            string  `json:"status"`
	ApprovalRequestID *string `json:"approval_request_id"`
	Arguments         string  `json:"arguments"`
	Error             *string `json:"error"`
	Name              string  `json:"name"`
	Output            *string `json:"output"`
	ServerLabel       string  `json:"server_label"`
}

// mcpLists lists the tools of the servers that the request offers and the conversation does not know yet.
func mcpLists(b *body, s *ids, servers []MCPServer) []any {
	var out []any
	for _, t := range b.Tools {
		listed := slices.ContainsFunc(b.items, func(it item) bool {
			return it.Type == typeMCPList && it.ServerLabel == t.ServerLabel
		})
		if t.Type != "mcp" || listed {
			continue
		}
		it := mcpListItem{
			ID: s.next("mcpl_", 48), Type: typeMCPList, ServerLabel: t.ServerLabel, Tools: []mcpListTool{},
		}
		for _, server := range servers {
			if server.Label != t.ServerLabel {
				continue
			}
			for _, tl := range server.Tools {
				schema := tl.Schema
				if len(schema) == 0 {
					schema = json.RawMessage(`{"type":"object"}`)
				}
				it.Tools = append(it.Tools,
					mcpListTool{Name: tl.Name, Description: tl.Description, InputSchema: schema})
			}
		}
		out = append(out, it)
	}
	return out
}

// mcpApproved makes the calls that were approved and not made yet.
func mcpApproved(b *body, s *ids, servers []MCPServer) []any {
	var out []any
	for _, it := range b.items {
		if it.Type != typeMCPResponse || !*it.Approve {
			continue
		}
		id := it.ApprovalRequestID
		called := slices.ContainsFunc(b.items, func(made item) bool {
			return made.Type == typeMCPCall && made.ApprovalRequestID == id
		})
		if called {
			continue
		}
		asked := b.items[slices.IndexFunc(b.items, func(a item) bool { return a.Type == typeMCPRequest && a.ID == id })]
		out = append(out, newMCPCall(s, servers, asked.ServerLabel, asked.Name, *asked.Arguments, &id))
	}
	return out
}

func newMCPCall(s *ids, servers []MCPServer, label, name, arguments string, approved *string) mcpCallItem {
	it := mcpCallItem{
		ID: s.next("mcp_", 48), Type: typeMCPCall, Status: "completed", ApprovalRequestID: approved,
		Arguments: arguments, Name: name, ServerLabel: label,
	}
	if tool := mcpToolOf(servers, label, name); tool.Error != "" {
		it.Status, it.Error = "failed", &tool.Error
	} else {
		it.Output = &tool.Output
	}
	return it
}

// mcpItem is the call itself, or the question whether it may be made.
func (c Call) mcpItem(b *body, s *ids, servers []MCPServer) (any, error) {
	i := slices.IndexFunc(b.Tools, func(t tool) bool { return t.Type == "mcp" && t.ServerLabel == c.Server })
	if i < 0 {
		return nil, fmt.Errorf("the request offers no MCP server %q", c.Server)
	}
	if !b.Tools[i].needsApproval(c.Name) {
		return newMCPCall(s, servers, c.Server, c.Name, c.Arguments, nil), nil
	}
	id := c.ID
	if id == "" {
		id = s.next("mcpr_", 48)
	}
	return mcpRequestItem{
		ID: id, Type: typeMCPRequest, Arguments: c.Arguments, Name: c.Name, ServerLabel: c.Server,
	}, nil
}
