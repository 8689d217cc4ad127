package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"countersign/agent/guardrail"
)

// noTurnLimit is the turn limit of a run without one.
const noTurnLimit = -1

// RunState is a run between two steps: conversation, turn, open calls, decisions, usage, and the same of every agent
// that is at work as a tool inside. It is not safe for concurrent use; a streamed run stands still while an event is
// looked at, and its state may then be read, answered and given input. It can be written with MarshalJSON in one piece,
// or with Delta as a head and append-only chunks.
//
// A nil or zero RunState is no run: it has no questions and no items, its methods with an error return ErrConfig, or
// ErrUnknownInterruption for an answer, and it cannot be written or resumed.
type RunState struct {
	id         string
	series     int // tells runs apart that were given one id; see memoryJournal
	root       *Agent
	graph      graph
	frame      *frame // the run itself
	frames     int    // conversations inside it that were ever begun
	log        []*frame
	size       int             // of all items in their saved form, or a little more
	answered   int             // answers that are kept beside outputs
	data       json.RawMessage // RunContext.Data, canonical
	usage      Usage
	session    sessionMark
	server     *serverMark
	trace      string // refers to the span of the last Run or Resume; see trace.Span.Link
	always     []standing
	handled    string // which failure the answer was given instead of, see Result.Handled
	guardrails []guardrail.Result
	pending    []Item // input that was added and that no model has seen
	busy       atomic.Bool
	mu         sync.Mutex // held by whoever works on the state; see execution
}

// newState returns an empty state.
func newState(id string, root *Agent, g graph, maxTurns int) *RunState {
	s := &RunState{id: id, root: root, graph: g}
	s.frame = &frame{state: s, entry: root.Name, agent: root.Name, maxTurns: maxTurns}
	return s
}

// empty reports whether there is no run in the state: nobody made it but the compiler.
func (s *RunState) empty() bool { return s == nil || s.frame == nil }

var errEmptyState = fmt.Errorf("%w: the run state is empty; states come from Run and DecodeRunState", ErrConfig)

// Interruptions returns the open questions in the model's order, including those decided but not yet resumed. The
// questions of an agent that is used as a tool stand where its call does.
func (s *RunState) Interruptions() []Interruption {
	if s.empty() {
		return nil
	}
	return s.frame.questions(nil, func(*frame, *call) bool { return true })
}

// Undecided returns the open questions without an answer. A question that a decision with Always answers has one.
func (s *RunState) Undecided() []Interruption {
	if s.empty() {
		return nil
	}
	return s.frame.questions(nil, unanswered)
}

func unanswered(f *frame, c *call) bool { return f.ruling(c).verdict == undecided }

func (f *frame) questions(open []Interruption, include func(*frame, *call) bool) []Interruption {
	for _, c := range f.calls {
		switch {
		case c.Nested != nil:
			open = c.Nested.questions(open, include)
		case c.State == callWaiting && c.Output == nil && include(f, c):
			open = append(open, f.interruption(c))
		}
	}
	return open
}

// bind takes root, the agent the run was started with, as it is now, and everything its toolsets have now. It refuses
// open calls that would no longer do what people were asked about.
func (s *RunState) bind(ctx context.Context, root *Agent, g graph) error {
	if err := s.checkAgents(root, g); err != nil {
		return err
	}
	s.root, s.graph = root, g
	if err := s.resolve(ctx); err != nil {
		return err
	}
	return s.frame.each(func(f *frame) error {
		for _, c := range f.calls {
			if err := f.bindCall(c); err != nil {
				return fmt.Errorf("call %s: %w", f.interruptionID(c.ID), err)
			}
		}
		return nil
	})
}

// resolve finds out what the agents with open calls can call now.
func (s *RunState) resolve(ctx context.Context) error {
	return s.frame.each(func(f *frame) error {
		f.toolbox = nil
		if len(f.calls) == 0 {
			return nil
		}
		var err error
		f.toolbox, err = s.graph[f.agent].allTools(ctx)
		return err
	})
}

func (f *frame) bindCall(c *call) error {
	if !f.needsTool(c) {
		return nil
	}
	tool := f.tool(c)
	switch {
	case tool == nil && c.Kind == KindHandoff && c.State == callNew: // nobody has decided about it
		c.fail(unknownTool(f.toolbox, c.Tool))
		return nil
	case tool == nil:
		return fmt.Errorf("%w: %q", ErrUnknownTool, c.Tool)
	case c.Nested != nil:
		return f.bindNested(c, tool)
	case f.unchanged(c, tool):
		c.Kind = tool.kind() // also where it is a toolset's, and could not be compared before
		return nil
	case c.State == callNew, f.ruling(c).verdict == free: // nobody has seen it
		f.rebind(c, tool)
		return nil
	}
	return fmt.Errorf("%w: tool %q has changed since it was asked about", ErrStale, c.Tool)
}

// bindNested checks that an agent at work as a tool is still the one behind the tool.
func (f *frame) bindNested(c *call, tool *Tool) error {
	if tool.agent == nil || tool.agent.Name != c.Nested.entry {
		return fmt.Errorf("%w: tool %q no longer is the agent %q, which is at work", ErrStale, c.Tool, c.Nested.entry)
	}
	return nil
}

// needsTool reports whether the tool of c may still have to run.
func (f *frame) needsTool(c *call) bool {
	if c.State == callDone || c.Output != nil || c.Problem != "" {
		return false
	}
	how := f.ruling(c)
	return how.verdict != rejected && how.output == nil
}

// MayHaveBegun reports whether a call of the current turn was let through of which only a Journal can say whether it
// has begun; see Begun.
func (s *RunState) MayHaveBegun() bool { return !s.empty() && s.frame.mayHaveBegun() }

// Begun says of the call with this Interruption.ID that it has begun, which whoever keeps a Journal may know when the
// state does not: it was saved before. Where something has changed since, people are not asked whether the call may run
// but what became of it, and the journal is looked into before anything speaks against it. Where its tool does not take
// it any more, the model reads that nobody knows whether it was carried out, and not that it was not. It has to be said
// before Rebind, and is not saved. A call that is not of the current turn is passed over.
func (s *RunState) Begun(interruption string) {
	s.eachCall(interruption, func(c *call) { c.begun = true })
}

// Ended says what Begun says, and that the Journal has the output of the call: Intent returns it. The call takes that
// output, whatever has changed since, also where its tool does not take it any more. Nothing is asked about it and
// nothing looked up, no guardrail of its input is run, and its tool is not called.
func (s *RunState) Ended(interruption string) {
	s.eachCall(interruption, func(c *call) { c.begun, c.ended = true, true })
}

// eachCall calls do for the call of the current turn with this Interruption.ID, if there is one.
func (s *RunState) eachCall(interruption string, do func(*call)) {
	if s.empty() {
		return
	}
	_ = s.frame.each(func(f *frame) error {
		for _, c := range f.calls {
			if f.interruptionID(c.ID) == interruption {
				do(c)
			}
		}
		return nil
	})
}

// Rebind compares the open calls with the tools that the agents have now. Calls whose definition changed lose their
// decision and get a new digest; they are returned. When such a call may have begun already, the question about it is
// OutcomeUnknown. A call whose arguments the tool no longer takes is no longer a question: the model will read why. A
// rejection stands, because nothing runs. Without Rebind, Resume refuses such a state with ErrStale.
//
// The error is that of a toolset that cannot say what tools it has; nothing has changed then.
func (s *RunState) Rebind(ctx context.Context) ([]Interruption, error) {
	if s.empty() {
		return nil, errEmptyState
	}
	if err := s.resolve(ctx); err != nil {
		return nil, err
	}
	var changed []Interruption
	err := s.frame.each(func(f *frame) error {
		for _, c := range f.calls {
			if f.rebindOpen(c) && f.ruling(c).verdict == undecided {
				changed = append(changed, f.interruption(c))
			}
		}
		return nil
	})
	return changed, err
}

// rebindOpen takes the tool of a call that people were asked about as it is now, and reports whether it has changed.
func (f *frame) rebindOpen(c *call) bool {
	open := c.State != callDone && c.Output == nil && c.Problem == ""
	if c.Nested != nil || !f.needsTool(c) && !(c.ended && open) {
		return false
	}
	tool := f.tool(c)
	switch {
	case tool == nil:
		return false // Resume says so
	case c.ended: // nothing is asked, and nothing runs
		c.Kind = tool.kind()
		c.bind(f.definition(c, tool))
		return false
	case c.State == callNew, f.ruling(c).verdict == free: // Resume takes the tool as it is
		return false
	case f.unchanged(c, tool):
		return false
	}
	c.askFor(tool)
	if err := tool.validateCall(c); err != nil {
		c.refuse(err)
		return false
	}
	f.rebind(c, tool)
	switch {
	case c.State != callWaiting:
	case c.mayHaveBegun(): // nobody can be asked whether it may
		c.ask(OutcomeUnknown)
		c.Renew, c.Attempt = true, c.Attempt+1
	default:
		c.ask(c.Question)
	}
	return true
}

// askFor makes the question of a call that waits to be let run one that its changed tool has: nobody can confirm a call
// that lacks what people fill in, and nobody fills in what is not asked for.
func (c *call) askFor(tool *Tool) {
	switch {
	case c.State != callWaiting:
	case c.Question == Confirm && tool.fills() && !c.Given:
		c.Question = FieldsRequired
	case c.Question == FieldsRequired && !tool.fills():
		c.Question = Confirm
	}
}

// Tool returns the tool that an open question is about, as its agent has it now: nil when the question is not open, or
// when the tool is gone or can only be had from a toolset that was not asked yet; Rebind and Resume ask. It is not to
// be modified.
func (s *RunState) Tool(in Interruption) *Tool {
	if s.empty() {
		return nil
	}
	c, f, err := s.frame.question(&in)
	if err != nil {
		return nil
	}
	return f.tool(c)
}

// AddInput puts items, usually a message of the user, into a run that is not finished. The model reads them with its
// next turn, after the outputs of the calls that are open, exactly once. Input guardrails check them first. Where the
// next turn tells the provider to carry out calls, they are read in the one after it.
//
// It returns ErrConfig when nobody would ever read them: when the run is finished, or may end with an output of the
// calls that are open. A run without turns left takes input for a Resume with a higher limit, and one whose answer was
// refused for another answer: the refused one is then only part of the conversation.
func (s *RunState) AddInput(items ...Item) error {
	if s.empty() {
		return errEmptyState
	}
	f := s.frame
	switch {
	case f.final != nil:
		return fmt.Errorf("%w: input for a finished run", ErrConfig)
	case len(f.calls) > 0 && s.graph[f.agent].ToolUse.mayEnd(f.calls):
		return fmt.Errorf("%w: the run may end with the open calls, and nobody would read the input", ErrConfig)
	}
	clean := make([]Item, len(items))
	for i := range items {
		var err error
		if clean[i], err = cleanItem(items[i]); err != nil {
			return fmt.Errorf("%w: input item %d: %w", ErrConfig, i, err)
		}
		if clean[i].Type != ItemMessage || clean[i].Raw != nil {
			return fmt.Errorf("%w: input item %d is no message made here", ErrConfig, i)
		}
	}
	if err := s.checkRoom(slices.Concat(s.pending, clean)); err != nil {
		return fmt.Errorf("%w: input: %w", ErrConfig, err)
	}
	s.pending = append(s.pending, clean...)
	return nil
}

// PendingInput returns what AddInput added and no model has read yet.
func (s *RunState) PendingInput() []Item {
	if s.empty() {
		return nil
	}
	return slices.Clone(s.pending)
}

// ClearPendingInput takes back what AddInput added and no model has read yet.
func (s *RunState) ClearPendingInput() {
	if !s.empty() {
		s.pending = nil
	}
}

// RunID returns the id of the run, from which the ids of its effects are derived.
func (s *RunState) RunID() string {
	if s.empty() {
		return ""
	}
	return s.id
}

// Finished reports whether the run has its final output.
func (s *RunState) Finished() bool { return !s.empty() && s.frame.final != nil }

// FinalOutput returns the answer of a finished run.
func (s *RunState) FinalOutput() string {
	if s.empty() || s.frame.final == nil {
		return ""
	}
	return *s.frame.final
}

// Agent returns the name of the agent whose turn it is: the one the run was started with, or one it was handed to.
func (s *RunState) Agent() string {
	if s.empty() {
		return ""
	}
	return s.frame.agent
}

// Turn returns the number of model calls made so far, without those of agents used as tools.
func (s *RunState) Turn() int {
	if s.empty() {
		return 0
	}
	return s.frame.turn
}

// Usage returns what the run has cost so far, with everything inside it.
func (s *RunState) Usage() Usage {
	if s.empty() {
		return Usage{}
	}
	return s.usage
}

// Items returns the conversation: input, model items and outputs, oldest first, without the conversations of agents
// used as tools and without what handoffs with a filter put in its place. The caller must not modify it.
func (s *RunState) Items() []Item {
	if s.empty() {
		return nil
	}
	return s.frame.own(0)
}

// effectRun returns what the effect ids of the run are derived from.
func (s *RunState) effectRun() string {
	if s.series == 0 {
		return s.id
	}
	return s.id + "\x00" + strconv.Itoa(s.series)
}
