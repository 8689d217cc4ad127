package openaidev

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"
)

// memory is what the server was asked to keep.
type memory struct {
	mu            sync.Mutex
	responses     map[string][]json.RawMessage // all items up to and with those of the response
	conversations map[string][]json.RawMessage
	begun         int
}

func newMemory() *memory {
	return &memory{responses: make(map[string][]json.RawMessage), conversations: make(map[string][]json.RawMessage)}
}

// recall puts what was kept of the conversation in front of the input.
func (m *memory) recall(b *body) *apiError {
	if len(b.Conversation) > 0 && string(b.Conversation) != "null" {
		var object struct {
			ID string `json:"id"`
		}
		if json.Unmarshal(b.Conversation, &b.conversation) != nil && json.Unmarshal(b.Conversation, &object) != nil {
			return badRequest("conversation", "invalid_type",
				"Invalid type for 'conversation': expected a string or an object.")
		}
		b.conversation += object.ID
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var kept []json.RawMessage
	var ok bool
	switch {
	case b.conversation != "" && b.PreviousResponseID != "":
		return badRequest("", "mutually_exclusive_parameters",
			"Mutually exclusive parameters: 'previous_response_id' and 'conversation'.")
	case b.conversation != "":
		if kept, ok = m.conversations[b.conversation]; !ok {
			e := badRequest("conversation", "", "Conversation with id '%s' not found.", b.conversation)
			e.status = http.StatusNotFound
			return e
		}
	case b.PreviousResponseID != "":
		if kept, ok = m.responses[b.PreviousResponseID]; !ok {
			return badRequest("previous_response_id", "previous_response_not_found",
				"Previous response with id '%s' not found.", b.PreviousResponseID)
		}
	}
	items, err := readItems(kept)
	if err != nil {
		return err
	}
	b.raw, b.items, b.kept = slices.Concat(kept, b.raw), append(items, b.items...), len(kept)
	return nil
}

// remember keeps a completed response, if the request asks for it.
func (m *memory) remember(b *body, res *response) error {
	if !b.keep() && b.conversation == "" {
		return nil
	}
	all := slices.Clone(b.raw)
	for _, it := range res.Output {
		raw, err := json.Marshal(it)
		if err != nil {
			return err
		}
		all = append(all, raw)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if b.keep() {
		m.responses[res.ID] = all
	}
	if kept, ok := m.conversations[b.conversation]; ok {
		m.conversations[b.conversation] = append(kept[:len(kept):len(kept)], all[b.kept:]...)
	}
	return nil
}

// begin makes a conversation of the items in the body.
func (m *memory) begin(w http.ResponseWriter, data []byte) {
	var body struct {
		Items    []json.RawMessage `json:"items"`
		Metadata json.RawMessage   `json:"metadata"`
	}
	if len(data) > 0 {
		if err := readBody(data, &body, []string{"items", "metadata"}, nil); err != nil {
			writeError(w, err)
			return
		}
	}
	m.mu.Lock()
	m.begun++
	sum := sha256.Sum256(fmt.Appendf(nil, "conversation %d", m.begun))
	id := "conv_" + hex.EncodeToString(sum[:24])
	m.conversations[id] = body.Items
	m.mu.Unlock()
	if body.Metadata == nil {
		body.Metadata = json.RawMessage("{}")
	}
	data, _ = json.Marshal(map[string]any{
		"id": id, "object": "conversation", "created_at": time.Now().Unix(), "metadata": body.Metadata,
	})
	writeJSON(w, http.StatusOK, data)
}

// forget deletes a response or a conversation.
func (m *memory) forget(w http.ResponseWriter, kind, id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	kept := map[string]map[string][]json.RawMessage{"response": m.responses, "conversation": m.conversations}[kind]
	if _, ok := kept[id]; !ok {
		writeError(w, &apiError{
			status: 404, Type: "invalid_request_error", Message: fmt.Sprintf("No %s found with id '%s'.", kind, id),
		})
		return
	}
	delete(kept, id)
	data, _ := json.Marshal(map[string]any{"id": id, "object": kind + ".deleted", "deleted": true})
	writeJSON(w, http.StatusOK, data)
}

// ForgetResponses forgets every response that was kept, as OpenAI does after 30 days. Conversations stay.
func (h *Handler) ForgetResponses() {
	h.memory.mu.Lock()
	defer h.memory.mu.Unlock()
	clear(h.memory.responses)
}
