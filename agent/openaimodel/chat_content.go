package openaimodel

import (
	"bytes"
	"encoding/json"
	"strings"

	"countersign/agent"
)

// part is a part of a message's content, as the Responses API writes it.
type part struct {
	Type     string          `json:"type"`
	Text     json.RawMessage `json:"text"`
	Refusal  string          `json:"refusal"`
	ImageURL json.RawMessage `json:"image_url"`
	Detail   json.RawMessage `json:"detail"`
	FileID   json.RawMessage `json:"file_id"`
	FileData json.RawMessage `json:"file_data"`
	FileName json.RawMessage `json:"filename"`
	FileURL  json.RawMessage `json:"file_url"`
}

func (p part) isText() bool {
	return (p.Type == "input_text" || p.Type == "output_text" || p.Type == "text") && isString(p.Text)
}

// isString reports whether a member is there and a string.
func isString(token json.RawMessage) bool { return len(token) > 0 && token[0] == '"' }

// parts returns the content of message i. A message made here is one text.
func (w *transcript) parts(i int) ([]part, error) {
	it := &w.items[i]
	if it.Raw == nil {
		text, _ := json.Marshal(it.Text)
		return []part{{Type: "text", Text: text}}, nil
	}
	var raw struct {
		Content json.RawMessage `json:"content"`
	}
	if err := json.Unmarshal(it.Raw, &raw); err != nil {
		return nil, w.refuse(i, "content")
	}
	return w.readParts(i, raw.Content)
}

// readParts reads a content or an output of item i: a string, or a list of parts.
func (w *transcript) readParts(i int, content json.RawMessage) ([]part, error) {
	if isString(content) {
		return []part{{Type: "text", Text: content}}, nil
	}
	var parts []part
	if !bytes.HasPrefix(content, []byte("[")) || json.Unmarshal(content, &parts) != nil {
		return nil, w.refuse(i, "content")
	}
	return parts, nil
}

// splitRefusal takes the refusals out of what the model said: they have a member of their own.
func splitRefusal(parts []part) (texts []part, refusal string) {
	var refusals []string
	for _, p := range parts {
		if p.Type == "refusal" {
			refusals = append(refusals, p.Refusal)
		} else {
			texts = append(texts, p)
		}
	}
	return texts, strings.Join(refusals, "\n")
}

// content writes the parts of item i: a single text as a string, which every server takes, else a list.
func (w *transcript) content(i int, parts []part) error {
	if len(parts) == 0 {
		w.b.WriteString(`""`)
		return nil
	}
	if len(parts) == 1 && parts[0].isText() {
		w.b.Write(parts[0].Text)
		return nil
	}
	for n, p := range parts {
		w.b.WriteString(separator(n, "["))
		if err := w.part(i, p); err != nil {
			return err
		}
	}
	w.b.WriteByte(']')
	return nil
}

func (w *transcript) part(i int, p part) error {
	fromModel := w.items[i].Type != agent.ItemMessage || w.items[i].Role == agent.RoleAssistant
	switch {
	case p.isText():
		w.b.WriteString(`{"type":"text"`)
		w.member("text", p.Text)
	case p.Type == "input_image" && isString(p.ImageURL) && !fromModel:
		w.b.WriteString(`{"type":"image_url","image_url":{"url":`)
		w.b.Write(p.ImageURL)
		w.member("detail", p.Detail)
		w.b.WriteByte('}')
	case p.Type == "input_file" && !isString(p.FileURL) && (isString(p.FileID) || isString(p.FileData)) && !fromModel:
		w.b.WriteString(`{"type":"file","file":{`)
		w.member("file_id", p.FileID)
		w.member("file_data", p.FileData)
		w.member("filename", p.FileName)
		w.b.WriteByte('}')
	default:
		return w.refuse(i, "part of type "+p.Type)
	}
	w.b.WriteByte('}')
	return nil
}

// member writes a member of an object if its value is a string.
func (w *transcript) member(name string, value json.RawMessage) {
	if !isString(value) {
		return
	}
	if last := w.b.Bytes()[w.b.Len()-1]; last != '{' {
		w.b.WriteByte(',')
	}
	w.b.WriteString(`"` + name + `":`)
	w.b.Write(value)
}
