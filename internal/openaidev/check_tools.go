package openaidev

import (
	"encoding/json"
	"slices"
)

// mcpTool is what a tool of type mcp has beside the members of others.
type mcpTool struct {
	ServerLabel     string          `json:"server_label,omitempty"`
	ServerURL       string          `json:"server_url,omitempty"`
	ConnectorID     string          `json:"connector_id,omitempty"`
	TunnelID        string          `json:"tunnel_id,omitempty"`
	RequireApproval json.RawMessage `json:"require_approval,omitempty"`
}

// checkHosted checks a tool that is neither a function nor a custom tool.
func checkHosted(at string, t tool) *apiError {
	switch {
	case t.Type == "shell" && t.Environment != nil &&
		!slices.Contains([]string{"local", "container_auto", "container_reference"}, t.Environment.Type):
		return badRequest(at+".environment.type", "invalid_value",
			"Invalid value: '%s'. Supported values are: 'local', 'container_auto', and 'container_reference'.",
			t.Environment.Type)
	case t.Type != "mcp":
		return nil
	case t.ServerLabel == "":
		return badRequest(at+".server_label", "missing_required_parameter",
			"Missing required parameter: '%s.server_label'.", at)
	case t.ServerURL == "" && t.ConnectorID == "" && t.TunnelID == "":
		return badRequest(at, "missing_required_parameter",
			"One of 'server_url', 'connector_id' or 'tunnel_id' must be provided in '%s'.", at)
	}
	if _, ok := t.approvals(); !ok {
		return badRequest(at+".require_approval", "invalid_value",
			"Invalid value for '%s.require_approval': expected 'always', 'never', or an object of filters.", at)
	}
	return nil
}

// approvals returns the policy: which tools need no approval, nil for none, or "*" for all. ok is false when it is not
// one. Filters on read-only tools never spare an approval here.
func (t mcpTool) approvals() (never []string, ok bool) {
	if len(t.RequireApproval) == 0 {
		return nil, true
	}
	var word string
	if json.Unmarshal(t.RequireApproval, &word) == nil {
		if word == "never" {
			return []string{"*"}, true
		}
		return nil, word == "always"
	}
	var filters map[string]struct {
		ToolNames []string `json:"tool_names"`
		ReadOnly  *bool    `json:"read_only"`
	}
	if json.Unmarshal(t.RequireApproval, &filters) != nil || len(filters) == 0 {
		return nil, false
	}
	for name, f := range filters {
		if name != "always" && name != "never" || f.ToolNames == nil && f.ReadOnly == nil {
			return nil, false
		}
	}
	return filters["never"].ToolNames, true
}

// needsApproval reports whether calls of a tool of the server are asked about.
func (t mcpTool) needsApproval(name string) bool {
	never, _ := t.approvals()
	return !slices.Contains(never, name) && !slices.Contains(never, "*")
}

// checkFormat checks what the answer must look like.
func checkFormat(b *body) *apiError {
	if b.Text == nil || b.Text.Format == nil {
		return nil
	}
	return b.Text.Format.check("text.format")
}

func (f *format) check(at string) *apiError {
	switch {
	case f.Type == "text" || f.Type == "json_object":
		return nil
	case f.Type != "json_schema":
		return badRequest(at+".type", "invalid_value",
			"Invalid value: '%s'. Supported values are: 'json_object', 'json_schema', and 'text'.", f.Type)
	case !toolName.MatchString(f.Name):
		return badRequest(at+".name", "invalid_value",
			"Invalid '%s.name': expected a string that matches %s.", at, toolName)
	}
	strict := f.Strict != nil && *f.Strict // unlike that of tools, not the default
	if problem := checkSchema(tool{Parameters: f.Schema, Strict: &strict}); problem != "" {
		return badRequest(at+".schema", "invalid_json_schema",
			"Invalid schema for response_format '%s': %s", f.Name, problem)
	}
	return nil
}
