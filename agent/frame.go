package agent

import (
	"fmt"
	"slices"
)

// frame is one conversation of a run: the run itself, or that of an agent which is used as a tool.
type frame struct {
	state     *RunState
	number    int    // 0 for the run itself; the others in the order in which they began
	parent    *frame // nil for the run itself
	outer     *call  // the call of parent that this conversation answers
	entry     string // the agent that it began with
	agent     string // the agent whose turn it is
	turn      int
	maxTurns  int
	items     []Item
	count     int    // items that a saved conversation says it has
	input     int    // items that were there before the first turn
	copies    []span // items that handoffs put there to be shown instead of what precedes them
	leftOut   *omission
	calls     []*call
	answer    *string // what the agent answered, while it is being checked
	final     *string
	callsByID map[string]callEntry // calls made here, by the provider's id
	usage     Usage                // of its own model calls; of the run itself see RunState
	answers   map[int]*savedAnswer // what decided calls, by the index of their output
	toolbox   *toolbox             // what the agent has now; nil until somebody needed it
}

// span is the items from From up to but not including To.
type span struct {
	From int `json:"from"`
	To   int `json:"to"`
}

// callEntry says where the call of an id is, and whether it has its output.
type callEntry struct {
	item     int
	answered bool
}

// append adds an item that the run made.
func (f *frame) append(it Item) {
	switch {
	case it.IsCall():
		if f.callsByID == nil {
			f.callsByID = make(map[string]callEntry)
		}
		f.callsByID[it.CallID] = callEntry{item: len(f.items)}
	case it.IsOutput():
		e := f.callsByID[it.CallID]
		e.answered = true
		f.callsByID[it.CallID] = e
	}
	f.appendCopy(it)
}

// appendCopy adds an item that is no call or output of this conversation's own.
func (f *frame) appendCopy(it Item) {
	f.items = append(f.items, it)
	f.state.log = append(f.state.log, f)
	f.state.size += it.savedLen()
}

// own returns the items from the index on, without copies.
func (f *frame) own(from int) []Item {
	if len(f.copies) == 0 {
		return slices.Clip(f.items[from:])
	}
	var own []Item
	for i := from; i < len(f.items); i++ {
		if !f.copied(i) {
			own = append(own, f.items[i])
		}
	}
	return own
}

// copied reports whether the item at index i is a copy for the model only.
func (f *frame) copied(i int) bool {
	return slices.ContainsFunc(f.copies, func(s span) bool { return s.From <= i && i < s.To })
}

// path returns the names of the agents from the run's own to this one's.
func (f *frame) path() []string {
	if f.parent == nil {
		return []string{f.agent}
	}
	return append(f.parent.path(), f.agent)
}

// depth is 0 for the run itself.
func (f *frame) depth() int {
	if f.parent == nil {
		return 0
	}
	return f.parent.depth() + 1
}

// interruptionID names a call in its run.
func (f *frame) interruptionID(callID string) string {
	id := interruptionID([]string{f.agent}, f.turn, callID)
	if f.parent == nil {
		return id
	}
	return f.parent.interruptionID(f.outer.ID) + "/" + id
}

// effectID names the execution of a call.
func (f *frame) effectID(callID string) string {
	if f.parent == nil {
		return effectID(f.state.effectRun(), []string{f.agent}, f.turn, callID)
	}
	return nestedEffectID(f.parent.effectID(f.outer.ID), f.agent, f.turn, callID)
}

// each calls fn for this frame and those inside it, the outer ones first, in the order of their calls.
func (f *frame) each(fn func(*frame) error) error {
	if err := fn(f); err != nil {
		return err
	}
	for _, c := range f.calls {
		if c.Nested != nil {
			if err := c.Nested.each(fn); err != nil {
				return err
			}
		}
	}
	return nil
}

// nest begins a conversation of the tool's agent, which answers the call.
func (f *frame) nest(c *call, t *Tool, input []Item) (*frame, error) {
	s, name := f.state, t.agent.Name
	inner := &frame{
		state: s, number: s.frames + 1, parent: f, outer: c, entry: name, agent: name, maxTurns: t.Use.turns(),
	}
	for i := range input {
		clean, err := cleanItem(input[i])
		if err != nil {
			return nil, fmt.Errorf("%w: input item %d: %w", ErrConfig, i, err)
		}
		inner.appendCopy(clean)
	}
	inner.input = len(inner.items)
	s.frames++
	c.Nested = inner
	return inner, nil
}

// handTo makes the handoff's agent the one whose turn it is, and has it see what the filter showed, if there is one.
func (f *frame) handTo(h *Handoff, shown []Item) {
	f.agent, f.toolbox = h.Agent.Name, nil
	if h.Filter == nil {
		return
	}
	f.leftOut = nil
	f.copies = append(f.copies, span{From: len(f.items), To: len(f.items) + len(shown)})
	for _, it := range shown {
		f.appendCopy(it)
	}
}

// outputText returns the output of the call with the id.
func (f *frame) outputText(callID string) string {
	for _, it := range slices.Backward(f.items) {
		if it.IsOutput() && it.CallID == callID {
			return it.Output
		}
	}
	return ""
}

// outputOf returns the item that answers a call of the turn.
func (f *frame) outputOf(c *call, out ToolOutput) Item { return answer(f.callItem(c), f.agent, out) }

// hasCalled reports whether the agent has made a call in this conversation.
func (f *frame) hasCalled(agent string) bool {
	if f.entry == f.agent {
		return len(f.callsByID) > 0
	}
	for _, e := range f.callsByID {
		if f.items[e.item].Agent == agent {
			return true
		}
	}
	return false
}

// held reports whether the first of the items must wait: a call without its output, or the reasoning that directly
// precedes such a call.
func (f *frame) held(indexes []int) bool {
	for n, i := range indexes {
		it := &f.items[i]
		switch {
		case i != indexes[0]+n:
			return false
		case it.IsCall() && i >= f.input:
			return !f.callsByID[it.CallID].answered
		case it.Type != ItemReasoning:
			return false
		}
	}
	return false
}
