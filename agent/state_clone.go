package agent

import (
	"maps"
	"slices"
)

// Clone returns a copy of the state that can be answered and resumed on its own, by the same process: the agents are
// shared, everything else is not. It must not be called while the state is being resumed.
func (s *RunState) Clone() *RunState {
	if s == nil {
		return nil
	}
	own := &RunState{
		id: s.id, series: s.series, root: s.root, graph: s.graph, frames: s.frames, usage: s.usage,
		size: s.size, answered: s.answered, data: s.data, trace: s.trace, handled: s.handled,
		session: s.session.clone(),
		always:  slices.Clone(s.always), pending: slices.Clone(s.pending),
		guardrails: slices.Clone(s.guardrails),
	}
	if s.server != nil {
		server := *s.server
		own.server = &server
	}
	if s.frame == nil {
		return own
	}
	copies := make(map[*frame]*frame)
	own.frame = s.frame.clone(own, nil, nil, copies)
	own.log = make([]*frame, len(s.log))
	for i, f := range s.log {
		if copies[f] == nil { // a conversation that has ended
			copies[f] = f.clone(own, nil, nil, copies)
		}
		own.log[i] = copies[f]
	}
	return own
}

// clone copies a conversation and those inside it. Items are appended only, so their array is shared up to its end.
func (f *frame) clone(s *RunState, parent *frame, outer *call, copies map[*frame]*frame) *frame {
	own := *f
	own.state, own.parent, own.outer = s, parent, outer
	own.items, own.copies = slices.Clip(f.items), slices.Clone(f.copies)
	own.callsByID, own.answers = maps.Clone(f.callsByID), maps.Clone(f.answers)
	own.calls = make([]*call, len(f.calls))
	copies[f] = &own
	for i, c := range f.calls {
		own.calls[i] = c.clone()
		if c.Nested != nil {
			own.calls[i].Nested = c.Nested.clone(s, &own, own.calls[i], copies)
		}
	}
	return &own
}

// clone copies a call without the conversation inside it. What its pointers point to is replaced, never changed, but
// for the decision.
func (c *call) clone() *call {
	own := *c
	own.Nested, own.next = nil, nil
	if c.Decision != nil {
		d := *c.Decision
		own.Decision = &d
	}
	return &own
}

func (m sessionMark) clone() sessionMark {
	m.Held, m.Closed = slices.Clone(m.Held), slices.Clone(m.Closed)
	m.Doubted, m.Answered = slices.Clone(m.Doubted), slices.Clone(m.Answered)
	return m
}
