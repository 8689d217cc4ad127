package openaidev

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// apiError is an error in OpenAI's form.
type apiError struct {
	status                     int
	Message, Type, Param, Code string
}

func badRequest(param, code, format string, args ...any) *apiError {
	return &apiError{status: 400, Type: "invalid_request_error", Param: param, Code: code, Message: fmt.Sprintf(format, args...)}
}

// ignored are parameters that OpenAI knows and the script has no use for.
var ignored = []string{
	"background", "max_tool_calls", "metadata", "moderation", "prompt", "prompt_cache_key", "prompt_cache_retention", "safety_identifier",
	"service_tier", "stream_options", "text", "top_logprobs", "top_p", "truncation", "user", "context_management",
}

var known = []string{
	"model", "instructions", "input", "tools", "tool_choice", "stream", "store", "include", "temperature",
	"max_output_tokens", "parallel_tool_calls", "reasoning", "previous_response_id", "conversation",
}

var includes = []string{
	"reasoning.encrypted_content", "message.output_text.logprobs", "message.input_image.image_url", "file_search_call.results",
	"web_search_call.results", "web_search_call.action.sources", "code_interpreter_call.outputs", "computer_call_output.output.image_url",
}

var efforts = []string{"none", "minimal", "low", "medium", "high", "xhigh"}

var hosted = []string{
	"web_search", "web_search_preview", "file_search", "code_interpreter", "image_generation", "mcp", "local_shell", "shell", "apply_patch",
	"custom", "computer", "computer_use_preview",
}

var itemTypes = []string{
	typeMessage, typeCall, typeCallOutput, typeReasoning, "item_reference", "compaction", "web_search_call", "file_search_call",
	"code_interpreter_call", "image_generation_call", "computer_call", "computer_call_output", "local_shell_call",
	"local_shell_call_output", "shell_call", "shell_call_output", "apply_patch_call", "apply_patch_call_output", "mcp_call",
	"mcp_list_tools", "mcp_approval_request", "mcp_approval_response", "custom_tool_call", "custom_tool_call_output",
}

var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// parse reads a request body and refuses what OpenAI would refuse. extra are further item types to accept.
func parse(data []byte, extra []string) (*body, *apiError) {
	var top map[string]json.RawMessage
	if err := json.Unmarshal(data, &top); err != nil || top == nil {
		return nil, badRequest("", "", "We could not parse the JSON body of your request.")
	}
	for name := range top {
		if !slices.Contains(known, name) && !slices.Contains(ignored, name) {
			return nil, badRequest(name, "unknown_parameter", "Unknown parameter: '%s'.", name)
		}
	}
	b := new(body)
	if err := json.Unmarshal(data, b); err != nil {
		return nil, badRequest("", "invalid_type", "Invalid type in the request: %s.", strings.TrimPrefix(err.Error(), "json: "))
	}
	if err := b.readInput(); err != nil {
		return nil, err
	}
	for _, check := range []func(*body) *apiError{checkSettings, checkTools, checkToolChoice, checkCalls, checkReasoning} {
		if err := check(b); err != nil {
			return nil, err
		}
	}
	return b, checkItems(b, extra)
}

// readInput decodes the input, which is a list of items or one string.
func (b *body) readInput() *apiError {
	if len(b.Input) == 0 || string(b.Input) == "null" {
		return badRequest("input", "missing_required_parameter", "Missing required parameter: 'input'.")
	}
	var text string
	if json.Unmarshal(b.Input, &text) == nil {
		content, _ := json.Marshal(text)
		b.items = []item{{Type: typeMessage, Role: "user", Content: content}}
		b.raw = []json.RawMessage{content}
		return nil
	}
	if err := json.Unmarshal(b.Input, &b.raw); err != nil {
		return badRequest("input", "invalid_type", "Invalid type for 'input': expected a string or an array.")
	}
	b.items = make([]item, len(b.raw))
	for i, raw := range b.raw {
		if err := json.Unmarshal(raw, &b.items[i]); err != nil {
			return badRequest(fmt.Sprintf("input[%d]", i), "invalid_type", "Invalid type for 'input[%d]'.", i)
		}
		if b.items[i].Type == "" {
			b.items[i].Type = typeMessage
		}
	}
	return nil
}

func checkSettings(b *body) *apiError {
	switch {
	case b.Model == "":
		return badRequest("model", "missing_required_parameter", "Missing required parameter: 'model'.")
	case b.PreviousResponseID != "":
		return badRequest("previous_response_id", "previous_response_not_found", "Previous response with id '%s' not found.", b.PreviousResponseID)
	case b.Temperature != nil && (*b.Temperature < 0 || *b.Temperature > 2):
		return badRequest("temperature", "decimal_above_max_value", "Invalid 'temperature': expected a value between 0 and 2.")
	case b.MaxOutputTokens != nil && *b.MaxOutputTokens < 16:
		return badRequest("max_output_tokens", "integer_below_min_value",
			"Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got %d instead.", *b.MaxOutputTokens)
	case b.Reasoning != nil && b.Reasoning.Effort != "" && !slices.Contains(efforts, b.Reasoning.Effort):
		return badRequest("reasoning.effort", "invalid_value", "Invalid value: '%s'. Supported values are: %s.", b.Reasoning.Effort, list(efforts))
	}
	for i, name := range b.Include {
		if !slices.Contains(includes, name) {
			return badRequest(fmt.Sprintf("include[%d]", i), "invalid_value", "Invalid value: '%s'. Supported values are: %s.", name, list(includes))
		}
	}
	return nil
}

func list(values []string) string { return "'" + strings.Join(values, "', '") + "'" }

func checkTools(b *body) *apiError {
	names := make(map[string]bool)
	for i, t := range b.Tools {
		at := fmt.Sprintf("tools[%d]", i)
		switch {
		case t.Type == "":
			return badRequest(at+".type", "missing_required_parameter", "Missing required parameter: '%s.type'.", at)
		case slices.Contains(hosted, t.Type):
			continue
		case t.Type != "function":
			return badRequest(at+".type", "invalid_value", "Invalid value: '%s'. Supported values are: 'function', %s.", t.Type, list(hosted))
		case !toolName.MatchString(t.Name):
			return badRequest(at+".name", "invalid_value", "Invalid '%s.name': expected a string that matches %s.", at, toolName)
		case names[t.Name]:
			return badRequest("tools", "", "Tool names must be unique: '%s' is there twice.", t.Name)
		}
		names[t.Name] = true
		if problem := checkSchema(t); problem != "" {
			return badRequest(at+".parameters", "invalid_function_parameters", "Invalid schema for function '%s': %s", t.Name, problem)
		}
	}
	return nil
}

func checkToolChoice(b *body) *apiError {
	if len(b.ToolChoice) == 0 {
		return nil
	}
	var mode string
	if json.Unmarshal(b.ToolChoice, &mode) == nil {
		if !slices.Contains([]string{"none", "auto", "required"}, mode) {
			return badRequest("tool_choice", "invalid_value", "Invalid value: '%s'. Supported values are: 'none', 'auto', and 'required'.", mode)
		}
		if mode == "required" && len(b.Tools) == 0 {
			return badRequest("tool_choice", "", "Tool choice 'required' must be specified with 'tools' parameter.")
		}
		return nil
	}
	var choice tool
	if json.Unmarshal(b.ToolChoice, &choice) != nil {
		return badRequest("tool_choice", "invalid_type", "Invalid type for 'tool_choice'.")
	}
	if choice.Type == "function" && !slices.ContainsFunc(b.Tools, func(t tool) bool { return t.Name == choice.Name }) {
		return badRequest("tool_choice", "", "Tool choice 'function' not found in 'tools' parameter.")
	}
	return nil
}

// checkCalls makes sure that calls and outputs come in pairs, the call first.
func checkCalls(b *body) *apiError {
	open := make(map[string]bool) // call id: its output is still missing
	var order []string
	for i, it := range b.items {
		switch it.Type {
		case typeCall:
			if it.CallID == "" || it.Name == "" || it.Arguments == nil {
				return badRequest(fmt.Sprintf("input[%d]", i), "missing_required_parameter", "Missing required parameter in function call 'input[%d]'.", i)
			}
			if _, seen := open[it.CallID]; seen {
				return badRequest("input", "", "Duplicate function call with call_id %s.", it.CallID)
			}
			open[it.CallID] = true
			order = append(order, it.CallID)
		case typeCallOutput:
			missing, seen := open[it.CallID]
			if !seen {
				return badRequest("input", "", "No tool call found for function call output with call_id %s.", it.CallID)
			}
			if !missing {
				return badRequest("input", "", "Duplicate function call output with call_id %s.", it.CallID)
			}
			if len(it.Output) == 0 || !bytes.ContainsRune([]byte(`"[`), rune(it.Output[0])) {
				return badRequest(fmt.Sprintf("input[%d].output", i), "invalid_type", "Invalid type for 'input[%d].output': expected a string or an array.", i)
			}
			open[it.CallID] = false
		}
	}
	for _, id := range order {
		if open[id] {
			return badRequest("input", "", "No tool output found for function call %s.", id)
		}
	}
	return nil
}

// checkReasoning makes sure that reasoning items come back whole and in their place.
func checkReasoning(b *body) *apiError {
	for i, it := range b.items {
		if it.Type != typeReasoning {
			continue
		}
		if it.EncryptedContent == "" && (b.Store != nil && !*b.Store) {
			e := badRequest("input", "", "Item with id '%s' not found. Items are not persisted when `store` is set to false.", it.ID)
			e.status = 404
			return e
		}
		if it.EncryptedContent != "" && it.EncryptedContent != encrypted(it.ID) {
			return badRequest("", "invalid_encrypted_content", "The encrypted content for item %s could not be verified.", it.ID)
		}
		if i+1 == len(b.items) || b.items[i+1].Type == typeMessage && b.items[i+1].Role != "assistant" || b.items[i+1].Type == typeCallOutput {
			return badRequest("input", "", "Item '%s' of type 'reasoning' was provided without its required following item.", it.ID)
		}
	}
	return nil
}

// checkItems refuses unknown types, repeated ids and messages whose parts do not suit their role.
func checkItems(b *body, extra []string) *apiError {
	ids := make(map[string]bool)
	for i, it := range b.items {
		at := fmt.Sprintf("input[%d]", i)
		if !slices.Contains(itemTypes, it.Type) && !slices.Contains(extra, it.Type) {
			return badRequest(at, "invalid_value", "Invalid value: '%s'. Supported values are: %s.", it.Type, list(itemTypes))
		}
		if it.ID != "" && ids[it.ID] {
			return badRequest("input", "", "Duplicate item found with id %s. Remove duplicate items from your input and try again.", it.ID)
		}
		ids[it.ID] = true
		if it.Type == typeMessage {
			if err := checkMessage(at, it); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkMessage(at string, it item) *apiError {
	if !slices.Contains([]string{"user", "assistant", "system", "developer"}, it.Role) {
		return badRequest(at+".role", "invalid_value", "Invalid value: '%s'. Supported values are: 'assistant', 'system', 'developer', and 'user'.", it.Role)
	}
	var text string
	if json.Unmarshal(it.Content, &text) == nil {
		return nil
	}
	var parts []part
	if len(it.Content) == 0 || json.Unmarshal(it.Content, &parts) != nil {
		return badRequest(at+".content", "invalid_type", "Invalid type for '%s.content': expected a string or an array.", at)
	}
	want := []string{"input_text", "input_image", "input_file"}
	if it.Role == "assistant" {
		want = []string{"output_text", "refusal"}
	}
	for j, p := range parts {
		if !slices.Contains(want, p.Type) {
			return badRequest(fmt.Sprintf("%s.content[%d]", at, j), "invalid_value", "Invalid value: '%s'. Supported values are: %s.", p.Type, list(want))
		}
	}
	return nil
}
