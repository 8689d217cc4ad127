package openaimodel

import (
	"bytes"
	"encoding/json"
	"fmt"

	"countersign/agent"
)

// head is a request without its tools and its input, which are put in as they are: encoding/json would rewrite them.
type head struct {
	Model              string          `json:"model"`
	Store              bool            `json:"store"`
	Conversation       string          `json:"conversation,omitempty"`
	PreviousResponseID string          `json:"previous_response_id,omitempty"`
	Stream             bool            `json:"stream,omitempty"`
	Include            []string        `json:"include,omitempty"`
	Instructions       string          `json:"instructions,omitempty"`
	Temperature        *float64        `json:"temperature,omitempty"`
	MaxOutputTokens    int             `json:"max_output_tokens,omitempty"`
	Reasoning          *reasoning      `json:"reasoning,omitempty"`
	ToolChoice         json.RawMessage `json:"tool_choice,omitempty"`
	ParallelToolCalls  *bool           `json:"parallel_tool_calls,omitempty"`
}

type reasoning struct {
	Effort  string `json:"effort,omitempty"`
	Summary string `json:"summary,omitempty"`
}

func (a *responsesAPI) encode(req *agent.ModelRequest, stream bool) ([]byte, error) {
	if req.Conversation != "" && req.PreviousResponseID != "" {
		return nil, fmt.Errorf(
			"%w: a request goes on from a conversation or from a previous response, not from both", agent.ErrConfig)
	}
	h := head{
		// A conversation is kept by the server, so what is said in it is too.
		Model: a.model, Store: req.Stored || req.Conversation != "", Conversation: req.Conversation,
		PreviousResponseID: req.PreviousResponseID, Stream: stream, Instructions: req.Instructions,
		Temperature: req.Settings.Temperature, MaxOutputTokens: req.Settings.MaxOutputTokens,
	}
	if !a.plain.Load() {
		h.Include = []string{"reasoning.encrypted_content"}
	}
	if req.Settings.ReasoningEffort != "" || a.summary != "" {
		h.Reasoning = &reasoning{req.Settings.ReasoningEffort, a.summary}
	}
	if len(req.Tools) > 0 { // both are refused without tools
		h.ToolChoice = toolChoice(req.Settings.ToolChoice, req.Tools)
		h.ParallelToolCalls = req.Settings.ParallelToolCalls
	}
	b, err := startBody(h, req)
	if err != nil {
		return nil, err
	}
	if err := writeTools(b, req.Tools, a.tool); err != nil {
		return nil, err
	}
	if err := a.writeOutput(b, req.Output); err != nil {
		return nil, err
	}
	// What the server keeps of the conversation has the calls under their own ids.
	writeInput(b, req.Items, req.Conversation != "" || req.PreviousResponseID != "")
	b.WriteByte('}')
	return b.Bytes(), nil
}

// startBody writes the head of a request, up to but without the brace that ends it.
func startBody(head any, req *agent.ModelRequest) (*bytes.Buffer, error) {
	b := bytes.NewBuffer(make([]byte, 0, sizeHint(req)))
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(head); err != nil {
		return nil, fmt.Errorf("%w: encode model request: %w", agent.ErrConfig, err)
	}
	b.Truncate(b.Len() - len("}\n"))
	return b, nil
}

// writeTools writes the tools, each as the API wants it.
func writeTools(
	b *bytes.Buffer, tools []agent.ToolDefinition, encode func(*agent.ToolDefinition) ([]byte, error),
) error {
	for i := range tools {
		encoded, err := encode(&tools[i])
		if err != nil {
			return err
		}
		b.WriteString(separator(i, `,"tools":[`))
		b.Write(encoded)
	}
	if len(tools) > 0 {
		b.WriteByte(']')
	}
	return nil
}

// writeInput writes the items; exact says that they go byte for byte.
func writeInput(b *bytes.Buffer, items []agent.Item, exact bool) {
	b.WriteString(`,"input":[`)
	for i := range items {
		b.WriteString(separator(i, ""))
		if exact {
			b.Write(items[i].Wire())
		} else {
			b.Write(sentItem(&items[i]))
		}
	}
	b.WriteByte(']')
}

func separator(i int, first string) string {
	if i == 0 {
		return first
	}
	return ","
}

// sizeHint is about how long the body gets.
func sizeHint(req *agent.ModelRequest) int {
	n := 512 + len(req.Instructions)
	for i := range req.Items {
		n += len(req.Items[i].Raw) + len(req.Items[i].Text) + len(req.Items[i].Output) +
			len(req.Items[i].Arguments) + 128
	}
	for i := range req.Tools {
		n += len(req.Tools[i].Parameters) + len(req.Tools[i].Hosted) + len(req.Tools[i].Description) + 128
	}
	if req.Output != nil {
		n += len(req.Output.Schema) + 128
	}
	return n
}
