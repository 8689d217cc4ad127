package openaimodel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/openai/openai-go/v3/packages/ssestream"

	"countersign/agent"
)

// chunk is one event of a stream, as far as it matters here.
type chunk struct {
	Type     string          `json:"type"`
	Delta    json.RawMessage `json:"delta"`
	Item     json.RawMessage `json:"item"`
	Response *response       `json:"response"`
	Code     any             `json:"code"`    // of an event of type error
	Message  string          `json:"message"` // of an event of type error
}

// stream makes one attempt with an event stream. It calls alive whenever something arrives.
func (m *Model) stream(ctx context.Context, req *agent.ModelRequest, alive func(), onEvent func(Event)) (*agent.ModelResponse, *http.Response, error) {
	body, err := m.encode(req, true)
	if err != nil {
		return nil, nil, err
	}
	var raw *http.Response
	res, err := m.post(ctx, body, &raw, alive)
	if err != nil {
		return nil, res, err
	}
	defer raw.Body.Close()
	answer, err := consume(raw, onEvent)
	return answer, res, err
}

// consume reads the events up to the one that ends the response.
func consume(res *http.Response, onEvent func(Event)) (*agent.ModelResponse, error) {
	if mediaType(res) != "text/event-stream" { // a server that does not stream, or a page of a proxy
		data, err := io.ReadAll(res.Body)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errCut, err)
		}
		return decode(data)
	}
	var done []json.RawMessage
	events := ssestream.NewStream[chunk](&distinct{Decoder: ssestream.NewDecoder(res)}, nil)
	for events.Next() {
		c := events.Current()
		switch c.Type {
		case "response.output_text.delta", "response.refusal.delta":
			var text string
			if json.Unmarshal(c.Delta, &text) == nil && text != "" {
				onEvent(Event{Kind: TextDelta, Text: text})
			}
		case "response.output_item.done":
			done = append(done, c.Item)
		case "response.completed", "response.failed", "response.incomplete":
			return c.final(done)
		case "error":
			return nil, &ended{status: "failed", code: codeText(c.Code), message: c.Message}
		}
	}
	return nil, streamError(events.Err())
}

// final returns the response that the last event carries. Some servers leave its output out, having sent the items.
func (c *chunk) final(done []json.RawMessage) (*agent.ModelResponse, error) {
	if c.Response == nil {
		return nil, fmt.Errorf("%w: the last event has no response", agent.ErrModelBehavior)
	}
	if len(c.Response.Output) == 0 && len(done) > 0 {
		c.Response.Output = done
	}
	return c.Response.model()
}

func codeText(code any) string {
	if code == nil {
		return ""
	}
	return fmt.Sprint(code)
}

// streamError says why a stream ended before its response did.
func streamError(err error) error {
	if event, ok := errors.AsType[*ssestream.StreamError](err); ok {
		var e struct {
			Error json.RawMessage `json:"error"`
		}
		_ = json.Unmarshal(event.Event.Data, &e)
		code, message, _ := readError(e.Error)
		return &ended{status: "failed", code: code, message: message}
	}
	if err == nil {
		return errCut
	}
	return fmt.Errorf("%w: %w", errCut, err)
}

// distinct leaves out an event that is the same as the one before, number and all: a chunk delivered twice.
type distinct struct {
	ssestream.Decoder
	last string
}

func (d *distinct) Next() bool {
	for d.Decoder.Next() {
		data := string(d.Decoder.Event().Data)
		if data != d.last || !numbered(data) {
			d.last = data
			return true
		}
	}
	return false
}

// numbered reports whether an event tells itself apart from an equal one.
func numbered(data string) bool { return strings.Contains(data, `"sequence_number"`) }
