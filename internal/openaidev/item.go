package openaidev

import (
	"encoding/json"
	"strings"
)

const (
	typeMessage    = "message"
	typeCall       = "function_call"
	typeCallOutput = "function_call_output"
	typeReasoning  = "reasoning"

	typeCustomCall   = "custom_tool_call"
	typeCustomOutput = "custom_tool_call_output"
	typeShellCall    = "shell_call"
	typeShellOutput  = "shell_call_output"
	typePatchCall    = "apply_patch_call"
	typePatchOutput  = "apply_patch_call_output"

	typeMCPList     = "mcp_list_tools"
	typeMCPRequest  = "mcp_approval_request"
	typeMCPResponse = "mcp_approval_response"
	typeMCPCall     = "mcp_call"
)

// callOf is, for each type of output, the type of call that it answers.
var callOf = map[string]string{
	typeCallOutput: typeCall, typeCustomOutput: typeCustomCall, typeShellOutput: typeShellCall,
	typePatchOutput: typePatchCall,
}

// isCall reports whether somebody outside the server has to answer an item of the type.
func isCall(kind string) bool {
	switch kind {
	case typeCall, typeCustomCall, typeShellCall, typePatchCall, typeMCPRequest:
		return true
	}
	return false
}

// item is an input item of any type, as far as the server looks into it.
type item struct {
	Type             string          `json:"type"`
	ID               string          `json:"id"`
	Role             string          `json:"role"`
	Content          json.RawMessage `json:"content"`
	CallID           string          `json:"call_id"`
	Name             string          `json:"name"`
	Arguments        *string         `json:"arguments"`
	Input            *string         `json:"input"`
	Action           json.RawMessage `json:"action"`
	Operation        json.RawMessage `json:"operation"`
	Status           string          `json:"status"`
	Output           json.RawMessage `json:"output"`
	EncryptedContent string          `json:"encrypted_content"`

	ServerLabel       string `json:"server_label"`
	ApprovalRequestID string `json:"approval_request_id"`
	Approve           *bool  `json:"approve"`
	Reason            string `json:"reason"`
}

// called is what a call asks for: the arguments of a function, the input of a custom tool, an action or an operation.
func (it item) called() string {
	switch {
	case it.Arguments != nil:
		return *it.Arguments
	case it.Input != nil:
		return *it.Input
	case it.Action != nil:
		return string(it.Action)
	}
	return string(it.Operation)
}

// tool is the name of the tool that a call is of.
func (it item) tool() string {
	switch it.Type {
	case typeShellCall:
		return "shell"
	case typePatchCall:
		return "apply_patch"
	}
	return it.Name
}

type part struct {
	Type    string `json:"type"`
	Text    string `json:"text"`
	Refusal string `json:"refusal"`
}

// text joins the text of a message's content, which is a string or a list of parts.
func (it item) text() string { return joinText(it.Content) }

func (it item) outputText() string {
	if it.Type == typeShellOutput {
		return string(it.Output)
	}
	return joinText(it.Output)
}

func joinText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var parts []part
	if json.Unmarshal(raw, &parts) != nil {
		return ""
	}
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(p.Text)
		b.WriteString(p.Refusal)
	}
	return b.String()
}
