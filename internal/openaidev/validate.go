package openaidev

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// apiError is an error in OpenAI's form.
type apiError struct {
	status                     int
	Message, Type, Param, Code string
}

func badRequest(param, code, format string, args ...any) *apiError {
	return &apiError{
		status: 400, Type: "invalid_request_error", Param: param, Code: code, Message: fmt.Sprintf(format, args...),
	}
}

// ignored are parameters that OpenAI knows and the script has no use for.
var ignored = []string{
	"background", "max_tool_calls", "metadata", "moderation", "prompt", "prompt_cache_key", "prompt_cache_retention",
	"safety_identifier", "service_tier", "stream_options", "top_logprobs", "top_p", "truncation", "user",
	"context_management",
}

var known = []string{
	"model", "instructions", "input", "tools", "tool_choice", "stream", "store", "include", "temperature",
	"max_output_tokens", "parallel_tool_calls", "reasoning", "previous_response_id", "conversation", "text",
}

var includes = []string{
	"reasoning.encrypted_content", "message.output_text.logprobs", "message.input_image.image_url",
	"file_search_call.results", "web_search_call.results", "web_search_call.action.sources",
	"code_interpreter_call.outputs", "computer_call_output.output.image_url",
}

var efforts = []string{"none", "minimal", "low", "medium", "high", "xhigh"}

var hosted = []string{
	"web_search", "web_search_preview", "file_search", "code_interpreter", "image_generation", "mcp", "local_shell",
	"shell", "apply_patch", "custom", "computer", "computer_use_preview",
}

var itemTypes = []string{
	typeMessage, typeCall, typeCallOutput, typeReasoning, "item_reference", "compaction", "web_search_call",
	"file_search_call", "code_interpreter_call", "image_generation_call", "computer_call", "computer_call_output",
	"local_shell_call", "local_shell_call_output", "shell_call", "shell_call_output", "apply_patch_call",
	"apply_patch_call_output", "mcp_call", "mcp_list_tools", "mcp_approval_request", "mcp_approval_response",
	"custom_tool_call", "custom_tool_call_output",
}

// maxCallID is how long an id of a call the Responses API takes.
const maxCallID = 64

// Limits of chat completions.
const (
	maxChatDescription = 1024 // of a function, in characters
	maxChatCallID      = 40
	maxChatTools       = 128 // also the calls of one message
)

// tooLong refuses a string or an array.
func tooLong(kind, at string, limit, n int) *apiError {
	return badRequest(at, kind+"_above_max_length", "Invalid '%s': %s too long. Expected a%s with maximum length %d, "+
		"but got a%s with length %d instead.", at, kind, article(kind), limit, article(kind), n)
}

func article(kind string) string {
	if kind == "array" {
		return "n array"
	}
	return " " + kind
}

var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// readBody decodes a request body into v and refuses parameters that OpenAI does not know.
func readBody(data []byte, v any, known, ignored []string) *apiError {
	var top map[string]json.RawMessage
	if err := json.Unmarshal(data, &top); err != nil || top == nil {
		return badRequest("", "", "We could not parse the JSON body of your request.")
	}
	for _, name := range slices.Sorted(maps.Keys(top)) {
		if !slices.Contains(known, name) && !slices.Contains(ignored, name) {
			return badRequest(name, "unknown_parameter", "Unknown parameter: '%s'.", name)
		}
	}
	if err := json.Unmarshal(data, v); err != nil {
		return badRequest("", "invalid_type",
			"Invalid type in the request: %s.", strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}

// parse reads a request for a response and refuses what OpenAI would refuse. What the server kept of the conversation
// is put in front of the input. extra are further item types to accept.
func (m *memory) parse(data []byte, extra []string) (*body, *apiError) {
	b := new(body)
	if err := readBody(data, b, known, ignored); err != nil {
		return nil, err
	}
	if err := b.readInput(); err != nil {
		return nil, err
	}
	if err := m.recall(b); err != nil {
		return b, err
	}
	for _, check := range []func(*body) *apiError{
		checkSettings, checkFormat, checkTools, checkToolChoice, checkCalls, checkReasoning,
	} {
		if err := check(b); err != nil {
			return b, err
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
		b.raw = []json.RawMessage{json.RawMessage(`{"role":"user","content":` + string(content) + `}`)}
		return nil
	}
	if err := json.Unmarshal(b.Input, &b.raw); err != nil {
		return badRequest("input", "invalid_type", "Invalid type for 'input': expected a string or an array.")
	}
	var err *apiError
	b.items, err = readItems(b.raw)
	return err
}

func readItems(raws []json.RawMessage) ([]item, *apiError) {
	items := make([]item, len(raws))
	for i, raw := range raws {
		if err := json.Unmarshal(raw, &items[i]); err != nil {
			return nil, badRequest(fmt.Sprintf("input[%d]", i), "invalid_type", "Invalid type for 'input[%d]'.", i)
		}
		if items[i].Type == "" {
			items[i].Type = typeMessage
		}
	}
	return items, nil
}

func checkSettings(b *body) *apiError {
	switch {
	case b.Model == "":
		return badRequest("model", "missing_required_parameter", "Missing required parameter: 'model'.")
	case b.Temperature != nil && (*b.Temperature < 0 || *b.Temperature > 2):
		return badRequest("temperature", "decimal_above_max_value",
			"Invalid 'temperature': expected a value between 0 and 2.")
	case b.MaxOutputTokens != nil && *b.MaxOutputTokens < 16:
		return badRequest("max_output_tokens", "integer_below_min_value",
			"Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got %d instead.",
			*b.MaxOutputTokens)
	case b.Reasoning != nil && b.Reasoning.Effort != "" && !slices.Contains(efforts, b.Reasoning.Effort):
		return badRequest("reasoning.effort", "invalid_value",
			"Invalid value: '%s'. Supported values are: %s.", b.Reasoning.Effort, list(efforts))
	}
	for i, name := range b.Include {
		if !slices.Contains(includes, name) {
			return badRequest(fmt.Sprintf("include[%d]", i), "invalid_value",
				"Invalid value: '%s'. Supported values are: %s.", name, list(includes))
		}
	}
	return nil
}

func list(values []string) string { return "'" + strings.Join(values, "', '") + "'" }

func checkTools(b *body) *apiError {
	names := make(map[string]bool)
	if b.chat != nil && len(b.Tools) > maxChatTools {
		return tooLong("array", "tools", maxChatTools, len(b.Tools))
	}
	for i, t := range b.Tools {
		at := fmt.Sprintf("tools[%d]", i)
		switch {
		case t.Type == "":
			return badRequest(at+".type", "missing_required_parameter", "Missing required parameter: '%s.type'.", at)
		case t.Type != "function" && !slices.Contains(hosted, t.Type):
			return badRequest(at+".type", "invalid_value",
				"Invalid value: '%s'. Supported values are: 'function', %s.", t.Type, list(hosted))
		case t.Type != "function" && t.Type != "custom":
			if err := checkHosted(at, t); err != nil {
				return err
			}
			continue
		case !toolName.MatchString(t.Name):
			return badRequest(at+".name", "invalid_value",
				"Invalid '%s.name': expected a string that matches %s.", at, toolName)
		case names[t.Name]:
			return badRequest("tools", "", "Tool names must be unique: '%s' is there twice.", t.Name)
		}
		names[t.Name] = true
		if t.Type == "custom" {
			continue
		}
		if n := utf8.RuneCountInString(t.Description); b.chat != nil && n > maxChatDescription {
			return tooLong("string", at+".function.description", maxChatDescription, n)
		}
		problem := checkSchema(t)
		if problem == "" {
			problem = shapeProblem(t.Parameters)
		}
		if problem != "" {
			return badRequest(at+".parameters", "invalid_function_parameters",
				"Invalid schema for function '%s': %s", t.Name, problem)
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
			return badRequest("tool_choice", "invalid_value",
				"Invalid value: '%s'. Supported values are: 'none', 'auto', and 'required'.", mode)
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
	if !slices.ContainsFunc(b.Tools, func(t tool) bool {
		return t.Type == choice.Type && t.Name == choice.Name && t.ServerLabel == choice.ServerLabel
	}) {
		return badRequest("tool_choice", "", "Tool choice '%s' not found in 'tools' parameter.", choice.Type)
	}
	return nil
}
