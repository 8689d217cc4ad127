package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"

	"countersign/agent/internal/strictjson"
)

// WireForm says how the calls and outputs of a tool look on the wire of the Responses API. Whatever the form, a call's
// arguments are a JSON object in canonical form for gates, people and digests.
type WireForm string

// The wire forms.
const (
	// WireFunction is function_call and function_call_output: arguments are the JSON object that the model wrote.
	WireFunction WireForm = ""
	// WireCustom is custom_tool_call and custom_tool_call_output: the model writes plain text, and the arguments are
	// {"input": TEXT}.
	WireCustom WireForm = "custom"
	// WireShell is shell_call and shell_call_output of the provider's own shell tool: the arguments are its action,
	// {"commands": […], "timeout_ms": N, "max_output_length": N}.
	WireShell WireForm = "shell"
	// WireApplyPatch is apply_patch_call and apply_patch_call_output of the provider's own patch tool: the arguments
	// are its operation, {"type": "create_file"|"update_file"|"delete_file", "path": P, "diff": D}.
	WireApplyPatch WireForm = "apply_patch"
	// WireHosted is a tool that the provider executes, described by Tool.Hosted.
	WireHosted WireForm = "hosted"
)

// callForm says how a kind of call is answered.
type callForm struct {
	form   WireForm
	output ItemType
}

// callForms are the items that ask this side to do something.
var callForms = map[ItemType]callForm{
	ItemFunctionCall:       {WireFunction, ItemFunctionCallOutput},
	ItemCustomToolCall:     {WireCustom, ItemCustomToolCallOutput},
	ItemShellCall:          {WireShell, ItemShellCallOutput},
	ItemApplyPatchCall:     {WireApplyPatch, ItemApplyPatchCallOutput},
	ItemMCPApprovalRequest: {WireHosted, ItemMCPApprovalResponse},
}

// IsCall reports whether the item is a call: whether it asks this side to do something.
func (it *Item) IsCall() bool {
	switch it.Type {
	case ItemFunctionCall, ItemCustomToolCall, ItemShellCall, ItemApplyPatchCall, ItemMCPApprovalRequest:
		return true
	}
	return false
}

// IsOutput reports whether the item answers a call.
func (it *Item) IsOutput() bool {
	switch it.Type {
	case ItemFunctionCallOutput, ItemCustomToolCallOutput, ItemShellCallOutput, ItemApplyPatchCallOutput,
		ItemMCPApprovalResponse:
		return true
	}
	return false
}

var errNotText = errors.New("the input is not valid UTF-8")

// arguments returns the canonical arguments of a call; written is what the model wrote.
func (it *Item) arguments(written string) (json.RawMessage, error) {
	switch it.Type {
	case ItemCustomToolCall:
		switch {
		case !utf8.ValidString(written):
			return nil, errNotText
		case len(written) > strictjson.MaxBytes-64:
			return nil, fmt.Errorf("the input is longer than %d bytes", strictjson.MaxBytes-64)
		}
		return strictjson.Arguments(object("input", written))
	case ItemMCPApprovalRequest:
		if written == "" {
			written = "{}"
		}
	case ItemShellCall, ItemApplyPatchCall:
		canonical, err := strictjson.Arguments([]byte(written))
		if err != nil {
			return nil, err
		}
		return withoutNulls(canonical), nil
	}
	return strictjson.Arguments([]byte(written))
}

// withoutNulls leaves out the members of a canonical object that are null: providers write those that were not given.
func withoutNulls(canonical json.RawMessage) json.RawMessage {
	out, err := strictjson.Rewrite(canonical, func(_ string, value []byte) ([]byte, error) {
		if string(value) == "null" {
			return nil, nil
		}
		return value, nil
	})
	if err != nil {
		return canonical
	}
	return out
}

// Answer returns the item that answers a call, in the form that the provider expects of its kind, made for the call's
// agent. It is for programs that write conversations themselves: in a run, the runner answers calls. The item must be a
// call; an Item of any other kind has no answer, and gets the zero Item.
func (it *Item) Answer(out ToolOutput) Item {
	if !it.IsCall() {
		return Item{}
	}
	return answer(it, it.Agent, out)
}

// answer returns the item that answers a call, made for the agent.
func answer(asked *Item, agent string, out ToolOutput) Item {
	id := asked.CallID
	it := Item{Type: callForms[asked.Type].output, CallID: id, Output: out.Text, Agent: agent}
	switch asked.Type {
	case ItemFunctionCall:
		return it
	case ItemShellCall:
		it.Raw = shellOutput(asked, out)
	case ItemApplyPatchCall:
		status := "completed"
		if out.Failed {
			status = "failed"
		}
		it.Raw = object("type", string(it.Type), "call_id", id, "status", status, "output", out.Text)
	case ItemCustomToolCall:
		it.Raw = object("type", string(it.Type), "call_id", id, "output", out.Text)
	case ItemMCPApprovalRequest:
		it.Raw = approvalResponse(id, out)
	}
	clean, err := ParseItem(it.Raw)
	if err != nil { // the tool's Native was not JSON
		it.Raw = shellOutput(asked, ToolOutput{Text: out.Text, Failed: out.Failed})
		clean, _ = ParseItem(it.Raw)
	}
	clean.Agent = agent
	return clean
}

// shellOutput writes what became of a shell_call.
func shellOutput(asked *Item, out ToolOutput) json.RawMessage {
	list := out.Native
	if list == nil {
		stdout, stderr, code := out.Text, "", "0"
		if out.Failed {
			stdout, stderr, code = "", out.Text, "1"
		}
		command := strictjson.NewObject(json.RawMessage{'['})
		command.Text("stdout", stdout)
		command.Text("stderr", stderr)
		command.Raw("outcome", []byte(`{"type":"exit","exit_code":`+code+`}`))
		list = append(command.End(), ']')
	}
	o := strictjson.NewObject(nil)
	o.Text("type", string(ItemShellCallOutput))
	o.Text("call_id", asked.CallID)
	o.Raw("output", list)
	var action struct {
		MaxOutput json.RawMessage `json:"max_output_length"`
	}
	if json.Unmarshal([]byte(asked.Arguments), &action) == nil && len(action.MaxOutput) > 0 &&
		string(action.MaxOutput) != "null" {
		o.Raw("max_output_length", action.MaxOutput)
	}
	return o.End()
}

// approvalResponse writes the answer to an mcp_approval_request.
func approvalResponse(request string, out ToolOutput) json.RawMessage {
	o := strictjson.NewObject(nil)
	o.Text("type", string(ItemMCPApprovalResponse))
	o.Text("approval_request_id", request)
	o.Raw("approve", strconv.AppendBool(nil, !out.Failed))
	if out.Failed {
		o.OptionalText("reason", out.Text)
	}
	return o.End()
}

// object writes an object whose values are strings, from names and values.
func object(pairs ...string) json.RawMessage {
	o := strictjson.NewObject(nil)
	for i := 0; i < len(pairs); i += 2 {
		o.Text(pairs[i], pairs[i+1])
	}
	return o.End()
}
