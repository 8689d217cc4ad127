package openaimodel

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"

	"countersign/agent"
)

// chat speaks the Chat Completions API.
type chat struct {
	model  string
	pieces pieceCache
	// oldLimit and noUsage are set once the server has refused the newer parameters, short once it has refused a long
	// description, loose once it has refused a choice at the top of a schema.
	oldLimit, noUsage, short, loose atomic.Bool
}

func (*chat) name() string { return "Chat Completions API" }

func (*chat) path() string { return "chat/completions" }

// adapt does without parameters that older servers do not know, and without what OpenAI refuses of tools.
func (c *chat) adapt(e *Error) bool {
	if e.Status != http.StatusBadRequest && e.Status != http.StatusUnprocessableEntity {
		return false
	}
	refused := func(name string) bool { return e.param == name || e.param == "" && strings.Contains(e.said, name) }
	switch {
	case refused("max_completion_tokens"):
		c.oldLimit.Store(true)
	case refused("stream_options"):
		c.noUsage.Store(true)
	case e.Code == "string_above_max_length" && strings.HasSuffix(e.param, ".description"):
		c.short.Store(true)
	case e.refusesChoice():
		c.loose.Store(true)
	default:
		return false
	}
	return true
}

// chatHead is a request without its tools, format and messages, which are put in as they are.
type chatHead struct {
	Model               string          `json:"model"`
	Stream              bool            `json:"stream,omitempty"`
	StreamOptions       *streamOptions  `json:"stream_options,omitempty"`
	Temperature         *float64        `json:"temperature,omitempty"`
	MaxCompletionTokens int             `json:"max_completion_tokens,omitempty"`
	MaxTokens           int             `json:"max_tokens,omitempty"`
	ReasoningEffort     string          `json:"reasoning_effort,omitempty"`
	ToolChoice          json.RawMessage `json:"tool_choice,omitempty"`
	ParallelToolCalls   *bool           `json:"parallel_tool_calls,omitempty"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

func (c *chat) encode(req *agent.ModelRequest, stream bool) ([]byte, error) {
	if err := checkChat(req); err != nil {
		return nil, err
	}
	h := chatHead{
		Model: c.model, Stream: stream, Temperature: req.Settings.Temperature,
		MaxCompletionTokens: req.Settings.MaxOutputTokens, ReasoningEffort: req.Settings.ReasoningEffort,
	}
	if c.oldLimit.Load() {
		h.MaxCompletionTokens, h.MaxTokens = 0, req.Settings.MaxOutputTokens
	}
	if stream && !c.noUsage.Load() {
		h.StreamOptions = &streamOptions{IncludeUsage: true}
	}
	if len(req.Tools) > 0 { // both are refused without tools
		h.ToolChoice = chatToolChoice(req.Settings.ToolChoice)
		h.ParallelToolCalls = req.Settings.ParallelToolCalls
	}
	b, err := startBody(h, req)
	if err != nil {
		return nil, err
	}
	if err := writeTools(b, req.Tools, c.tool); err != nil {
		return nil, err
	}
	if err := c.writeOutput(b, req.Output); err != nil {
		return nil, err
	}
	if err := writeMessages(b, req); err != nil {
		return nil, err
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// checkChat refuses settings that the API does not have.
func checkChat(req *agent.ModelRequest) error {
	setting := ""
	switch {
	case req.Conversation != "":
		setting = "a conversation kept by the server"
	case req.PreviousResponseID != "":
		setting = "a previous response kept by the server"
	case req.Stored:
		setting = "a response to be kept for later requests"
	default:
		return nil
	}
	return inexpressible(setting)
}

// inexpressible is the error for what only the Responses API can take.
func inexpressible(what string) error {
	return fmt.Errorf("%w: the Chat Completions API cannot take %s; use api: %s", agent.ErrConfig, what, Responses)
}

func (c *chat) tool(t *agent.ToolDefinition) ([]byte, error) {
	loose, short, way := c.loose.Load(), c.short.Load(), byte('a')
	if loose {
		way |= 1 << 3
	}
	if short {
		way |= 1 << 4
	}
	return c.pieces.get(toolKey(t, way), func() ([]byte, error) {
		if short {
			cut := *t
			cut.Description = firstCharacters(t.Description, maxChatDescription)
			return encodeChatTool(&cut, loose)
		}
		return encodeChatTool(t, loose)
	})
}

// maxChatDescription is how many characters OpenAI takes of the description of a function.
const maxChatDescription = 1024

// firstCharacters cuts a text, and shows that it is cut.
func firstCharacters(text string, n int) string {
	runes := []rune(text)
	if len(runes) <= n {
		return text
	}
	return string(runes[:n-1]) + "…"
}

// encodeChatTool returns the tool as the API wants it. loose is for sentSchema.
func encodeChatTool(t *agent.ToolDefinition, loose bool) ([]byte, error) {
	if t.Wire != agent.WireFunction {
		return nil, inexpressible(fmt.Sprintf("tool %s, whose wire form is %s", t.Name, t.Wire))
	}
	f, err := newFunction(t, loose)
	if err != nil {
		return nil, err
	}
	strict := ""
	if Strict(f.schema) { // not strict is the default, and not every server knows the word
		strict = `,"strict":true`
	}
	return fmt.Appendf(nil, `{"type":"function","function":{%s%s,"parameters":%s}}`, f.names, strict, f.schema), nil
}

// chatToolChoice translates a setting: one of the API's words, or the name of a tool.
func chatToolChoice(choice string) json.RawMessage {
	switch choice {
	case "":
		return nil
	case "auto", "required", "none":
		return json.RawMessage(`"` + choice + `"`)
	}
	name, _ := json.Marshal(choice)
	return json.RawMessage(`{"type":"function","function":{"name":` + string(name) + `}}`)
}

// writeOutput writes what the answer must look like.
func (c *chat) writeOutput(b *bytes.Buffer, o *agent.OutputSchema) error {
	if o == nil {
		return nil
	}
	encoded, err := c.pieces.get(outputKey(o), func() ([]byte, error) { return encodeOutput(o) })
	if err != nil {
		return err
	}
	b.WriteString(`,"response_format":{"type":"json_schema","json_schema":{`)
	b.Write(encoded)
	b.WriteString(`}}`)
	return nil
}
