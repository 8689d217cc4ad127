package agent

import "encoding/json"

// RunState is a run between two steps: conversation, turn, open calls, decisions, usage. It is not safe for
// concurrent use. It can be written with MarshalJSON in one piece, or with Delta as a head and append-only chunks.
type RunState struct{}

// Delta is what changed in a state since it had From items: a new head, and the items appended since.
// Writing a delta costs time and space in proportion to what is new, not to the length of the run.
type Delta struct {
	Head  json.RawMessage // replaces the head stored before
	From  int             // number of items stored before
	Count int             // number of items appended
	Items json.RawMessage // JSON array of the appended items; nil when Count is 0
}

// Interruptions returns the open questions in the model's order, including those decided but not yet resumed.
func (s *RunState) Interruptions() []Interruption { return nil }

// Undecided returns the open questions without an answer.
func (s *RunState) Undecided() []Interruption { return nil }

// Approve records that in may run. It returns ErrUnknownInterruption when in is not open in this state, and ErrStale
// when in's digest is not the open call's. The last decision for a call stands until it is resumed.
func (s *RunState) Approve(in Interruption, opts ApproveOptions) error { return ErrConfig }

// Reject records that in must not run. Errors as for Approve.
func (s *RunState) Reject(in Interruption, opts RejectOptions) error { return ErrConfig }

// Rebind compares the open calls with the tools that the agents have now. Calls whose definition or validated
// arguments changed lose their decision and get a new digest; they are returned. Without Rebind, Resume refuses such a
// state with ErrStale.
func (s *RunState) Rebind() []Interruption { return nil }

// Finished reports whether the run has its final output.
func (s *RunState) Finished() bool { return false }

// FinalOutput returns the answer of a finished run.
func (s *RunState) FinalOutput() string { return "" }

// Turn returns the number of model calls made so far.
func (s *RunState) Turn() int { return 0 }

// Usage returns what the run has cost so far.
func (s *RunState) Usage() Usage { return Usage{} }

// Items returns the conversation: input, model items and outputs, oldest first. The caller must not modify it.
func (s *RunState) Items() []Item { return nil }

// InputItems returns how many of Items were the run's input.
func (s *RunState) InputItems() int { return 0 }

// Delta returns what is new since the state had from items.
func (s *RunState) Delta(from int) (Delta, error) { return Delta{}, ErrConfig }

// MarshalJSON writes the whole state in the current schema version.
func (s *RunState) MarshalJSON() ([]byte, error) { return nil, ErrConfig }

// DecodeRunState reads a state of any released schema version. root is the agent the run was started with. It
// returns a *SchemaError for data it cannot trust, ErrUnknownAgent and ErrUnknownTool when the agents have changed.
func DecodeRunState(data []byte, root *Agent) (*RunState, error) { return nil, ErrConfig }

// AssembleRunState reads a state from its stored parts: the newest head and the chunks of items in order. Errors as
// for DecodeRunState; items beyond the head's count are dropped, missing ones are a *SchemaError.
func AssembleRunState(head json.RawMessage, chunks []json.RawMessage, root *Agent) (*RunState, error) {
	return nil, ErrConfig
}
