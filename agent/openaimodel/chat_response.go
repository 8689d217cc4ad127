package openaimodel

import (
	"bytes"
	"encoding/json"
	"fmt"

	"countersign/agent"
)

// completion is the part of a chat completion that matters here. What the model said stays as the JSON it came in.
type completion struct {
	ID      string          `json:"id"`
	Choices []choice        `json:"choices"`
	Usage   *chatUsage      `json:"usage"`
	Error   json.RawMessage `json:"error"` // as some gateways send it with status 200
}

type choice struct {
	Message      chatMessage `json:"message"`
	FinishReason string      `json:"finish_reason"`
}

type chatMessage struct {
	Content   json.RawMessage `json:"content"`
	Refusal   json.RawMessage `json:"refusal"`
	ToolCalls []chatCall      `json:"tool_calls"`
}

type chatCall struct {
	Index    int             `json:"index"` // in a stream
	ID       json.RawMessage `json:"id"`
	Type     string          `json:"type"`
	Function chatFunction    `json:"function"`
}

type chatFunction struct {
	Name      json.RawMessage `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

type chatUsage struct {
	PromptTokens        int64 `json:"prompt_tokens"`
	CompletionTokens    int64 `json:"completion_tokens"`
	TotalTokens         int64 `json:"total_tokens"`
	PromptTokensDetails struct {
		CachedTokens int64 `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionTokensDetails struct {
		ReasoningTokens int64 `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

func (u *chatUsage) usage() agent.Usage {
	if u == nil {
		return agent.Usage{Requests: 1}
	}
	return agent.Usage{
		Requests: 1, InputTokens: u.PromptTokens, CachedTokens: u.PromptTokensDetails.CachedTokens,
		OutputTokens: u.CompletionTokens, ReasoningTokens: u.CompletionTokensDetails.ReasoningTokens,
		TotalTokens: u.TotalTokens,
	}
}

func (*chat) decode(data []byte) (*agent.ModelResponse, error) {
	var c completion
	if err := decodeAnswer(data, &c); err != nil {
		return nil, err
	}
	if len(c.Choices) == 0 {
		if code, message, ok := readError(c.Error); ok {
			return nil, &ended{status: statusFailed, code: code, message: message}
		}
		return nil, fmt.Errorf("%w: the answer has no choices", agent.ErrModelBehavior)
	}
	return c.model(&c.Choices[0])
}

// model checks that the answer is complete and translates it.
func (c *completion) model(answer *choice) (*agent.ModelResponse, error) {
	if err := finished(answer.FinishReason, c.Usage); err != nil {
		return nil, err
	}
	out := &agent.ModelResponse{ID: c.ID, Usage: c.Usage.usage()}
	raws, err := answer.Message.items()
	if err != nil {
		return nil, err
	}
	for i, raw := range raws {
		it, err := agent.ParseItem(raw)
		if err != nil {
			return nil, fmt.Errorf("%w: output item %d: %w", agent.ErrModelBehavior, i, err)
		}
		out.Items = append(out.Items, it)
	}
	return out, nil
}

// finished says what ended an answer early. A reason that is not known may stand for anything.
func finished(reason string, u *chatUsage) error {
	switch reason {
	case "stop", "tool_calls":
		return nil
	case "":
		return errCut
	case "length":
		return &ended{status: statusIncomplete, code: "max_output_tokens", tokens: u.usage().OutputTokens}
	case "content_filter":
		return &ended{status: statusIncomplete, code: reason}
	}
	return &ended{status: "unfinished", code: reason}
}

// items writes what the model said as items of the Responses API, of its own JSON strings, so that nothing that it
// wrote is lost or mended.
func (m *chatMessage) items() ([]json.RawMessage, error) {
	text, err := m.text()
	if err != nil {
		return nil, err
	}
	var items []json.RawMessage
	switch said, refused := text != nil, isString(m.Refusal) && len(m.Refusal) > len(`""`); {
	case refused:
		b := []byte(`{"type":"message","role":"assistant","content":[`)
		if said {
			b = fmt.Appendf(b, `{"type":"output_text","text":%s,"annotations":[]},`, text)
		}
		items = append(items, fmt.Appendf(b, `{"type":"refusal","refusal":%s}]}`, m.Refusal))
	case said:
		items = append(items, fmt.Appendf(nil, `{"type":"message","role":"assistant","content":%s}`, text))
	}
	for i := range m.ToolCalls {
		call, err := m.ToolCalls[i].item()
		if err != nil {
			return nil, err
		}
		items = append(items, call)
	}
	return items, nil
}

// text returns the content as one JSON string, or nil when there is none. Some servers send a list of parts, of which
// the texts count.
func (m *chatMessage) text() (json.RawMessage, error) {
	content := m.Content
	if bytes.HasPrefix(content, []byte("[")) {
		var parts []part
		if err := json.Unmarshal(content, &parts); err != nil {
			return nil, fmt.Errorf("%w: the content of the message", agent.ErrModelBehavior)
		}
		var joined jsonText
		for _, p := range parts {
			if p.isText() {
				joined.add(p.Text)
			}
		}
		content = joined.token()
	}
	switch {
	case len(content) == 0, string(content) == "null", string(content) == `""`:
		return nil, nil
	case !isString(content):
		return nil, fmt.Errorf("%w: the content of the message", agent.ErrModelBehavior)
	}
	return content, nil
}

// item writes the call as an item. No arguments at all are an empty object, as some servers leave them out.
func (c *chatCall) item() (json.RawMessage, error) {
	if c.Type != "function" && c.Type != "" || !isString(c.Function.Name) {
		return nil, fmt.Errorf("%w: a call that is not one of a function", agent.ErrModelBehavior)
	}
	arguments := c.Function.Arguments
	switch {
	case len(arguments) == 0, string(arguments) == "null", string(arguments) == `""`:
		arguments = json.RawMessage(`"{}"`)
	case !isString(arguments):
		return nil, fmt.Errorf("%w: the arguments of a call are not a text", agent.ErrModelBehavior)
	}
	id := c.ID
	if !isString(id) {
		id = json.RawMessage(`""`)
	}
	return fmt.Appendf(nil,
		`{"type":"function_call","call_id":%s,"name":%s,"arguments":%s}`, id, c.Function.Name, arguments), nil
}

// jsonText joins JSON strings without decoding them: a character whose escapes are spread over two pieces stays one.
type jsonText struct{ inner []byte }

func (t *jsonText) add(token json.RawMessage) {
	if isString(token) {
		t.inner = append(t.inner, token[1:len(token)-1]...)
	}
}

// token returns the joined JSON string, or nil when nothing was added.
func (t *jsonText) token() json.RawMessage {
	if len(t.inner) == 0 {
		return nil
	}
	return append(append(append(make([]byte, 0, len(t.inner)+2), '"'), t.inner...), '"')
}
