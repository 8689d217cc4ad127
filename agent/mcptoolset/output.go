package mcptoolset

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"countersign/agent"
	"countersign/agent/internal/oneline"
	"countersign/agent/toolstatus"
)

// maxOutput bounds how much of a result the model gets.
const maxOutput = 64 << 10

// result is the result of a call as it came.
type result struct {
	Content           []content       `json:"content"`
	StructuredContent json.RawMessage `json:"structuredContent"`
	IsError           bool            `json:"isError"`
	ResultType        string          `json:"resultType"`
	Task              json.RawMessage `json:"task"`
}

// content is a part of a result. Which members there are depends on the type.
type content struct {
	Type        string    `json:"type"`
	Text        string    `json:"text"`
	MIMEType    string    `json:"mimeType"`
	Data        string    `json:"data"`
	URI         string    `json:"uri"`
	Name        string    `json:"name"`
	Description string    `json:"description"`
	Size        *int64    `json:"size"`
	Resource    *resource `json:"resource"`
}

type resource struct {
	URI      string  `json:"uri"`
	MIMEType string  `json:"mimeType"`
	Text     *string `json:"text"`
	Blob     string  `json:"blob"`
}

// describe makes a result fit to be read: texts as they are, everything else in words. The call has been carried out,
// whatever its result looks like, unless the server says that it has begun something: then the error says that nobody
// knows what becomes of it, or the output where the tool only reads.
func (s *Server) describe(l *listed, data json.RawMessage) (agent.ToolOutput, error) {
	var r result
	err := json.Unmarshal(data, &r) // what fits is there also beside an error
	const begun = " server began something and did not answer with a result"
	switch {
	case r.ResultType == "input_required":
		return agent.ToolOutput{Failed: true, Text: "The server wants to be told something more before it goes on, " +
			"which is not possible here. The call did not finish."}, nil
	case (r.Task != nil || r.ResultType != "" && r.ResultType != "complete") && s.reads(l):
		return agent.ToolOutput{Failed: true, Text: "The" + begun + ". What becomes of it is not known here."}, nil
	case r.Task != nil, r.ResultType != "" && r.ResultType != "complete":
		return agent.ToolOutput{}, fmt.Errorf("%w: the%s", agent.ErrOutcomeUnknown, begun)
	case err != nil && r.IsError:
		return agent.ToolOutput{
			Failed: true, Text: "The tool failed, and what it says cannot be read: it is not what the protocol says.",
		}, nil
	case err != nil:
		return agent.ToolOutput{
			Text: "The call was carried out, but its result cannot be read: it is not what the protocol says.",
		}, nil
	}
	var parts []string
	text := false
	for _, c := range r.Content {
		parts = append(parts, c.describe())
		text = text || c.Type == "text"
	}
	structured := bytes.TrimSpace(r.StructuredContent)
	if !text && len(structured) > 0 && string(structured) != "null" {
		parts = append(parts, r.withoutData(compact(structured)))
	}
	out := agent.ToolOutput{Failed: r.IsError, Text: s.cut(s.hidden.Hide(strings.Join(parts, "\n")))}
	out.Status.Lines = toolstatus.LinesOf(out.Text)
	switch {
	case out.Text != "":
	case r.IsError:
		out.Text = "The tool failed and did not say why."
	default:
		out.Text = "The tool returned nothing."
	}
	return out, nil
}

// longData finds texts of JSON that are data in base64, as images are: nobody reads them.
var longData = regexp.MustCompile(`"(?:data:[^"\\]{0,200};base64,)?(?:[A-Za-z0-9+_-]|\\?/){256,}={0,2}"`)

// withoutData says in place of data, in what a server says in JSON, how much there is. It is what the parts hold, or is
// long.
func (r *result) withoutData(text string) string {
	for _, c := range r.Content {
		for _, data := range []string{c.Data, c.blob()} {
			if data != "" {
				text = strings.ReplaceAll(text, `"`+data+`"`, dataNote(data))
			}
		}
	}
	return longData.ReplaceAllStringFunc(text, dataNote)
}

func dataNote(data string) string {
	data = strings.Trim(data[strings.LastIndexByte(data, ',')+1:], `"`)
	return fmt.Sprintf(`"[%d bytes in base64, not shown]"`, decodedSize(data))
}

func (c *content) blob() string {
	if c.Resource == nil {
		return ""
	}
	return c.Resource.Blob
}

func compact(data []byte) string {
	var b bytes.Buffer
	if err := json.Compact(&b, data); err != nil {
		return string(data)
	}
	return b.String()
}

func (c *content) describe() string {
	switch c.Type {
	case "text":
		return c.Text
	case "image", "audio":
		return fmt.Sprintf("[%s: %s, %d bytes, not shown]", c.Type, kind(c.MIMEType), decodedSize(c.Data))
	case "resource_link":
		size := ""
		if c.Size != nil {
			size = fmt.Sprintf(", %d bytes", *c.Size)
		}
		text := fmt.Sprintf("[link to %s: %s, %s%s]",
			oneline.Of(c.Name, 200), oneline.Of(c.URI, 1000), kind(c.MIMEType), size)
		if c.Description != "" {
			text += "\n" + c.Description
		}
		return text
	case "resource":
		if c.Resource != nil {
			return c.Resource.describe()
		}
	}
	return fmt.Sprintf("[content of type %q, not shown]", oneline.Of(c.Type, 100))
}

func (r *resource) describe() string {
	head := fmt.Sprintf("resource %s: %s", oneline.Of(r.URI, 1000), kind(r.MIMEType))
	if r.Text == nil {
		return fmt.Sprintf("[%s, %d bytes, not shown]", head, decodedSize(r.Blob))
	}
	return fmt.Sprintf("[%s, %d bytes]\n%s", head, len(*r.Text), *r.Text)
}

func kind(mime string) string {
	if mime == "" {
		return "unknown type"
	}
	return oneline.Of(mime, 100)
}

// decodedSize is the number of bytes that a text in base64 stands for.
func decodedSize(text string) int {
	return base64.RawStdEncoding.DecodedLen(len(strings.TrimRight(text, "=")))
}

// cut bounds a text, at the end of a character, and says so.
func (s *Server) cut(text string) string {
	if len(text) <= maxOutput {
		return text
	}
	end := maxOutput
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return fmt.Sprintf("%s\n[truncated: %d bytes shown of %d]", s.hidden.HideCut(text[:end]), end, len(text))
}
