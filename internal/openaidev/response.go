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
	Conversation      *conversation   `json:"conversation,omitempty"`
	Store             bool            `json:"store"`
	Temperature       float64         `json:"temperature"`
	ToolChoice        json.RawMessage `json:"tool_choice"`
	Tools             []tool          `json:"tools"`
	TopP              float64         `json:"top_p"`
	Truncation        string          `json:"truncation"`
	Usage             *usage          `json:"usage"`
	Metadata          struct{}        `json:"metadata"`
}

type conversation struct {
	ID string `json:"id"`
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

// newResponse builds the response that a reply stands for.
func newResponse(b *body, r Reply, servers []MCPServer) (*response, error) {
	s := newIDs(b)
	res := &response{
		ID: s.next("resp_", 48), Object: "response", CreatedAt: time.Now().Unix(), Status: "completed",
		Instructions: b.Instructions, MaxOutputTokens: b.MaxOutputTokens, Model: b.Model,
		ParallelToolCalls: b.ParallelToolCalls == nil || *b.ParallelToolCalls, Store: b.keep(),
		Temperature: 1, ToolChoice: b.ToolChoice, Tools: b.Tools, TopP: 1, Truncation: "disabled",
	}
	if res.ToolChoice == nil {
		res.ToolChoice = json.RawMessage(`"auto"`)
	}
	if b.Temperature != nil {
		res.Temperature = *b.Temperature
	}
	if b.PreviousResponseID != "" {
		res.PreviousResponse = &b.PreviousResponseID
	}
	if b.conversation != "" {
		res.Conversation = &conversation{b.conversation}
	}
	var err error
	if res.Output, err = output(b, r, s, servers); err != nil {
		return nil, err
	}
	switch {
	case r.Failed != "":
		res.Status, res.Output = "failed", []any{}
		res.Error = &responseError{Code: r.Failed, Message: "The model could not finish the response."}
		return res, nil
	case r.Incomplete != "":
		res.Status, res.IncompleteDetails = "incomplete", &incomplete{r.Incomplete}
	}
	res.Usage = count(b, res.Output, r)
	return res, nil
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
