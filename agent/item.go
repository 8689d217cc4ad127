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
// Raw.
type Item struct {
	Type ItemType
	ID   string // the provider's item id, if any
	Role Role   // messages
	Text string // messages: the text parts joined; reasoning: the summary

	CallID    string // function_call and function_call_output
	Name      string // function_call
	Arguments string // function_call: as the model wrote them, not validated
	Output    string // function_call_output

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
