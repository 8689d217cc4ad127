package agent

import "encoding/json"

// ItemType is the kind of an [Item], in the words of the Responses API. Kinds not listed here are kept verbatim.
type ItemType string

// The item types the runner itself reads or writes.
const (
	ItemMessage            ItemType = "message"
	ItemFunctionCall       ItemType = "function_call"
	ItemFunctionCallOutput ItemType = "function_call_output"
	ItemReasoning          ItemType = "reasoning"

	ItemCustomToolCall       ItemType = "custom_tool_call"
	ItemCustomToolCallOutput ItemType = "custom_tool_call_output"
	ItemShellCall            ItemType = "shell_call"
	ItemShellCallOutput      ItemType = "shell_call_output"
	ItemApplyPatchCall       ItemType = "apply_patch_call"
	ItemApplyPatchCallOutput ItemType = "apply_patch_call_output"
	ItemMCPListTools         ItemType = "mcp_list_tools"
	ItemMCPApprovalRequest   ItemType = "mcp_approval_request"
	ItemMCPApprovalResponse  ItemType = "mcp_approval_response"
)

// Role says who speaks in a message.
type Role string

// The roles of messages.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleSystem    Role = "system"
	RoleDeveloper Role = "developer"
)

// Item is one entry of a conversation: a message, a tool call, its output, or something only the provider
// understands. The shape follows the Responses API; models of other providers translate.
//
// An item that came from a provider carries its JSON verbatim in Raw, and Raw is what goes back to the provider. The
// other fields are then read from Raw ([ParseItem]) and must not be changed by themselves. Items made here have a nil
// Raw, but for outputs of other forms than functions.
type Item struct {
	Type ItemType
	ID   string // the provider's item id, if any
	Role Role   // messages
	Text string // messages: the text parts joined; reasoning: the summary

	// Calls and outputs, of whatever form. An mcp_approval_request is a call whose id is the request's.
	CallID    string
	Name      string // calls: the tool, if the form names it
	Server    string // mcp_approval_request and mcp_list_tools: the server's label
	Arguments string // calls: as the model wrote them, not validated; text for custom_tool_call, else JSON
	Output    string // outputs: the text in them

	Agent string          // the agent that produced the item; never sent to a provider
	Raw   json.RawMessage // the provider's JSON, verbatim; nil for items made here
}

// UserMessage returns a message of the user with the text.
func UserMessage(text string) Item { return Item{Type: ItemMessage, Role: RoleUser, Text: text} }

// AssistantMessage returns a message of the assistant with the text.
func AssistantMessage(text string) Item {
	return Item{Type: ItemMessage, Role: RoleAssistant, Text: text}
}

// CallOutput returns the output of the call with the id.
func CallOutput(callID, output string) Item {
	return Item{Type: ItemFunctionCallOutput, CallID: callID, Output: output}
}
