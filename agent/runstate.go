package agent

import (
	"fmt"
	"slices"
	"sync/atomic"
)

// noTurnLimit is the turn limit of a run without one.
const noTurnLimit = -1

// RunState is a run between two steps: conversation, turn, open calls, decisions, usage. It is not safe for
// concurrent use. It can be written with MarshalJSON in one piece, or with Delta as a head and append-only chunks.
type RunState struct {
	id       string
	root     *Agent
	path     []string // agent names from the root to the one whose turn it is
	turn     int
	maxTurns int
	usage    Usage
	items    []Item
	input    int // items that were there before the first turn
	session  sessionMark
	calls    []*call // of the current turn; empty when the model is next
	always   []standing
	final    *string
	ledger   map[string]entry // calls of this run by the provider's id
	busy     atomic.Bool
}

// entry says where the call of an id is, and whether it has its output.
type entry struct {
	item     int
	answered bool
}

// append adds an item that the run made.
func (s *RunState) append(it Item) {
	switch it.Type {
	case ItemFunctionCall:
		if s.ledger == nil {
			s.ledger = make(map[string]entry)
		}
		s.ledger[it.CallID] = entry{item: len(s.items)}
	case ItemFunctionCallOutput:
		e := s.ledger[it.CallID]
		e.answered = true
		s.ledger[it.CallID] = e
	}
	s.items = append(s.items, it)
}

// Interruptions returns the open questions in the model's order, including those decided but not yet resumed.
func (s *RunState) Interruptions() []Interruption {
	return s.questions(func(*call) bool { return true })
}

// Undecided returns the open questions without an answer. A question that a decision with Always answers has one.
func (s *RunState) Undecided() []Interruption {
	return s.questions(func(c *call) bool { return s.ruling(c).verdict == undecided })
}

func (s *RunState) questions(include func(*call) bool) []Interruption {
	var open []Interruption
	for _, c := range s.calls {
		if c.State == callWaiting && c.Output == nil && include(c) {
			open = append(open, s.interruption(c))
		}
	}
	return open
}

func (s *RunState) interruption(c *call) Interruption {
	return Interruption{
		ID:         interruptionID(s.path, s.turn, c.ID),
		Kind:       c.Question,
		Attempt:    c.Attempt,
		Call:       s.toolCall(c),
		Definition: *c.Definition,
		Digest:     *c.Digest,
	}
}

// bind takes a, the agent the run was started with, as it is now. It refuses open calls that would no longer do what
// people were asked about.
func (s *RunState) bind(a *Agent) error {
	if err := s.checkPath(a); err != nil {
		return err
	}
	for _, c := range s.calls {
		if err := s.bindCall(a, c); err != nil {
			return fmt.Errorf("call %s: %w", interruptionID(s.path, s.turn, c.ID), err)
		}
	}
	s.root = a
	return nil
}

func (s *RunState) bindCall(a *Agent, c *call) error {
	if !s.needsTool(c) {
		return nil
	}
	tool := a.tool(c.Tool)
	switch {
	case tool == nil:
		return fmt.Errorf("%w: %q", ErrUnknownTool, c.Tool)
	case tool.Digest() == *c.Definition:
		return nil
	case c.State == callNew, s.ruling(c).verdict == free: // nobody has seen it
		c.rebind(tool)
		return nil
	}
	return fmt.Errorf("%w: tool %q has changed since it was asked about", ErrStale, c.Tool)
}

// needsTool reports whether the tool of c may still have to run.
func (s *RunState) needsTool(c *call) bool {
	if c.State == callDone || c.Output != nil || c.Problem != "" {
		return false
	}
	how := s.ruling(c)
	return how.verdict != rejected && how.output == nil
}

// Rebind compares the open calls with the tools that the agents have now. Calls whose definition changed lose their
// decision and get a new digest; they are returned. When such a call may have begun already, the question about it is
// OutcomeUnknown. A call whose arguments the tool no longer takes is no longer a question: the model will read why. A
// rejection stands, because nothing runs. Without Rebind, Resume refuses such a state with ErrStale.
func (s *RunState) Rebind() []Interruption {
	var changed []Interruption
	for _, c := range s.calls {
		if !s.needsTool(c) {
			continue
		}
		tool := s.root.tool(c.Tool)
		if tool == nil || c.State == callNew || s.ruling(c).verdict == free {
			continue // Resume says so, or takes the tool as it is
		}
		if tool.Digest() == *c.Definition {
			continue
		}
		if err := tool.validate(c.arguments); err != nil {
			c.refuse(err)
			continue
		}
		c.rebind(tool)
		if c.State == callWaiting {
			c.ask(c.Question)
		}
		if s.ruling(c).verdict == undecided {
			changed = append(changed, s.interruption(c))
		}
	}
	return changed
}

// RunID returns the id of the run, from which the ids of its effects are derived.
func (s *RunState) RunID() string { return s.id }

// Finished reports whether the run has its final output.
func (s *RunState) Finished() bool { return s.final != nil }

// FinalOutput returns the answer of a finished run.
func (s *RunState) FinalOutput() string {
	if s.final == nil {
		return ""
	}
	return *s.final
}

// turnsLeft reports whether the model may be called again.
func (s *RunState) turnsLeft() bool { return s.maxTurns == noTurnLimit || s.turn < s.maxTurns }

// Turn returns the number of model calls made so far.
func (s *RunState) Turn() int { return s.turn }

// Usage returns what the run has cost so far.
func (s *RunState) Usage() Usage { return s.usage }

// Items returns the conversation: input, model items and outputs, oldest first. The caller must not modify it.
func (s *RunState) Items() []Item { return slices.Clip(s.items) }

// InputItems returns how many of Items were there before the first turn: what the session held, and the run's input.
func (s *RunState) InputItems() int { return s.input }
