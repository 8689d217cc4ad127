package agent

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
)

// Handoff lets an agent hand the conversation over to another. To the model it is a tool without side effects; nobody
// is asked about it. When a response holds other calls too, those are settled first, with every approval they need.
// Of several handoffs in one response only the first happens.
type Handoff struct {
	// Agent takes over. It must not be nil.
	Agent *Agent
	// Name is what the model calls the handoff. Empty: "transfer_to_" and the agent's name.
	Name string
	// Description tells the model when to hand over. Empty: made from the agent's name.
	Description string
	// Parameters is the JSON Schema of what the model says with the handoff, for instance a reason; empty: nothing.
	// Validate checks it, and must be set with Parameters.
	Parameters json.RawMessage
	Validate   func(json.RawMessage) error
	// OnHandoff, if set, is called before the other agent takes over; its error is told to the model, and nothing is
	// handed over. After a crash it may be called again.
	OnHandoff func(ctx context.Context, call *ToolCall) error
	// Filter, if set, chooses what the other agent sees of the conversation so far. It gets a copy that ends with the
	// handoff's call and output, and returns what to show; every call in it needs its output. The conversation
	// itself, as sessions keep it, does not change. Package agent/history has DropToolItems and Transcript.
	Filter func(items []Item) []Item
}

var (
	errNoAgent     = errors.New("it has no Agent")
	errNoValidator = errors.New("its Parameters need Validate")
	errUnpaired    = errors.New("the filter returned a call without its output, or an output without its call")
)

func (h *Handoff) name() string {
	if h.Name != "" {
		return h.Name
	}
	return "transfer_to_" + strings.Map(func(c rune) rune {
		if c < 128 && validToolName(string(c)) {
			return c
		}
		return '_'
	}, h.Agent.Name)
}

func (h *Handoff) check() error {
	switch {
	case h.Agent == nil:
		return errNoAgent
	case len(h.Parameters) > 0 && h.Validate == nil:
		return errNoValidator
	}
	return h.tool().check()
}

// tool returns the handoff as the model sees it.
func (h *Handoff) tool() *Tool {
	t := &Tool{
		Name: h.name(), Description: h.Description, Kind: KindHandoff,
		Parameters: h.Parameters, Validate: h.Validate, handoff: h,
	}
	if t.Description == "" {
		t.Description = "Hand the conversation over to the agent " + h.Agent.Name + "."
	}
	return t
}
