package approvals

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"countersign/agent"
)

// conversationItem is the type of the last element of what the memory keeps of a run whose conversation the provider
// keeps too. It is no part of the conversation and never sent.
const conversationItem agent.ItemType = "countersign.conversation"

// conversationMark says what the provider has of the conversation of a place up to the end of a run.
type conversationMark struct {
	Type     agent.ItemType `json:"type"`
	Response string         `json:"response"` // the provider's id of the response that everything up to here leads to
	Unsent   int            `json:"unsent"`   // items at the end of the run that the provider does not have
}

// markOf returns the mark for what a run leaves behind, or nil when the provider keeps nothing of it.
func markOf(s *agent.RunState) *conversationMark {
	c, unsent := s.Conversation()
	if c == nil || c.PreviousResponseID == "" {
		return nil
	}
	return &conversationMark{Type: conversationItem, Response: c.PreviousResponseID, Unsent: unsent}
}

// marked appends the mark to a chunk of memory, a JSON array.
//
// added is how many items were put behind those that the mark was made for.
func (m *conversationMark) marked(items []agent.Item, added int) ([]agent.Item, error) {
	if m == nil {
		return items, nil
	}
	own := *m
	own.Unsent += added
	raw, err := json.Marshal(own)
	if err != nil {
		return nil, fmt.Errorf("conversation of the provider: %w", err)
	}
	return append(items, agent.Item{Type: conversationItem, Raw: raw}), nil
}

// converse has the run go on from the conversation that the provider keeps of the place, if its agent wants that.
func (x *execution) converse(m recollection) {
	if x.config.ProviderConversation {
		x.options.Conversation = &agent.Conversation{PreviousResponseID: m.response, Held: m.held}
	}
}

// resend goes on after cause by sending the provider the conversation that it has forgotten. Other errors come back as
// they are. Nothing was asked, so nothing happens twice.
func (x *execution) resend(ctx context.Context, result *agent.Result, cause error) (*agent.Result, error) {
	for errors.Is(cause, agent.ErrConversationGone) && x.state != nil && x.state.ResendConversation() {
		x.log.WarnContext(ctx, "the provider no longer has the conversation; it is sent again", "run", x.run.ID)
		if err := x.journal.save(ctx); err != nil { // what follows is saved as what is new
			return result, err
		}
		result, cause = x.resume(ctx)
	}
	return result, cause
}

// save writes the state as it stands, which nobody is at work on.
func (j *journal) save(ctx context.Context) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.flush(ctx, j.x.saveState)
}
