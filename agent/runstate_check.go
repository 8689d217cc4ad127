package agent

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// check refuses numbers that no run can have.
func (h *stateHead) check() error {
	u := h.Usage
	switch {
	case h.ID == "":
		return h.bad("/id", "it is empty")
	case len(h.Path) == 0 || slices.Contains(h.Path, ""):
		return h.bad("/path", "it names no agent")
	case h.Turn < 0:
		return h.bad("/turn", "it is negative")
	case h.MaxTurns < noTurnLimit || h.MaxTurns == 0:
		return h.bad("/max_turns", "it is neither a limit nor -1")
	case min(u.Requests, u.InputTokens, u.CachedTokens, u.OutputTokens, u.ReasoningTokens, u.TotalTokens) < 0:
		return h.bad("/usage", "it is negative")
	case h.Input < 0 || h.Input > h.Count:
		return h.bad("/input_items", "it is not a number of items")
	case h.Session.Saved < 0 || h.Session.Saved > h.Count:
		return h.bad("/session/saved", "it is not a number of items")
	case !increasing(h.Session.Held, h.Input, h.Session.Saved):
		return h.bad("/session/held", "it is not a list of items that wait")
	case h.Turn == 0 && (len(h.Calls) > 0 || h.Final != nil || h.Count != h.Input):
		return h.bad("/turn", "nothing can have happened before the first turn")
	case h.Final != nil && len(h.Calls) > 0:
		return h.bad("/final_output", "a finished run has no calls")
	}
	return h.checkAlways()
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

// readLedger reads from the items what the head does not repeat: the calls of this run and which have their output.
func (s *RunState) readLedger() error {
	s.ledger = make(map[string]entry)
	for i := s.input; i < len(s.items); i++ {
		it := &s.items[i]
		e, known := s.ledger[it.CallID]
		switch it.Type {
		case ItemFunctionCall:
			if it.CallID == "" || known {
				return badItem(i, "a call id is missing or used twice")
			}
			s.ledger[it.CallID] = entry{item: i}
		case ItemFunctionCallOutput:
			if !known || e.answered {
				return badItem(i, "an output without its call, or a second one")
			}
			e.answered = true
			s.ledger[it.CallID] = e
		}
	}
	return nil
}

func badItem(i int, reason string) error {
	return &SchemaError{Version: strconv.Itoa(stateVersion), Path: "/items/" + strconv.Itoa(i), Reason: reason}
}

// checkCalls compares the open calls with the items, and reads their arguments from there.
func (s *RunState) checkCalls() error {
	open := 0
	seen := make(map[string]bool, len(s.calls))
	for i, c := range s.calls {
		reason := "it is not a call of the items"
		if e, ok := s.ledger[c.ID]; ok && !seen[c.ID] {
			seen[c.ID] = true
			reason = s.checkCall(c, e)
		}
		if reason != "" {
			return &SchemaError{Version: strconv.Itoa(stateVersion), Path: "/calls/" + strconv.Itoa(i), Reason: reason}
		}
		if c.State != callDone {
			open++
		}
	}
	unanswered := 0
	for _, e := range s.ledger {
		if !e.answered {
			unanswered++
		}
	}
	if unanswered != open || open == 0 && len(s.calls) > 0 {
		return &SchemaError{Version: strconv.Itoa(stateVersion), Path: "/calls", Reason: "they are not the open calls of the items"}
	}
	return nil
}

// checkCall returns what is wrong with a call, or nothing.
func (s *RunState) checkCall(c *call, e entry) string {
	it := &s.items[e.item]
	bound := c.Definition != nil && c.Digest != nil
	bare := c.Definition == nil && c.Digest == nil && c.Question == "" && c.Attempt == 0 && !c.Renew && !c.Always && c.Decision == nil
	switch {
	case c.Tool != it.Name || it.Agent != s.agentName():
		return "it is not what the item says"
	case e.answered != (c.State == callDone):
		return "its state is not what the items say"
	case c.State == callDone:
		if !bare || c.Problem != "" || c.Output != nil || c.Kind != "" {
			return "a call that is done has nothing left"
		}
		return ""
	case c.Problem != "":
		if !bare || c.State != callNew {
			return "a call that cannot run is no question"
		}
		return ""
	case !bound:
		return "its digests are missing"
	}
	if reason := c.checkQuestion(); reason != "" {
		return reason
	}
	return c.checkDigest(it)
}

// checkQuestion returns what is wrong with the state of a call that can run, or nothing.
func (c *call) checkQuestion() string {
	d := c.Decision
	switch {
	case c.State != callNew && c.State != callWaiting && c.State != callCleared:
		return "its state is unknown"
	case c.Kind == "":
		return "its kind is missing"
	case c.Question != "" && c.Question != Confirm && c.Question != OutcomeUnknown:
		return "its question is unknown"
	case (c.State == callNew) != (c.Question == "") && c.State != callCleared:
		return "its question does not fit its state"
	case c.Attempt < 0, (c.Attempt > 0) != (c.Question == OutcomeUnknown):
		return "its attempt does not fit its question"
	case c.Always && (c.State != callCleared || d != nil), c.Renew && c.State != callWaiting:
		return "what cleared it does not fit its state"
	case d == nil:
		return ""
	case c.Question == "" || c.State == callCleared && (!d.Approve || d.Output != nil):
		return "nobody was asked about it"
	case d.Output != nil && (!d.Approve || c.Question != OutcomeUnknown):
		return "its decision does not fit its question"
	case d.Approve && d.Message != nil:
		return "an approval has no message"
	}
	return ""
}

// checkDigest reads the arguments and compares them with what was bound.
func (c *call) checkDigest(it *Item) string {
	arguments, err := CanonicalArguments([]byte(it.Arguments))
	if err != nil {
		return "its arguments are not usable"
	}
	if CallDigest(*c.Definition, arguments) != *c.Digest {
		return "its digest is not that of its arguments"
	}
	c.arguments = arguments
	return ""
}

// checkPath looks for the agents that the state names.
func (s *RunState) checkPath(root *Agent) error {
	if len(s.path) != 1 || s.path[0] != root.Name {
		return fmt.Errorf("%w: the run was with %q, not with %q", ErrUnknownAgent, excerpt(strings.Join(s.path, "/")), root.Name)
	}
	return nil
}

// checkTools looks for the tools of the calls that may still run.
func (s *RunState) checkTools(root *Agent) error {
	for _, c := range s.calls {
		if s.needsTool(c) && root.tool(c.Tool) == nil {
			return fmt.Errorf("%w: %q of agent %q has an open call", ErrUnknownTool, excerpt(c.Tool), root.Name)
		}
	}
	return nil
}
