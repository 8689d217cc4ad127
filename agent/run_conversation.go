package agent

import (
	"errors"
	"fmt"
)

// Conversation says that the provider keeps the conversation: each request then holds only what it does not have yet.
// It is part of the saved state. It cannot go together with a Session, nor, in the agents that take part in the
// conversation, with output guardrails (the provider has the answer before they see it), with filtered handoffs or with
// a shortened history. Agents used as tools have conversations of their own, which the provider does not keep.
//
// What goes wrong between the provider and the first checkpoint after its answer is sent again: a conversation named by
// ID then holds it twice, one that goes by responses does not.
type Conversation struct {
	// ID names a conversation of the provider.
	ID string
	// PreviousResponseID is the response that the run goes on from. Without an ID each request goes on from the
	// response before it, whether there is one to begin with or not.
	PreviousResponseID string
	// Held is how many items at the start of the input the provider has already: they are part of the state and are
	// not sent. The input is then complete without the provider, and RunState.ResendConversation can do without it. At
	// least one item is left to send.
	Held int
}

// serverMark is what a state knows about the conversation that the provider keeps.
type serverMark struct {
	ID       string `json:"id,omitempty"`
	Previous string `json:"previous_response_id,omitempty"`
	Sent     int    `json:"sent"` // items of the run's own conversation that the provider has
}

var errConversation = errors.New("a conversation is named by ID or goes by responses, not both")

var errHeld = errors.New("a conversation that the provider holds a part of has a name or a previous response, and " +
	"leaves at least one item of the input to send")

// serverMark checks a conversation against the input and the rest of the set-up.
func (o *RunOptions) serverMark(root *Agent, g graph, input int) (*serverMark, error) {
	c := o.Conversation
	if c == nil {
		return nil, nil
	}
	if c.ID != "" && c.PreviousResponseID != "" {
		return nil, fmt.Errorf("%w: %w", ErrConfig, errConversation)
	}
	if c.Held < 0 || c.Held > 0 && (c.ID == "" && c.PreviousResponseID == "" || c.Held >= input) {
		return nil, fmt.Errorf("%w: %w", ErrConfig, errHeld)
	}
	mark := &serverMark{ID: validText(c.ID), Previous: validText(c.PreviousResponseID), Sent: c.Held}
	return mark, o.checkServer(root, g)
}

// checkServer reports what cannot go together with a conversation that the provider keeps.
func (o *RunOptions) checkServer(root *Agent, g graph) error {
	if o.Session != nil {
		return fmt.Errorf(
			"%w: a Session and a conversation that the provider keeps would both remember the run", ErrConfig)
	}
	for _, a := range g {
		if !g.reaches(root.Name, a.Name) {
			continue // an agent used as a tool
		}
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
func (m *serverMark) address(req *ModelRequest, items, approvals []Item) {
	if m == nil {
		return
	}
	req.Items = behind(items[m.Sent:], approvals)
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

// Conversation returns what the provider keeps of the run's conversation, and how many items at its end the provider
// does not have; Held is how many it has. It is nil when the provider keeps none.
func (s *RunState) Conversation() (c *Conversation, unsent int) {
	if s.empty() || s.server == nil {
		return nil, 0
	}
	m := s.server
	return &Conversation{ID: m.ID, PreviousResponseID: m.Previous, Held: m.Sent}, len(s.frame.items) - m.Sent
}

// ResendConversation has the next request send all items of the state and begin a conversation that goes by responses.
// It is for a provider that has forgotten the one it had (ErrConversationGone), and loses what only that provider knew:
// what came before the input, unless Conversation.Held said that the input has it. It reports whether there was
// anything to forget.
func (s *RunState) ResendConversation() bool {
	if s.empty() || s.server == nil || s.server.ID == "" && s.server.Previous == "" {
		return false
	}
	s.server = &serverMark{}
	return true
}

// LeaveConversation has every further request send the whole conversation: the provider keeps it no longer. What only
// the provider knew is lost, as with ResendConversation.
func (s *RunState) LeaveConversation() {
	if !s.empty() {
		s.server = nil
	}
}
