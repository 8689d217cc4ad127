package openaidev

import (
	"encoding/json"
	"net/http"
	"strings"
)

// Request is a request as it arrived.
type Request struct {
	N      int         // counts the requests to /v1/responses from 1
	Header http.Header // with the Authorization header as sent
	Body   []byte      // exactly the bytes of the body
	Stream bool        // whether an event stream was asked for
}

// Items returns the input items as they stand in the body, or nil when the input is not a list.
func (r Request) Items() []json.RawMessage {
	var body struct {
		Input []json.RawMessage `json:"input"`
	}
	if json.Unmarshal(r.Body, &body) != nil {
		return nil
	}
	return body.Input
}

// Outputs returns the tool outputs in the input, by call id.
func (r Request) Outputs() map[string]string {
	outputs := make(map[string]string)
	for _, raw := range r.Items() {
		var it item
		if json.Unmarshal(raw, &it) == nil && it.Type == typeCallOutput {
			outputs[it.CallID] = it.outputText()
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
	items              []item            // Input, decoded
	raw                []json.RawMessage // Input, as sent
}

type reasoning struct {
	Effort  string `json:"effort"`
	Summary string `json:"summary"`
}

type tool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      *bool           `json:"strict"`
}

const (
	typeMessage    = "message"
	typeCall       = "function_call"
	typeCallOutput = "function_call_output"
	typeReasoning  = "reasoning"
)

// item is an input item of any type, as far as the server looks into it.
type item struct {
	Type             string          `json:"type"`
	ID               string          `json:"id"`
	Role             string          `json:"role"`
	Content          json.RawMessage `json:"content"`
	CallID           string          `json:"call_id"`
	Name             string          `json:"name"`
	Arguments        *string         `json:"arguments"`
	Output           json.RawMessage `json:"output"`
	EncryptedContent string          `json:"encrypted_content"`
}

type part struct {
	Type    string `json:"type"`
	Text    string `json:"text"`
	Refusal string `json:"refusal"`
}

// text joins the text of a message's content, which is a string or a list of parts.
func (it item) text() string { return joinText(it.Content) }

func (it item) outputText() string { return joinText(it.Output) }

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
