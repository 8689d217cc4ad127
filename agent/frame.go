package agent

import (
	"fmt"
	"slices"
)

// frame is one conversation of a run: the run itself, or that of an agent which is used as a tool.
type frame struct {
	state    *RunState
	number   int    // 0 for the run itself; the others in the order in which they began
	parent   *frame // nil for the run itself
	outer    *call  // the call of parent that this conversation answers
	entry    string // the agent that it began with
	agent    string // the agent whose turn it is
	turn     int
	maxTurns int
	items    []Item
	count    int    // items that a saved conversation says it has
	input    int    // items that were there before the first turn
	copies   []span // items that handoffs put there to be shown instead of what precedes them
	leftOut  *omission
	calls    []*call
	answer   *string // what the agent answered, while it is being checked
	final    *string
	ledger   map[string]entry // calls made here, by the provider's id
	toolbox  *toolbox         // what the agent has now; nil until somebody needed it
}

// span is the items from From up to but not including To.
type span struct {
	From int `json:"from"`
	To   int `json:"to"`
}

// entry says where the call of an id is, and whether it has its output.
type entry struct {
	item     int
	answered bool
}

// append adds an item that the run made.
func (f *frame) append(it Item) {
	switch {
	case it.isCall():
		if f.ledger == nil {
			f.ledger = make(map[string]entry)
		}
		f.ledger[it.CallID] = entry{item: len(f.items)}
	case it.IsOutput():
		e := f.ledger[it.CallID]
		e.answered = true
		f.ledger[it.CallID] = e
	}
	f.appendCopy(it)
}

// appendCopy adds an item that is no call or output of this conversation's own.
func (f *frame) appendCopy(it Item) {
	f.items = append(f.items, it)
	f.state.log = append(f.state.log, f)
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
		return effectID(f.state.id, []string{f.agent}, f.turn, callID)
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

// waits reports whether a call of the turn waits for people, here or further inside.
func (f *frame) waits() bool {
	for _, c := range f.calls {
		if c.Output == nil && (c.State == callWaiting || c.Nested != nil) {
			return true
		}
	}
	return false
}

// asksWhatBecame reports whether people have still to say what became of a call, here or further inside.
func (f *frame) asksWhatBecame() bool {
	return f.anyCall(func(f *frame, c *call) bool {
		return c.Question == OutcomeUnknown && c.State == callWaiting && c.Output == nil && f.ruling(c).verdict == undecided
	})
}

// mayHaveBegun reports whether there is a call, here or further inside, of which only the journal could say whether it
// has begun.
func (f *frame) mayHaveBegun() bool {
	return f.anyCall(func(_ *frame, c *call) bool {
		return c.State == callCleared && c.Output == nil && c.Nested == nil && c.Kind != KindAgent && !c.recorded
	})
}

func (f *frame) anyCall(is func(*frame, *call) bool) bool {
	found := false
	_ = f.each(func(f *frame) error {
		found = found || slices.ContainsFunc(f.calls, func(c *call) bool { return is(f, c) })
		return nil
	})
	return found
}

// done reports whether every call of the turn has its output.
func (f *frame) done() bool {
	for _, c := range f.calls {
		if c.State != callDone {
			return false
		}
	}
	return true
}

// tool returns the tool of a call as the agent has it now, or nil.
func (f *frame) tool(c *call) *Tool {
	return f.tools().find(f.callItem(c))
}

// callItem returns the item of a call of the turn.
func (f *frame) callItem(c *call) *Item { return &f.items[f.ledger[c.ID].item] }

// tools returns the toolbox, at least what is in it without asking toolsets.
func (f *frame) tools() *toolbox {
	if f.toolbox == nil {
		f.toolbox = f.state.graph[f.agent].ownTools()
	}
	return f.toolbox
}

// toolCall returns the call as gates, tools and people see it. Nothing in it is shared.
func (f *frame) toolCall(c *call) ToolCall {
	name := c.Tool
	if it := f.callItem(c); it.Type == ItemMCPApprovalRequest {
		name = it.Server + "." + it.Name
	}
	return ToolCall{
		ID:         c.ID,
		Tool:       name,
		Kind:       c.Kind,
		Arguments:  slices.Clone(c.arguments()),
		Agent:      f.agent,
		Path:       f.path(),
		Turn:       f.turn,
		EffectID:   f.effectID(c.ID),
		AskedAgain: c.AskedAgain,
	}
}

// interruption returns the question that the call waits for.
func (f *frame) interruption(c *call) Interruption {
	in := Interruption{
		ID:            f.interruptionID(c.ID),
		Kind:          c.Question,
		Attempt:       c.Attempt,
		Call:          f.toolCall(c),
		Definition:    *c.Definition,
		Digest:        *c.Digest,
		Preconditions: slices.Clone(c.Preconditions),
	}
	if c.Arguments != nil {
		in.Original = slices.Clone(c.written)
	}
	if c.Question == FieldsRequired {
		if tool := f.tool(c); tool != nil {
			in.Fields = tool.fields(c.arguments())
		}
	}
	return in
}

// question returns the open call that in asks about.
func (f *frame) question(in *Interruption) (*call, *frame, error) {
	for _, c := range f.calls {
		if c.Nested != nil {
			if found, at, err := c.Nested.question(in); err == nil || err == ErrStale {
				return found, at, err
			}
			continue
		}
		if c.State != callWaiting || c.Output != nil || f.interruptionID(c.ID) != in.ID {
			continue
		}
		if in.Digest != *c.Digest || in.Kind != c.Question || in.Attempt != c.Attempt {
			return nil, nil, ErrStale
		}
		return c, f, nil
	}
	return nil, nil, ErrUnknownInterruption
}

// nest begins a conversation of the tool's agent, which answers the call.
func (f *frame) nest(c *call, t *Tool, input []Item) (*frame, error) {
	s, name := f.state, t.agent.Name
	inner := &frame{state: s, number: s.frames + 1, parent: f, outer: c, entry: name, agent: name, maxTurns: t.Use.turns()}
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
