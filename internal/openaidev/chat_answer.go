package openaidev

import (
	"encoding/json"
	"errors"
	"net/http"
	"time"
)

// completion is a chat completion, or a chunk of one.
type completion struct {
	ID                string       `json:"id"`
	Object            string       `json:"object"`
	Created           int64        `json:"created"`
	Model             string       `json:"model"`
	Choices           []chatChoice `json:"choices"`
	Usage             *chatUsage   `json:"usage"`
	ServiceTier       string       `json:"service_tier"`
	SystemFingerprint *string      `json:"system_fingerprint"`
}

type chatChoice struct {
	Index        int            `json:"index"`
	Message      map[string]any `json:"message,omitempty"`
	Delta        map[string]any `json:"delta,omitzero"`
	Logprobs     any            `json:"logprobs"`
	FinishReason *string        `json:"finish_reason"`
}

type chatUsage struct {
	PromptTokens     int64          `json:"prompt_tokens"`
	CompletionTokens int64          `json:"completion_tokens"`
	TotalTokens      int64          `json:"total_tokens"`
	PromptDetails    map[string]any `json:"prompt_tokens_details"`
	OutputDetails    map[string]any `json:"completion_tokens_details"`
}

var errNotInChat = errors.New("chat completions have no raw items and no calls but those of functions")

// complete answers with a chat completion. After an error nothing was sent.
func (h *Handler) complete(w http.ResponseWriter, r *http.Request, fault Fault, b *body, reply Reply) error {
	s := newIDs(b)
	c := &completion{
		ID: s.next("chatcmpl-", 32), Object: "chat.completion", Created: time.Now().Unix(), Model: b.Model,
		ServiceTier: "default",
	}
	calls, err := chatCalls(reply, s)
	if err != nil {
		return err
	}
	c.Usage = chatCount(b, reply, calls)
	header := requestID(c.ID)
	if b.Stream {
		frames, err := c.frames(b, reply, calls)
		if err == nil {
			h.stream(w, r, fault, header, frames)
		}
		return err
	}
	if reply.Failed != "" {
		h.sendError(w, r, fault, failed(reply))
		return nil
	}
	m := map[string]any{
		"role": "assistant", "content": null(reply.Text), "refusal": null(reply.Refusal), "annotations": []any{},
	}
	if len(calls) > 0 {
		m["tool_calls"] = calls
	}
	c.Choices = []chatChoice{{Message: m, FinishReason: finish(reply)}}
	data, err := json.Marshal(c)
	if err == nil {
		h.send(w, r, fault, header, http.StatusOK, data)
	}
	return err
}

func chatCalls(r Reply, s *ids) ([]chatCall, error) {
	if len(r.Raw) > 0 {
		return nil, errNotInChat
	}
	var calls []chatCall
	for _, c := range r.Calls {
		if c.Kind != CallFunction {
			return nil, errNotInChat
		}
		id := c.ID
		if id == "" {
			id = s.next("call_", 24)
		}
		calls = append(calls, chatCall{
			ID: id, Type: "function", Function: chatFunction{Name: c.Name, Arguments: &c.Arguments},
		})
	}
	return calls, nil
}

// failed is how a failure of the model looks.
func failed(r Reply) *apiError {
	return &apiError{
		status: http.StatusInternalServerError, Type: "server_error", Code: r.Failed,
		Message: "The model could not finish the response.",
	}
}

func finish(r Reply) *string {
	reason := "stop"
	switch {
	case r.Incomplete == "max_output_tokens":
		reason = "length"
	case r.Incomplete != "":
		reason = r.Incomplete
	case len(r.Calls) > 0:
		reason = "tool_calls"
	}
	return &reason
}

// chatCount estimates tokens at four bytes each.
func chatCount(b *body, r Reply, calls []chatCall) *chatUsage {
	said, _ := json.Marshal(calls)
	u := &chatUsage{
		PromptTokens:     int64(len(b.Input))/4 + 1,
		CompletionTokens: int64(len(r.Text)+len(r.Refusal)+len(r.Reasoning)+len(said))/4 + 1,
	}
	u.TotalTokens = u.PromptTokens + u.CompletionTokens
	u.PromptDetails = map[string]any{"cached_tokens": u.PromptTokens / 128 * 128 / 2, "audio_tokens": 0}
	u.OutputDetails = map[string]any{"reasoning_tokens": int64(len(r.Reasoning)) / 4, "audio_tokens": 0}
	return u
}

// frames lists what a stream carries for a completion: the role, the text and the calls in pieces, the reason of the
// end, the usage if it was asked for, the end mark.
func (c *completion) frames(b *body, r Reply, calls []chatCall) ([][]byte, error) {
	usage := c.Usage
	chunk := *c
	chunk.Object, chunk.Usage = "chat.completion.chunk", nil
	var frames [][]byte
	send := func(choices ...chatChoice) error {
		chunk.Choices = append([]chatChoice{}, choices...)
		data, err := json.Marshal(chunk)
		frames = append(frames, dataFrame(data))
		return err
	}
	deltas := []map[string]any{{"role": "assistant", "content": "", "refusal": nil}}
	for _, piece := range pieces(r.Text) {
		deltas = append(deltas, map[string]any{"content": piece})
	}
	for _, piece := range pieces(r.Refusal) {
		deltas = append(deltas, map[string]any{"refusal": piece})
	}
	for i, call := range calls {
		deltas = append(deltas, callDeltas(i, call)...)
	}
	var errs []error
	for _, d := range deltas {
		errs = append(errs, send(chatChoice{Delta: d}))
	}
	if r.Failed != "" {
		return append(frames, dataFrame(compact(failed(r).encode()))), errors.Join(errs...)
	}
	errs = append(errs, send(chatChoice{Delta: map[string]any{}, FinishReason: finish(r)}))
	if b.chat.StreamOptions != nil && b.chat.StreamOptions.IncludeUsage {
		chunk.Usage = usage
		errs = append(errs, send())
	}
	return append(frames, dataFrame([]byte("[DONE]"))), errors.Join(errs...)
}

// callDeltas are the pieces of a call: first its id and name, then its arguments.
func callDeltas(i int, call chatCall) []map[string]any {
	arguments, none := *call.Function.Arguments, ""
	call.Index, call.Function.Arguments = &i, &none
	deltas := []map[string]any{{"tool_calls": []chatCall{call}}}
	for _, piece := range pieces(arguments) {
		deltas = append(deltas, map[string]any{
			"tool_calls": []chatCall{{Index: &i, Function: chatFunction{Arguments: &piece}}},
		})
	}
	return deltas
}

func dataFrame(data []byte) []byte {
	return append(append([]byte("data: "), data...), "\n\n"...)
}
