package openaidev

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// Request is a request for an answer as it arrived.
type Request struct {
	N      int         // counts the requests for answers from 1
	Path   string      // "/v1/responses" or "/v1/chat/completions"
	Header http.Header // with the Authorization header as sent
	Body   []byte      // exactly the bytes of the body
	Stream bool        // whether an event stream was asked for
}

// Items returns the input items, or the messages of a chat completion, as they stand in the body; nil when the input is
// not a list.
func (r Request) Items() []json.RawMessage {
	var body struct {
		Input    []json.RawMessage `json:"input"`
		Messages []json.RawMessage `json:"messages"`
	}
	if json.Unmarshal(r.Body, &body) != nil {
		return nil
	}
	return append(body.Input, body.Messages...)
}

// Outputs returns the tool outputs in the input, by call id. The output of a shell call is its JSON.
func (r Request) Outputs() map[string]string {
	outputs := make(map[string]string)
	for _, raw := range r.Items() {
		var it struct {
			item
			ToolCallID string `json:"tool_call_id"`
		}
		if json.Unmarshal(raw, &it) != nil {
			continue
		}
		if _, ok := callOf[it.Type]; ok {
			outputs[it.CallID] = it.outputText()
		}
		if it.ToolCallID != "" {
			outputs[it.ToolCallID] = it.text()
		}
	}
	return outputs
}

// body is the part of a request that the server understands. Parameters outside it and outside ignored are refused.
type body struct {
	Model              string            `json:"model"`
	Instructions       string            `json:"instructions"`
	Input              json.RawMessage   `json:"input"`
	Tools              []tool            `json:"tools"`
	ToolChoice         json.RawMessage   `json:"tool_choice"`
	Stream             bool              `json:"stream"`
	Store              *bool             `json:"store"`
	Include            []string          `json:"include"`
	Temperature        *float64          `json:"temperature"`
	MaxOutputTokens    *int              `json:"max_output_tokens"`
	ParallelToolCalls  *bool             `json:"parallel_tool_calls"`
	Reasoning          *reasoning        `json:"reasoning"`
	PreviousResponseID string            `json:"previous_response_id"`
	Conversation       json.RawMessage   `json:"conversation"`
	Text               *textConfig       `json:"text"`
	conversation       string            // the id in Conversation
	items              []item            // what the server kept, and Input, decoded
	raw                []json.RawMessage // the same, as sent
	kept               int               // how many of the items the server kept
	chat               *chatBody         // of a chat completion
}

// at names an item as errors do.
func (b *body) at(i int) string { return fmt.Sprintf("input[%d]", i-b.kept) }

// keep reports whether the response is to be kept, which it is unless the request says otherwise.
func (b *body) keep() bool { return b.chat == nil && (b.Store == nil || *b.Store) }

type textConfig struct {
	Format *format `json:"format"`
}

// format is what an answer must look like.
type format struct {
	Type   string          `json:"type"`
	Name   string          `json:"name"`
	Schema json.RawMessage `json:"schema"`
	Strict *bool           `json:"strict"`
}

type reasoning struct {
	Effort  string `json:"effort"`
	Summary string `json:"summary"`
}

type tool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name,omitempty"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
	Strict      *bool           `json:"strict,omitempty"`
	Environment *environment    `json:"environment,omitempty"`
	mcpTool
}

type environment struct {
	Type string `json:"type"`
}
