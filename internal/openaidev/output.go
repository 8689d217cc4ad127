package openaidev

import (
	"encoding/json"
	"fmt"
	"slices"
)

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

type customItem struct {
	ID     string `json:"id"`
	Type   string `json:"type"`
	Status string `json:"status"`
	CallID string `json:"call_id"`
	Input  string `json:"input"`
	Name   string `json:"name"`
}

type shellItem struct {
	ID          string          `json:"id"`
	Type        string          `json:"type"`
	Status      string          `json:"status"`
	CallID      string          `json:"call_id"`
	Action      json.RawMessage `json:"action"`
	Environment environment     `json:"environment"`
}

type patchItem struct {
	ID        string          `json:"id"`
	Type      string          `json:"type"`
	Status    string          `json:"status"`
	CallID    string          `json:"call_id"`
	Operation json.RawMessage `json:"operation"`
}

// output lists the items of a reply: reasoning, what MCP servers have to say, raw items, text, calls.
func output(b *body, r Reply, s *ids, servers []MCPServer) ([]any, error) {
	out := []any{}
	if r.Reasoning != "" {
		it := reasoningItem{
			ID: s.next("rs_", 48), Type: typeReasoning, Summary: []summaryPart{{"summary_text", r.Reasoning}},
		}
		if slices.Contains(b.Include, "reasoning.encrypted_content") {
			it.EncryptedContent = encrypted(it.ID)
		}
		out = append(out, it)
	}
	out = append(out, mcpLists(b, s, servers)...)
	out = append(out, mcpApproved(b, s, servers)...)
	for _, raw := range r.Raw {
		out = append(out, raw)
	}
	var calls []any
	for _, c := range r.Calls {
		it, err := c.item(b, s, servers)
		if err != nil {
			return nil, err
		}
		if _, made := it.(mcpCallItem); made {
			out = append(out, it)
		} else {
			calls = append(calls, it)
		}
	}
	if r.Text != "" || r.Refusal != "" {
		out = append(out, message(s.next("msg_", 48), r))
	}
	return append(out, calls...), nil
}

// item returns the item that a call is.
func (c Call) item(b *body, s *ids, servers []MCPServer) (any, error) {
	if c.Kind == CallMCP {
		return c.mcpItem(b, s, servers)
	}
	prefix := map[CallKind]string{
		CallFunction: "fc_", CallCustom: "ctc_", CallShell: "sh_", CallApplyPatch: "apc_",
	}[c.Kind]
	if prefix == "" {
		return nil, fmt.Errorf("there is no kind of call %q", c.Kind)
	}
	id, callID := s.next(prefix, 48), c.ID
	if callID == "" {
		callID = s.next("call_", 24)
	}
	raw := json.RawMessage(c.Arguments)
	switch c.Kind {
	case CallCustom:
		return customItem{
			ID: id, Type: typeCustomCall, Status: "completed", CallID: callID, Input: c.Arguments, Name: c.Name,
		}, nil
	case CallFunction:
		return callItem{
			ID: id, Type: typeCall, Status: "completed", Arguments: c.Arguments, CallID: callID, Name: c.Name,
		}, nil
	}
	if !json.Valid(raw) {
		return nil, fmt.Errorf("the arguments of a %s call are not JSON", c.Kind)
	}
	if c.Kind == CallShell {
		return shellItem{
			ID: id, Type: typeShellCall, Status: "completed", CallID: callID, Action: raw,
			Environment: environment{"local"},
		}, nil
	}
	return patchItem{ID: id, Type: typePatchCall, Status: "completed", CallID: callID, Operation: raw}, nil
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
