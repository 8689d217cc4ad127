package openaimodel

import (
	"bytes"
	"encoding/json"
	"fmt"

	"countersign/agent"
)

// head is a request without its tools and its input, which are put in as they are: encoding/json would rewrite them.
type head struct {
	Model             string          `json:"model"`
	Store             bool            `json:"store"`
	Stream            bool            `json:"stream,omitempty"`
	Include           []string        `json:"include,omitempty"`
	Instructions      string          `json:"instructions,omitempty"`
	Temperature       *float64        `json:"temperature,omitempty"`
	MaxOutputTokens   int             `json:"max_output_tokens,omitempty"`
	Reasoning         *reasoning      `json:"reasoning,omitempty"`
	ToolChoice        json.RawMessage `json:"tool_choice,omitempty"`
	ParallelToolCalls *bool           `json:"parallel_tool_calls,omitempty"`
}

type reasoning struct {
	Effort string `json:"effort"`
}

// encode writes the body of a request.
func (m *Model) encode(req *agent.ModelRequest, stream bool) ([]byte, error) {
	h := head{
		Model: m.cfg.Model, Stream: stream, Instructions: req.Instructions,
		Temperature: req.Settings.Temperature, MaxOutputTokens: req.Settings.MaxOutputTokens,
	}
	if !m.plain.Load() {
		h.Include = []string{"reasoning.encrypted_content"}
	}
	if req.Settings.ReasoningEffort != "" {
		h.Reasoning = &reasoning{req.Settings.ReasoningEffort}
	}
	if len(req.Tools) > 0 { // both are refused without tools
		h.ToolChoice = toolChoice(req.Settings.ToolChoice)
		h.ParallelToolCalls = req.Settings.ParallelToolCalls
	}
	b := bytes.NewBuffer(make([]byte, 0, sizeHint(req)))
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(h); err != nil {
		return nil, fmt.Errorf("encode model request: %w", err)
	}
	b.Truncate(b.Len() - len("}\n"))
	if err := m.writeTools(b, req.Tools); err != nil {
		return nil, err
	}
	writeInput(b, req.Items)
	b.WriteByte('}')
	return b.Bytes(), nil
}

func (m *Model) writeTools(b *bytes.Buffer, tools []agent.ToolDefinition) error {
	for i := range tools {
		encoded, err := m.tools.encode(&tools[i])
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

func writeInput(b *bytes.Buffer, items []agent.Item) {
	b.WriteString(`,"input":[`)
	for i := range items {
		b.WriteString(separator(i, ""))
		b.Write(items[i].Wire())
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
		n += len(req.Items[i].Raw) + len(req.Items[i].Text) + len(req.Items[i].Output) + 128
	}
	for i := range req.Tools {
		n += len(req.Tools[i].Parameters) + len(req.Tools[i].Description) + 128
	}
	return n
}

// toolChoice translates a setting: one of the API's words, or the name of a tool.
func toolChoice(choice string) json.RawMessage {
	switch choice {
	case "":
		return nil
	case "auto", "required", "none":
		return json.RawMessage(`"` + choice + `"`)
	}
	name, _ := json.Marshal(choice)
	return json.RawMessage(`{"type":"function","name":` + string(name) + `}`)
}
