package openaidev

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// chatBody is the part of a request for a chat completion that differs from one for a response.
type chatBody struct {
	Model               string            `json:"model"`
	Messages            []json.RawMessage `json:"messages"`
	Tools               []chatTool        `json:"tools"`
	ToolChoice          json.RawMessage   `json:"tool_choice"`
	Stream              bool              `json:"stream"`
	StreamOptions       *streamOptions    `json:"stream_options"`
	Temperature         *float64          `json:"temperature"`
	MaxTokens           *int              `json:"max_tokens"`
	MaxCompletionTokens *int              `json:"max_completion_tokens"`
	ParallelToolCalls   *bool             `json:"parallel_tool_calls"`
	ReasoningEffort     string            `json:"reasoning_effort"`
	ResponseFormat      *responseFormat   `json:"response_format"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type chatTool struct {
	Type     string `json:"type"`
	Function *tool  `json:"function"`
}

type responseFormat struct {
	Type       string  `json:"type"`
	JSONSchema *format `json:"json_schema"`
}

type chatMessage struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	Refusal    string          `json:"refusal"`
	ToolCalls  []chatCall      `json:"tool_calls"`
	ToolCallID string          `json:"tool_call_id"`
}

type chatCall struct {
	Index    *int         `json:"index,omitempty"` // in a stream
	ID       string       `json:"id,omitempty"`
	Type     string       `json:"type,omitempty"`
	Function chatFunction `json:"function"`
}

type chatFunction struct {
	Name      string  `json:"name,omitempty"`
	Arguments *string `json:"arguments"`
}

var chatKnown = []string{
	"model", "messages", "tools", "tool_choice", "stream", "stream_options", "temperature", "max_tokens",
	"max_completion_tokens", "parallel_tool_calls", "reasoning_effort", "response_format",
}

// chatIgnored are parameters that OpenAI knows and the script has no use for.
var chatIgnored = []string{
	"audio", "frequency_penalty", "logit_bias", "logprobs", "metadata", "modalities", "moderation", "n", "prediction",
	"presence_penalty", "prompt_cache_key", "prompt_cache_retention", "safety_identifier", "seed", "service_tier",
	"stop", "store", "top_logprobs", "top_p", "user", "verbosity", "web_search_options",
}

// parseChat reads a request for a chat completion and refuses what OpenAI would refuse. The messages become items.
func parseChat(data []byte) (*body, *apiError) {
	c := new(chatBody)
	if err := readBody(data, c, chatKnown, chatIgnored); err != nil {
		return nil, err
	}
	b := &body{
		chat: c, Model: c.Model, Stream: c.Stream, Temperature: c.Temperature, ParallelToolCalls: c.ParallelToolCalls,
		Reasoning: &reasoning{Effort: c.ReasoningEffort}, raw: c.Messages,
	}
	for _, check := range []func(*body) *apiError{
		checkChatSettings, readChatTools, checkTools, checkToolChoice, readMessages,
	} {
		if err := check(b); err != nil {
			return b, err
		}
	}
	b.Input, _ = json.Marshal(c.Messages) // counted as tokens
	return b, nil
}

func checkChatSettings(b *body) *apiError {
	c := b.chat
	if err := checkSettings(b); err != nil {
		return err
	}
	switch {
	case c.StreamOptions != nil && !c.Stream:
		return badRequest("stream_options", "",
			"The 'stream_options' parameter is only allowed when 'stream' is enabled.")
	case c.MaxTokens != nil && c.MaxCompletionTokens != nil:
		return badRequest("max_tokens", "invalid_parameter_combination",
			"Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.")
	case len(c.Messages) == 0:
		return badRequest("messages", "empty_array",
			"Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.")
	case c.ParallelToolCalls != nil && len(c.Tools) == 0:
		return badRequest("parallel_tool_calls", "", "Invalid value for 'parallel_tool_calls': "+
			"'parallel_tool_calls' is only allowed when 'tools' are specified.")
	case c.ToolChoice != nil && len(c.Tools) == 0:
		return badRequest("tool_choice", "",
			"Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified.")
	case c.ResponseFormat == nil:
		return nil
	}
	f := format{Type: c.ResponseFormat.Type}
	if f.Type == "json_schema" {
		if c.ResponseFormat.JSONSchema == nil {
			return badRequest("response_format.json_schema", "missing_required_parameter",
				"Missing required parameter: 'response_format.json_schema'.")
		}
		f = *c.ResponseFormat.JSONSchema
		f.Type = c.ResponseFormat.Type
	}
	return f.check("response_format")
}

// readChatTools translates the tools and the choice of one to those of the Responses API.
func readChatTools(b *body) *apiError {
	for i, t := range b.chat.Tools {
		at := fmt.Sprintf("tools[%d]", i)
		switch {
		case t.Type != "function":
			return badRequest(at+".type", "invalid_value",
				"Invalid value: '%s'. Supported values are: 'function' and 'custom'.", t.Type)
		case t.Function == nil:
			return badRequest(at+".function", "missing_required_parameter",
				"Missing required parameter: '%s.function'.", at)
		}
		f := *t.Function
		f.Type = "function"
		if f.Strict == nil { // not the default here
			f.Strict = new(bool)
		}
		if len(f.Parameters) == 0 {
			f.Parameters = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		b.Tools = append(b.Tools, f)
	}
	b.ToolChoice = b.chat.ToolChoice
	var choice chatTool
	if json.Unmarshal(b.ToolChoice, &choice) == nil {
		if choice.Type != "function" || choice.Function == nil {
			return badRequest("tool_choice", "invalid_value",
				"Invalid value for 'tool_choice': expected a type of 'function' and a function.")
		}
		b.ToolChoice, _ = json.Marshal(map[string]string{"type": "function", "name": choice.Function.Name})
	}
	return nil
}

// readMessages translates the messages to items. Calls have to be followed by their outputs at once.
func readMessages(b *body) *apiError {
	var open []string // calls of the last assistant message that lack an output
	for i, raw := range b.raw {
		at := fmt.Sprintf("messages[%d]", i)
		var m chatMessage
		if err := json.Unmarshal(raw, &m); err != nil {
			return badRequest(at, "invalid_type", "Invalid type for '%s'.", at)
		}
		if m.Role == "tool" {
			n := slices.Index(open, m.ToolCallID)
			if n < 0 {
				return badRequest("messages", "", "Invalid parameter: "+
					"messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.")
			}
			if err := checkContent(at, m, "text"); err != nil {
				return err
			}
			open = slices.Delete(open, n, n+1)
			b.items = append(b.items, item{Type: typeCallOutput, CallID: m.ToolCallID, Output: m.Content})
			continue
		}
		if len(open) > 0 {
			return unanswered(open)
		}
		items, err := readMessage(at, m)
		if err != nil {
			return err
		}
		for _, c := range m.ToolCalls {
			open = append(open, c.ID)
		}
		if m.Role == "system" || m.Role == "developer" {
			b.Instructions = strings.TrimPrefix(b.Instructions+"\n"+items[0].text(), "\n")
		}
		b.items = append(b.items, items...)
	}
	if len(open) > 0 {
		return unanswered(open)
	}
	return nil
}

func unanswered(open []string) *apiError {
	return badRequest("messages", "",
		"An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "+
			"The following tool_call_ids did not have response messages: %s", strings.Join(open, ", "))
}

// readMessage translates a message that is not the output of a tool.
func readMessage(at string, m chatMessage) ([]item, *apiError) {
	parts := []string{"text"}
	switch m.Role {
	case "user":
		parts = append(parts, "image_url", "input_audio", "file")
	case "assistant":
		parts = append(parts, "refusal")
	case "system", "developer":
	default:
		return nil, badRequest(at+".role", "invalid_value", "Invalid value: '%s'. Supported values are: "+
			"'system', 'assistant', 'user', 'function', 'tool', and 'developer'.", m.Role)
	}
	empty := len(m.Content) == 0 || string(m.Content) == "null"
	if !empty || m.Role != "assistant" || len(m.ToolCalls) == 0 && m.Refusal == "" {
		if err := checkContent(at, m, parts...); err != nil {
			return nil, err
		}
	}
	if len(m.ToolCalls) > 0 && m.Role != "assistant" {
		return nil, badRequest(at+".tool_calls", "",
			"Invalid value for '%s.tool_calls': only messages of the assistant have tool calls.", at)
	}
	var items []item
	if !empty {
		items = append(items, item{Type: typeMessage, Role: m.Role, Content: m.Content})
	}
	if len(m.ToolCalls) > maxChatTools {
		return nil, tooLong("array", at+".tool_calls", maxChatTools, len(m.ToolCalls))
	}
	seen := make(map[string]bool)
	for j, c := range m.ToolCalls {
		if err := c.check(fmt.Sprintf("%s.tool_calls[%d]", at, j)); err != nil {
			return nil, err
		}
		if seen[c.ID] {
			return nil, badRequest("messages", "",
				"Duplicate value for 'tool_call_id' of '%s' in message with 'tool_calls'.", c.ID)
		}
		seen[c.ID] = true
		items = append(items, item{
			Type: typeCall, CallID: c.ID, Name: c.Function.Name, Arguments: c.Function.Arguments,
		})
	}
	return items, nil
}

// check refuses a call that lacks something, or whose id or name OpenAI would not have made.
func (c chatCall) check(at string) *apiError {
	switch {
	case c.ID == "" || c.Type != "function" || c.Function.Name == "" || c.Function.Arguments == nil:
		return badRequest(at, "missing_required_parameter", "Missing required parameter in '%s'.", at)
	case len(c.ID) > maxChatCallID:
		return tooLong("string", at+".id", maxChatCallID, len(c.ID))
	case !toolName.MatchString(c.Function.Name):
		return badRequest(at+".function.name", "invalid_value", "Invalid '%s.function.name': string does not match "+
			"pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.", at)
	}
	return nil
}

// checkContent refuses a content that is neither a string nor a list of parts of these types.
func checkContent(at string, m chatMessage, types ...string) *apiError {
	var text *string
	if json.Unmarshal(m.Content, &text) == nil && text != nil {
		return nil
	}
	var parts []part
	if json.Unmarshal(m.Content, &parts) != nil || parts == nil {
		return badRequest(at+".content", "invalid_type", "Invalid value for 'content': expected a string, got null.")
	}
	for j, p := range parts {
		if !slices.Contains(types, p.Type) {
			return badRequest(fmt.Sprintf("%s.content[%d].type", at, j), "invalid_value",
				"Invalid value: '%s'. Supported values are: %s.", p.Type, list(types))
		}
	}
	return nil
}
