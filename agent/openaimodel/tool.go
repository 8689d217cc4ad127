package openaimodel

import (
	"bytes"
	"encoding/json"
	"fmt"

	"countersign/agent"
)

// noParameters is the schema of a tool without one.
const noParameters = `{"type":"object","properties":{},"required":[],"additionalProperties":false}`

// encodeTool returns the tool as the Responses API wants it. loose is for sentSchema.
func encodeTool(t *agent.ToolDefinition, loose bool) ([]byte, error) {
	switch t.Wire {
	case agent.WireFunction:
		f, err := newFunction(t, loose)
		if err != nil {
			return nil, err
		}
		return fmt.Appendf(nil,
			`{"type":"function",%s,"strict":%t,"parameters":%s}`, f.names, Strict(f.schema), f.schema), nil
	case agent.WireCustom:
		names, err := encodeNames(t)
		if err != nil {
			return nil, err
		}
		return fmt.Appendf(nil, `{"type":"custom",%s}`, names), nil
	case agent.WireShell:
		return []byte(`{"type":"shell","environment":{"type":"local"}}`), nil
	case agent.WireApplyPatch:
		return []byte(`{"type":"apply_patch"}`), nil
	case agent.WireHosted:
		return t.Hosted, checkHosted(t)
	}
	return nil, fmt.Errorf("%w: tool %s: the wire form %q is not known", agent.ErrConfig, t.Name, t.Wire)
}

// function is what both APIs are told about a function.
type function struct {
	names  []byte // members of an object: name, and description if there is one
	schema json.RawMessage
}

func newFunction(t *agent.ToolDefinition, loose bool) (function, error) {
	schema := t.Parameters
	if len(bytes.TrimSpace(schema)) == 0 {
		schema = json.RawMessage(noParameters)
	}
	if !json.Valid(schema) {
		return function{}, fmt.Errorf("%w: tool %s: its parameters are not JSON", agent.ErrConfig, t.Name)
	}
	names, err := encodeNames(t)
	return function{names, sentSchema(schema, loose)}, err
}

func encodeNames(t *agent.ToolDefinition) ([]byte, error) {
	name, err := json.Marshal(t.Name)
	if err != nil {
		return nil, err
	}
	b := append([]byte(`"name":`), name...)
	if t.Description == "" {
		return b, nil
	}
	description, err := json.Marshal(t.Description)
	if err != nil {
		return nil, err
	}
	return append(append(b, `,"description":`...), description...), nil
}

// hostedTool is what matters of a tool that the provider executes.
type hostedTool struct {
	Type        string `json:"type"`
	ServerLabel string `json:"server_label"`
	Environment struct {
		Type string `json:"type"`
	} `json:"environment"`
}

// checkHosted refuses what would break the request, and a function under another name: nobody would gate its calls.
func checkHosted(t *agent.ToolDefinition) error {
	var h hostedTool
	if json.Unmarshal(t.Hosted, &h) != nil || h.Type == "" {
		return fmt.Errorf(
			"%w: tool %s: its hosted definition is not a JSON object with a type", agent.ErrConfig, t.Name)
	}
	here := false
	switch h.Type {
	case "function", "custom", "local_shell", "apply_patch":
		here = true
	case "shell":
		here = h.Environment.Type == "" || h.Environment.Type == "local"
	}
	if here {
		return fmt.Errorf(
			"%w: tool %s: a hosted tool of type %s would be executed here, not by the provider",
			agent.ErrConfig, t.Name, h.Type)
	}
	return nil
}

// toolChoice translates a setting for the Responses API: one of its words, or the name of a tool.
func toolChoice(choice string, tools []agent.ToolDefinition) json.RawMessage {
	switch choice {
	case "":
		return nil
	case "auto", "required", "none":
		return json.RawMessage(`"` + choice + `"`)
	}
	chosen := struct {
		Type        string `json:"type"`
		Name        string `json:"name,omitempty"`
		ServerLabel string `json:"server_label,omitempty"`
	}{Type: "function", Name: choice}
	for i := range tools {
		t := &tools[i]
		if t.Name != choice {
			continue
		}
		switch t.Wire {
		case agent.WireCustom:
			chosen.Type = "custom"
		case agent.WireShell, agent.WireApplyPatch:
			chosen.Type, chosen.Name = string(t.Wire), ""
		case agent.WireHosted:
			var h hostedTool
			_ = json.Unmarshal(t.Hosted, &h) // checked where the tools are written
			chosen.Type, chosen.Name, chosen.ServerLabel = h.Type, "", h.ServerLabel
		}
	}
	b, _ := json.Marshal(chosen)
	return b
}
