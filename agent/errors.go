package agent

import "errors"

// Facts a caller may branch on, with errors.Is.
var (
	// ErrUnknownAgent is returned when a state names an agent that the given agent graph does not have.
	ErrUnknownAgent = errors.New("unknown agent")
	// ErrUnknownTool is returned when a state holds an open call of a tool that its agent does not have.
	ErrUnknownTool = errors.New("unknown tool")
	// ErrUnknownInterruption is returned when an answer names no open interruption of the state.
	ErrUnknownInterruption = errors.New("unknown interruption")
	// ErrStale is returned when what was decided is no longer what would run. Nothing has run.
	ErrStale = errors.New("stale decision")
	// ErrOutcomeUnknown is returned by a Journal when an earlier execution may or may not have happened. A tool wraps
	// it when it cannot tell whether the call took effect. Either way the run interrupts with OutcomeUnknown.
	ErrOutcomeUnknown = errors.New("outcome unknown")
	// ErrModelBehavior is returned when a model's response breaks the protocol, for instance a call without an id.
	ErrModelBehavior = errors.New("model behavior")
	// ErrRefusal is given to RunOptions.OnError when the model refuses to answer. Without one, the refusal is the
	// answer.
	ErrRefusal = errors.New("model refusal")
	// ErrMaxTurns is returned when a run has used up its turns.
	ErrMaxTurns = errors.New("max turns exceeded")
	// ErrFatal, wrapped by a tool's error, ends the run instead of telling the model.
	ErrFatal = errors.New("fatal tool error")
	// ErrToolset is returned when a toolset cannot say what tools it has. Nothing has happened; trying again may help.
	ErrToolset = errors.New("toolset not available")
	// ErrStopped is returned when RunOptions.Stop asked the run to end between two turns. Resume goes on.
	ErrStopped = errors.New("stopped")
	// ErrTripwire is returned, wrapped in a *TripwireError, when a guardrail ended the run.
	ErrTripwire = errors.New("guardrail tripwire triggered")
	// ErrConversationGone is wrapped by the error of a model whose provider no longer has the conversation that a
	// request goes on from. Nothing was asked, as with ErrNotTaken. See RunState.ResendConversation.
	ErrConversationGone = errors.New("the provider no longer has the conversation")
	// ErrNotTaken is wrapped by the error of a model whose provider has not begun to answer a request: it has carried
	// out none of the calls of MCP servers that the request says are approved. Any other error leaves that open.
	ErrNotTaken = errors.New("the provider has not taken the request")
	// ErrConfig is returned when an agent, tool or runner is set up wrongly; the text says what to change.
	ErrConfig = errors.New("configuration")
)

// SchemaError says that a saved state cannot be read. Its text never contains data of the state.
type SchemaError struct {
	Version string // the version the data claims, if any
	Path    string // where in the document
	Reason  string
	// Newer says that a later version of this package has written the data: it is whole, and can be read there.
	Newer bool
}

func (e *SchemaError) Error() string {
	s := "run state"
	if e.Version != "" {
		s += " version " + e.Version
	}
	if e.Path != "" {
		s += " at " + e.Path
	}
	return s + ": " + e.Reason
}

// TripwireError says which guardrail ended a run, and in its words why.
type TripwireError struct {
	Guardrail string
	Agent     string
	Tool      string // empty for guardrails of an agent
	Message   string
}

func (e *TripwireError) Error() string {
	s := ErrTripwire.Error() + ": " + e.Guardrail + " of agent " + e.Agent
	if e.Tool != "" {
		s += ", tool " + e.Tool
	}
	if e.Message != "" {
		s += ": " + e.Message
	}
	return s
}

// Unwrap returns ErrTripwire.
func (e *TripwireError) Unwrap() error { return ErrTripwire }
