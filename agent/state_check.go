package agent

import (
	"fmt"
	"slices"
	"strconv"
)

// check refuses numbers that no run can have.
func (h *stateHead) check() error {
	switch {
	case h.ID == "":
		return h.bad("/id", "it is empty")
	case len(h.Path) != 1 || h.Path[0] == "":
		return h.bad("/path", "it does not name an agent")
	case len(h.Context) > maxContextData || string(h.Context) == "null":
		return h.bad("/context", "it is not what a run may have")
	case h.Series < 0:
		return h.bad("/series", "it is negative")
	case len(h.Trace) > maxLink:
		return h.bad("/trace", "it is too long")
	case h.Frames < 0:
		return h.bad("/frames", "it is negative")
	case h.Usage.negative():
		return h.bad("/usage", "it is negative")
	case h.Input < 0 || h.Input > h.Count:
		return h.bad("/input_items", "it is not a number of items")
	case h.Session.Saved < 0:
		return h.bad("/session/saved", "it is not a number of items")
	case !increasing(h.Session.Held, h.Input, h.Session.Saved):
		return h.bad("/session/held", "it is not a list of items that wait")
	case !increasing(h.Session.Closed, h.Input, h.Session.Saved),
		!increasing(h.Session.Doubted, h.Input, h.Session.Saved),
		!increasing(h.Session.Answered, h.Input, h.Session.Saved):
		return h.bad("/session/closed", "it is not a list of calls that the session has")
	}
	if h.Server != nil && (h.Server.Sent < 0 || h.Server.ID != "" && h.Server.Previous != "") {
		return h.bad("/conversation", "it is not a conversation of this run")
	}
	for i := range h.Pending {
		if h.Pending[i].Type != ItemMessage || h.Pending[i].Raw != nil {
			return h.bad("/pending_input", "it is not a list of messages")
		}
	}
	if err := h.checkHandled(); err != nil {
		return err
	}
	if err := h.checkGuardrailResults(); err != nil {
		return err
	}
	return h.checkAlways()
}

func (u *Usage) negative() bool {
	return min(u.Requests, u.InputTokens, u.CachedTokens, u.OutputTokens, u.ReasoningTokens, u.TotalTokens) < 0
}

func (h *stateHead) checkAlways() error {
	for i, a := range h.Always {
		same := func(b standing) bool {
			return a.Agent == b.Agent && a.Tool == b.Tool && a.Definition == b.Definition
		}
		if a.Agent == "" || a.Tool == "" || slices.ContainsFunc(h.Always[:i], same) || a.Approve && a.Message != nil {
			return h.bad("/always/"+strconv.Itoa(i), "it is not a decision")
		}
	}
	return nil
}

// increasing reports whether the indexes rise and lie between from and to.
func increasing(indexes []int, from, to int) bool {
	for _, i := range indexes {
		if i < from || i >= to {
			return false
		}
		from = i + 1
	}
	return true
}

// checkMarks checks what the session and the provider are said to have against the run's own items.
func (s *RunState) checkMarks(head *stateHead) error {
	switch n := len(s.frame.items); {
	case s.session.Saved > n:
		return head.bad("/session/saved", "it is not a number of items")
	case s.server != nil && s.server.Sent > n:
		return head.bad("/conversation", "it is not a conversation of this run")
	}
	known := slices.Concat(s.session.Closed, s.session.Doubted, s.session.Answered)
	for n, i := range known {
		if !s.frame.items[i].IsCall() || s.frame.copied(i) || slices.Contains(known[:n], i) {
			return head.bad("/session/closed", "it is not a list of calls that the session has")
		}
	}
	return nil
}

// checkFrames checks every conversation of the run against its items.
func (s *RunState) checkFrames(head *stateHead) error {
	return s.frame.each(func(f *frame) error {
		if path, reason := f.check(); reason != "" {
			return head.bad(f.pointer()+path, reason)
		}
		if err := f.indexCalls(); err != nil {
			return err
		}
		return f.checkCalls(head)
	})
}

// pointer says where in the head the conversation is, in words: heads nest, and calls have ids that may be secret.
func (f *frame) pointer() string {
	if f.parent == nil {
		return ""
	}
	for i, c := range f.parent.calls {
		if c == f.outer {
			return f.parent.pointer() + "/calls/" + strconv.Itoa(i) + "/nested"
		}
	}
	return f.parent.pointer()
}

// check refuses numbers that no conversation can have. It returns where and why.
func (f *frame) check() (path, reason string) {
	switch n := len(f.items); {
	case f.agent == "":
		return "/agent", "it is empty"
	case f.parent != nil && f.count != n:
		return "/item_count", "it is not the number of the conversation's items"
	case f.turn < 0:
		return "/turn", "it is negative"
	case f.usage.negative():
		return "/usage", "it is negative"
	case f.maxTurns < noTurnLimit || f.maxTurns == 0:
		return "/max_turns", "it is neither a limit nor -1"
	case f.input < 0 || f.input > n:
		return "/input_items", "it is not a number of items"
	case f.turn == 0 && (len(f.calls) > 0 || f.final != nil || f.answer != nil || n != f.input):
		return "/turn", "nothing can have happened before the first turn"
	case (f.final != nil || f.answer != nil) && len(f.calls) > 0:
		return "/final_output", "a finished run has no calls"
	case f.final != nil && f.answer != nil:
		return "/answer", "a finished run has nothing to check"
	}
	last := f.input
	for i, c := range f.copies {
		if c.From < last || c.To < c.From || c.To > len(f.items) {
			return "/copies/" + strconv.Itoa(i), "it is not a list of items"
		}
		last = c.To
	}
	if reason := f.checkLeftOut(); reason != "" {
		return "/left_out", reason
	}
	return "", ""
}

// indexCalls reads from the items what the head does not repeat: the calls of this run and which have their output.
func (f *frame) indexCalls() error {
	f.callsByID = make(map[string]callEntry)
	for i := f.input; i < len(f.items); i++ {
		if f.copied(i) {
			continue
		}
		it := &f.items[i]
		e, known := f.callsByID[it.CallID]
		switch {
		case it.IsCall():
			if it.CallID == "" || known {
				return badItem(i, "a call id is missing or used twice")
			}
			f.callsByID[it.CallID] = callEntry{item: i}
		case it.IsOutput():
			if !known || e.answered || callForms[f.items[e.item].Type].output != it.Type {
				return badItem(i, "an output without its call, or a second one")
			}
			e.answered = true
			f.callsByID[it.CallID] = e
		}
	}
	return nil
}

func badItem(i int, reason string) error {
	return &SchemaError{Path: "/items/" + strconv.Itoa(i), Reason: reason}
}

// checkCalls compares the open calls with the items, and reads their arguments from there.
func (f *frame) checkCalls(head *stateHead) error {
	open, ran := 0, false
	seen := make(map[string]bool, len(f.calls))
	for i, c := range f.calls {
		reason := "it is not a call of the items"
		if e, ok := f.callsByID[c.ID]; ok && !seen[c.ID] {
			seen[c.ID] = true
			reason = f.checkCall(c, e)
		}
		if reason != "" {
			return head.bad(f.pointer()+"/calls/"+strconv.Itoa(i), reason)
		}
		if c.State != callDone {
			open++
		}
		ran = ran || c.Ran
	}
	unanswered := 0
	for _, e := range f.callsByID {
		if !e.answered {
			unanswered++
		}
	}
	if unanswered != open || open == 0 && len(f.calls) > 0 && !ran {
		return head.bad(f.pointer()+"/calls", "they are not the open calls of the items")
	}
	return nil
}

// checkAgents looks for the agents that the state names.
func (s *RunState) checkAgents(root *Agent, g graph) error {
	return s.frame.each(func(f *frame) error {
		entry := ""
		switch {
		case f.parent == nil:
			entry = root.Name
		default:
			// The tool may come later, from a toolset; then it is no agent's.
			tool := g[f.parent.agent].ownTools().find(f.parent.callItem(f.outer))
			if tool == nil || tool.agent == nil {
				return fmt.Errorf(
					"%w: agent %q no longer uses %q as a tool, which is at work", ErrUnknownAgent,
					f.parent.agent, excerpt(f.entry))
			}
			entry = tool.agent.Name
		}
		if f.entry != entry {
			return fmt.Errorf("%w: the run was with %q, not with %q", ErrUnknownAgent, excerpt(f.entry), entry)
		}
		if !g.reaches(f.entry, f.agent) {
			return fmt.Errorf("%w: %q cannot have been reached from %q", ErrUnknownAgent, excerpt(f.agent), f.entry)
		}
		return nil
	})
}

// checkKinds compares what kind of tool an open call is said to be of with the tool, if it is the one that was asked
// about.
func (s *RunState) checkKinds(head *stateHead) error {
	return s.frame.each(func(f *frame) error {
		for i, c := range f.calls {
			if c.Definition == nil {
				continue
			}
			tool := f.tool(c)
			if tool != nil && tool.kind() != c.Kind && f.unchanged(c, tool) {
				return head.bad(f.pointer()+"/calls/"+strconv.Itoa(i), "its kind is not that of its tool")
			}
		}
		return nil
	})
}

// checkTools looks for the tools of the calls that may still run, where no toolset may have them.
func (s *RunState) checkTools() error {
	return s.frame.each(func(f *frame) error {
		for _, c := range f.calls {
			if f.needsTool(c) && f.tool(c) == nil && !f.toolbox.partial && c.Kind != KindHandoff {
				return fmt.Errorf("%w: %q of agent %q has an open call", ErrUnknownTool, excerpt(c.Tool), f.agent)
			}
		}
		return nil
	})
}
