package agent

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

// newCall reads a call of the model. Whatever is wrong with it becomes its problem.
func (f *frame) newCall(it *Item, written string) *call {
	c := &call{ID: it.CallID, Tool: it.Name, State: callNew}
	tool := f.tools().find(it)
	foreign := it.foreign(tool)
	if tool == nil || foreign != "" {
		switch {
		case tool != nil:
			c.Tool, c.Kind = tool.Name, tool.kind()
		case c.Tool == "":
			c.Tool = string(it.Type)
		}
		c.Problem = cmp.Or(foreign, unknownTool(f.toolbox, c.Tool))
		return c
	}
	c.Tool, c.Kind = tool.Name, tool.kind()
	arguments, err := it.arguments(written)
	if err == nil {
		c.written = arguments
		err = tool.validateCall(c)
	}
	if err != nil {
		c.Problem = unusableArguments(err)
		c.written = nil
		return c
	}
	c.bind(f.definitionOf(it, tool))
	return c
}

// definition returns the definition of what the call would run: that of the tool, and for a hosted MCP server that of
// the server's tool as it was last listed.
func (f *frame) definition(c *call, tool *Tool) Digest { return f.definitionOf(f.callItem(c), tool) }

func (f *frame) definitionOf(it *Item, tool *Tool) Digest {
	if it.Type != ItemMCPApprovalRequest {
		return tool.Digest()
	}
	return hostedDefinition(tool, it.Name, f.listed(it.Server, it.Name))
}

func hostedDefinition(server *Tool, name, listed string) Digest {
	digest := server.Digest()
	h := newParts("countersign.hosted/1")
	h.add(string(digest[:]))
	h.add(name)
	h.add(listed)
	return h.sum()
}

// unescapeHTML undoes what encoding/json does to a state that it embeds in something else.
var unescapeHTML = strings.NewReplacer(
	`\u003c`, "<", `\u003e`, ">", `\u0026`, "&", `\u2028`, "\u2028", `\u2029`, "\u2029",
)

// unchanged reports whether the call was bound to what its tool is now.
func (f *frame) unchanged(c *call, tool *Tool) bool {
	it := f.callItem(c)
	if f.definitionOf(it, tool) == *c.Definition {
		return true
	}
	return it.Type == ItemMCPApprovalRequest &&
		hostedDefinition(tool, it.Name, unescapeHTML.Replace(f.listed(it.Server, it.Name))) == *c.Definition
}

// listed returns how a hosted MCP server described one of its tools last, or nothing.
func (f *frame) listed(server, name string) string {
	for _, it := range slices.Backward(f.items) {
		if it.Type != ItemMCPListTools || it.Server != server {
			continue
		}
		var list struct {
			Tools []json.RawMessage `json:"tools"`
		}
		if json.Unmarshal(it.Raw, &list) != nil {
			return ""
		}
		for _, raw := range list.Tools {
			var tool struct {
				Name string `json:"name"`
			}
			if json.Unmarshal(raw, &tool) == nil && tool.Name == name {
				return string(raw)
			}
		}
		return ""
	}
	return ""
}

// rebind binds the call to what the tool is now. Whether a call has begun that was cleared for the tool as it was,
// somebody has to find out, unless it does not matter.
func (f *frame) rebind(c *call, tool *Tool) {
	c.Kind = tool.kind()
	c.bind(f.definition(c, tool))
	switch {
	case c.State == callCleared && tool.repeatable():
		c.enter(callNew)
	case c.State == callCleared:
		c.ask(OutcomeUnknown)
		c.Renew, c.Attempt = true, c.Attempt+1
	}
}

// tool returns the tool of a call as the agent has it now, or nil.
func (f *frame) tool(c *call) *Tool {
	return f.tools().find(f.callItem(c))
}

// callItem returns the item of a call of the turn.
func (f *frame) callItem(c *call) *Item { return &f.items[f.callsByID[c.ID].item] }

// tools returns the toolbox, at least what is in it without asking toolsets.
func (f *frame) tools() *toolbox {
	if f.toolbox == nil {
		f.toolbox = f.state.graph[f.agent].ownTools()
	}
	return f.toolbox
}

// toolCall returns the call as gates, tools and people see it. Nothing in it is shared.
func (f *frame) toolCall(c *call) ToolCall {
	if c.effectID == "" {
		c.effectID = f.effectID(c.ID)
	}
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
		EffectID:   c.effectID,
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
		return c.Question == OutcomeUnknown && c.State == callWaiting && c.Output == nil &&
			f.ruling(c).verdict == undecided
	})
}

// mayHaveBegun reports whether there is a call, here or further inside, of which only the journal could say whether
// it has begun.
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
