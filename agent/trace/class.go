package trace

// The classes of errors that spans end with. An error with a method ErrorClass() string has a class of its own, if that
// is at most 64 letters, digits, dots, hyphens and underscores.
const (
	ClassCancelled      = "cancelled"       // the context was cancelled
	ClassTimeout        = "timeout"         // a deadline has passed
	ClassPanic          = "panic"           // the application's code panicked or ended its goroutine
	ClassFailed         = "failed"          // the tool says that its call did not succeed
	ClassMaxTurns       = "max_turns"       // agent.ErrMaxTurns
	ClassStopped        = "stopped"         // agent.ErrStopped
	ClassTripwire       = "tripwire"        // agent.ErrTripwire
	ClassModelBehavior  = "model_behavior"  // agent.ErrModelBehavior
	ClassStale          = "stale"           // agent.ErrStale
	ClassOutcomeUnknown = "outcome_unknown" // agent.ErrOutcomeUnknown
	ClassToolset        = "toolset"         // agent.ErrToolset
	ClassUnknownTool    = "unknown_tool"    // agent.ErrUnknownTool
	ClassUnknownAgent   = "unknown_agent"   // agent.ErrUnknownAgent
	ClassFatal          = "fatal"           // agent.ErrFatal
	ClassConfig         = "configuration"   // agent.ErrConfig
	ClassOther          = "other"           // any other error
)
