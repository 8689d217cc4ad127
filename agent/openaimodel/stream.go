package openaimodel

import (
	"encoding/json"
	"fmt"

	"countersign/agent"
)

// event is one event of a stream of the Responses API, as far as it matters here.
type event struct {
	Type         string          `json:"type"`
	ItemID       string          `json:"item_id"`
	SummaryIndex int             `json:"summary_index"`
	Delta        json.RawMessage `json:"delta"`
	Item         json.RawMessage `json:"item"`
	Response     *response       `json:"response"`
	Code         any             `json:"code"`    // of an event of type error
	Message      string          `json:"message"` // of an event of type error
	Error        json.RawMessage `json:"error"`   // instead of these
}

// consume reads the events up to the one that ends the response.
func (*responsesAPI) consume(s *eventStream, l *listener) (*agent.ModelResponse, error) {
	var done []json.RawMessage
	for {
		var e event
		if ok, err := s.next(&e); err != nil {
			return nil, err
		} else if !ok {
			return nil, errCut
		}
		if code, message, ok := readError(e.Error); ok {
			return nil, &ended{status: statusFailed, code: code, message: message}
		}
		switch e.Type {
		case "response.output_text.delta", "response.refusal.delta":
			l.text(e.ItemID, e.Delta)
		case "response.reasoning_summary_text.delta":
			l.reasoning(e.ItemID, e.Delta)
		case "response.reasoning_summary_part.added":
			if e.SummaryIndex > 0 { // the parts are paragraphs
				l.hear(agent.ModelDelta{ItemID: e.ItemID, Reasoning: "\n\n"})
			}
		case "response.output_item.done":
			done = append(done, e.Item)
		case "response.completed", "response.failed", "response.incomplete":
			return e.final(done)
		case "error":
			return nil, &ended{status: statusFailed, code: codeText(e.Code), message: e.Message}
		}
	}
}

// final returns the response that the last event carries. Some servers leave its output out, having sent the items.
func (e *event) final(done []json.RawMessage) (*agent.ModelResponse, error) {
	if e.Response == nil {
		return nil, fmt.Errorf("%w: the last event has no response", agent.ErrModelBehavior)
	}
	if len(e.Response.Output) == 0 && len(done) > 0 {
		e.Response.Output = done
	}
	return e.Response.model()
}

func codeText(code any) string {
	if code == nil {
		return ""
	}
	return fmt.Sprint(code)
}
