package openaimodel

import (
	"encoding/json"
	"fmt"

	"github.com/openai/openai-go/v3/responses"

	"countersign/agent"
)

const (
	statusFailed     = string(responses.ResponseStatusFailed)
	statusIncomplete = string(responses.ResponseStatusIncomplete)
)

// response is the part of a response object that matters here. Its items stay as they are.
type response struct {
	ID                string            `json:"id"`
	Status            string            `json:"status"`
	Error             json.RawMessage   `json:"error"`
	IncompleteDetails *incomplete       `json:"incomplete_details"`
	Output            []json.RawMessage `json:"output"`
	Usage             *usage            `json:"usage"`
}

type incomplete struct {
	Reason string `json:"reason"`
}

type usage struct {
	InputTokens        int64 `json:"input_tokens"`
	OutputTokens       int64 `json:"output_tokens"`
	TotalTokens        int64 `json:"total_tokens"`
	InputTokensDetails struct {
		CachedTokens int64 `json:"cached_tokens"`
	} `json:"input_tokens_details"`
	OutputTokensDetails struct {
		ReasoningTokens int64 `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
}

// ended is an error for a response that the provider ended itself, before it was complete.
type ended struct {
	status, code, message string // code is the reason, or the error's code
	tokens                int64
}

func (e *ended) Error() string { return "the response ended as " + e.status + ": " + e.code }

func (*responsesAPI) decode(data []byte) (*agent.ModelResponse, error) {
	var r response
	if err := decodeAnswer(data, &r); err != nil {
		return nil, err
	}
	return r.model()
}

// model checks that the response is complete and translates it.
func (r *response) model() (*agent.ModelResponse, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	out := &agent.ModelResponse{ID: r.ID, Usage: r.usage(), Items: make([]agent.Item, len(r.Output))}
	for i, raw := range r.Output {
		it, err := agent.ParseItem(raw)
		if err != nil {
			return nil, fmt.Errorf("%w: output item %d: %w", agent.ErrModelBehavior, i, err)
		}
		out.Items[i] = it
	}
	return out, nil
}

func (r *response) check() error {
	switch responses.ResponseStatus(r.Status) {
	case responses.ResponseStatusCompleted:
	case responses.ResponseStatusFailed:
		code, message, _ := readError(r.Error)
		return &ended{status: r.Status, code: code, message: message}
	case responses.ResponseStatusIncomplete:
		e := &ended{status: r.Status, tokens: r.usage().OutputTokens}
		if r.IncompleteDetails != nil {
			e.code = r.IncompleteDetails.Reason
		}
		return e
	case "":
		if code, message, ok := readError(r.Error); ok { // an error with status 200, as some gateways send it
			return &ended{status: statusFailed, code: code, message: message}
		}
	default: // queued, in_progress, cancelled
		return &ended{status: r.Status}
	}
	if r.Output == nil {
		return fmt.Errorf("%w: the answer has no output", agent.ErrModelBehavior)
	}
	return nil
}

func (r *response) usage() agent.Usage {
	u := agent.Usage{Requests: 1}
	if r.Usage != nil {
		u.InputTokens, u.OutputTokens, u.TotalTokens = r.Usage.InputTokens, r.Usage.OutputTokens, r.Usage.TotalTokens
		u.CachedTokens = r.Usage.InputTokensDetails.CachedTokens
		u.ReasoningTokens = r.Usage.OutputTokensDetails.ReasoningTokens
	}
	return u
}

// readError reads an error in any of the forms that servers of this API use: an object, or just a text. ok is false
// when there is none.
func readError(raw json.RawMessage) (code, message string, ok bool) {
	if len(raw) == 0 || string(raw) == "null" {
		return "", "", false
	}
	if json.Unmarshal(raw, &message) == nil {
		return "", message, true
	}
	var e struct {
		Code    any    `json:"code"`
		Type    string `json:"type"`
		Message string `json:"message"`
	}
	if json.Unmarshal(raw, &e) != nil {
		return "", "", true
	}
	code = e.Type
	if e.Code != nil {
		code = fmt.Sprint(e.Code)
	}
	return code, e.Message, true
}
