package openaidev

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"
)

// response is a Responses API response object.
type response struct {
	ID                string          `json:"id"`
	Object            string          `json:"object"`
	CreatedAt         int64           `json:"created_at"`
	Status            string          `json:"status"`
	Background        bool            `json:"background"`
	Error             *responseError  `json:"error"`
	IncompleteDetails *incomplete     `json:"incomplete_details"`
	Instructions      string          `json:"instructions"`
	MaxOutputTokens   *int            `json:"max_output_tokens"`
	Model             string          `json:"model"`
	Output            []any           `json:"output"`
	ParallelToolCalls bool            `json:"parallel_tool_calls"`
	PreviousResponse  *string         `json:"previous_response_id"`
	Store             bool            `json:"store"`
	Temperature       float64         `json:"temperature"`
	ToolChoice        json.RawMessage `json:"tool_choice"`
	Tools             []tool          `json:"tools"`
	TopP              float64         `json:"top_p"`
	Truncation        string          `json:"truncation"`
	Usage             *usage          `json:"usage"`
	Metadata          struct{}        `json:"metadata"`
}

type responseError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

type incomplete struct {
	Reason string `json:"reason"`
}

type usage struct {
	InputTokens        int64          `json:"input_tokens"`
	InputTokensDetails map[string]any `json:"input_tokens_details"`
	OutputTokens       int64          `json:"output_tokens"`
	OutputDetails      map[string]any `json:"output_tokens_details"`
	TotalTokens        int64          `json:"total_tokens"`
}

type messageItem struct {
	ID      string        `json:"id"`
	Type    string        `json:"type"`
	Status  string        `json:"status"`
	Content []contentPart `json:"content"`
	Role    string        `json:"role"`
}

type contentPart struct {
	Type        string `json:"type"`
	Annotations []any  `json:"annotations,omitzero"`
	Logprobs    []any  `json:"logprobs,omitzero"`
	Text        string `json:"text,omitzero"`
	Refusal     string `json:"refusal,omitzero"`
}

type callItem struct {
	ID        string `json:"id"`
	Type      string `json:"type"`
	Status    string `json:"status"`
	Arguments string `json:"arguments"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
}

type reasoningItem struct {
	ID               string        `json:"id"`
	Type             string        `json:"type"`
	EncryptedContent string        `json:"encrypted_content,omitempty"`
	Summary          []summaryPart `json:"summary"`
}

type summaryPart struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// ids derives identifiers from a request, so that the same request always gets the same ones.
type ids struct {
	seed [sha256.Size]byte
	n    int
}

func newIDs(b *body) *ids {
	h := sha256.New()
	fmt.Fprintf(h, "%s\n", b.Model)
	for _, raw := range b.raw {
		h.Write(compact(raw))
		h.Write([]byte{'\n'})
	}
	s := new(ids)
	h.Sum(s.seed[:0])
	return s
}

func (s *ids) next(prefix string, length int) string {
	s.n++
	sum := sha256.Sum256(fmt.Appendf(s.seed[:len(s.seed):len(s.seed)], "%s%d", prefix, s.n))
	return prefix + hex.EncodeToString(sum[:])[:length]
}

// encrypted is the content that a reasoning item must come back with.
func encrypted(id string) string {
	sum := sha256.Sum256([]byte("reasoning of " + id))
	return "gAAAAA" + base64.URLEncoding.EncodeToString(sum[:])
}

// respond builds the response that a reply stands for.
func respond(b *body, r Reply) *response {
	s := newIDs(b)
	res := &response{
		ID: s.next("resp_", 48), Object: "response", CreatedAt: time.Now().Unix(), Status: "completed",
		Instructions: b.Instructions, MaxOutputTokens: b.MaxOutputTokens, Model: b.Model, Output: []any{},
		ParallelToolCalls: b.ParallelToolCalls == nil || *b.ParallelToolCalls, Store: b.Store == nil || *b.Store,
		Temperature: 1, ToolChoice: b.ToolChoice, Tools: b.Tools, TopP: 1, Truncation: "disabled",
	}
	if res.ToolChoice == nil {
		res.ToolChoice = json.RawMessage(`"auto"`)
	}
	if b.Temperature != nil {
		res.Temperature = *b.Temperature
	}
	res.Output = output(b, r, s)
	switch {
	case r.Failed != "":
		res.Status, res.Output = "failed", []any{}
		res.Error = &responseError{Code: r.Failed, Message: "The model could not finish the response."}
		return res
	case r.Incomplete != "":
		res.Status, res.IncompleteDetails = "incomplete", &incomplete{r.Incomplete}
	}
	res.Usage = count(b, res.Output, r)
	return res
}

func output(b *body, r Reply, s *ids) []any {
	out := []any{}
	if r.Reasoning != "" {
		it := reasoningItem{ID: s.next("rs_", 48), Type: typeReasoning, Summary: []summaryPart{{"summary_text", r.Reasoning}}}
		for _, name := range b.Include {
			if name == "reasoning.encrypted_content" {
				it.EncryptedContent = encrypted(it.ID)
			}
		}
		out = append(out, it)
	}
	for _, raw := range r.Raw {
		out = append(out, raw)
	}
	if r.Text != "" || r.Refusal != "" {
		out = append(out, message(s.next("msg_", 48), r))
	}
	for _, c := range r.Calls {
		it := callItem{ID: s.next("fc_", 48), Type: typeCall, Status: "completed", Arguments: c.Arguments, CallID: c.ID, Name: c.Name}
		if it.CallID == "" {
			it.CallID = s.next("call_", 24)
		}
		out = append(out, it)
	}
	return out
}

func message(id string, r Reply) messageItem {
	p := contentPart{Type: "output_text", Text: r.Text, Annotations: []any{}, Logprobs: []any{}}
	if r.Refusal != "" {
		p = contentPart{Type: "refusal", Refusal: r.Refusal}
	}
	status := "completed"
	if r.Incomplete != "" {
		status = "incomplete"
	}
	return messageItem{ID: id, Type: typeMessage, Status: status, Role: "assistant", Content: []contentPart{p}}
}

// count estimates tokens at four bytes each.
func count(b *body, out []any, r Reply) *usage {
	in := int64(len(b.Instructions)+len(b.Input))/4 + 1
	produced, _ := json.Marshal(out)
	u := &usage{InputTokens: in, OutputTokens: int64(len(produced))/4 + 1}
	u.InputTokensDetails = map[string]any{"cached_tokens": in / 128 * 128 / 2}
	u.OutputDetails = map[string]any{"reasoning_tokens": int64(len(r.Reasoning)) / 4}
	u.TotalTokens = u.InputTokens + u.OutputTokens
	return u
}
