package agent

import (
	"errors"
	"fmt"
)

// Conversation says that the provider keeps the conversation: each request then holds only what it does not have yet.
// It is part of the saved state. It cannot go together with a Session, with output guardrails of the agents (the
// provider has the answer before they see it), with filtered handoffs or with agents that shorten their history. Agents
// used as tools have conversations of their own, which the provider does not keep.
//
// What goes wrong between the provider and the first checkpoint after its answer is sent again: a conversation named by
// ID then holds it twice, one that goes by responses does not.
type Conversation struct {
	// ID names a conversation of the provider.
	ID string
	// PreviousResponseID is the response that the run goes on from. Without an ID each request goes on from the
	// response before it, whether there is one to begin with or not.
	PreviousResponseID string
}

// serverMark is what a state knows about the conversation that the provider keeps.
type serverMark struct {
	ID       string `json:"id,omitempty"`
	Previous string `json:"previous_response_id,omitempty"`
	Sent     int    `json:"sent"` // items of the run's own conversation that the provider has
}

var errConversation = errors.New("a conversation is named by ID or goes by responses, not both")

// serverMark checks a conversation against the rest of the set-up.
func (o *RunOptions) serverMark(g graph) (*serverMark, error) {
	c := o.Conversation
	if c == nil {
		return nil, nil
	}
	if c.ID != "" && c.PreviousResponseID != "" {
		return nil, fmt.Errorf("%w: %w", ErrConfig, errConversation)
	}
	return &serverMark{ID: validText(c.ID), Previous: validText(c.PreviousResponseID)}, o.checkServer(g)
}

// checkServer reports what cannot go together with a conversation that the provider keeps.
func (o *RunOptions) checkServer(g graph) error {
	if o.Session != nil {
		return fmt.Errorf(
			"%w: a Session and a conversation that the provider keeps would both remember the run", ErrConfig)
	}
	for _, a := range g {
		if len(a.OutputGuardrails) > 0 {
			return fmt.Errorf(
				"%w: agent %q has output guardrails, but the provider keeps its answers before they are checked",
				ErrConfig, a.Name)
		}
		if a.Shorten != nil {
			return fmt.Errorf("%w: agent %q shortens its history, but the provider keeps the conversation as it is",
				ErrConfig, a.Name)
		}
		for i := range a.Handoffs {
			if a.Handoffs[i].Filter != nil {
				return fmt.Errorf("%w: agent %q filters a handoff, but the provider keeps the conversation as it is",
					ErrConfig, a.Name)
			}
		}
	}
	return nil
}

// address makes a request one of the provider's conversation.
func (m *serverMark) address(req *ModelRequest, items []Item) {
	if m == nil {
		return
	}
	req.Items = items[m.Sent:]
	req.Conversation, req.PreviousResponseID = m.ID, m.Previous
	req.Stored = true
}

// acknowledge notes what the provider has after its answer. A response without an id cannot be gone on from: what was
// sent with it is sent again.
func (l *loop) acknowledge(resp *ModelResponse) {
	m := l.state.server
	if m == nil || l.frame.parent != nil {
		return
	}
	if m.ID == "" {
		if resp.ID == "" {
			return
		}
		m.Previous = validText(resp.ID)
	}
	m.Sent = len(l.frame.items)
}
