package agent

import (
	"context"
	"log/slog"
)

// DefaultMaxTurns bounds a run when Runner.MaxTurns is zero.
const DefaultMaxTurns = 10

// Runner executes agents. The zero value is usable; a Runner may run many agents at once.
type Runner struct {
	// MaxTurns bounds the model calls of a run. Zero: DefaultMaxTurns for Run, the state's own limit for Resume.
	// Negative: no limit.
	MaxTurns int
	// Session is the conversation's memory; nil means none.
	Session Session
	// Journal makes effects happen at most once. Nil: kept in memory, inside the RunState's lineage in this process.
	Journal Journal
	// Checkpoint receives what changed since the last checkpoint: after every model response and before anything of it
	// runs, and when outputs arrive. It is called from one goroutine at a time; its error ends the run.
	Checkpoint func(ctx context.Context, d Delta) error
	// Context is handed to gates and tools; nil means an empty one with a random id.
	Context *RunContext
	// Logger receives operational messages, never arguments or outputs. Nil: none.
	Logger *slog.Logger
}

// Result is where a run stands when Run or Resume returns.
type Result struct {
	// State is the run as it stands; never nil. Encode it to resume later.
	State *RunState
	// Interruptions are the open questions, in the model's order; empty when the run is finished.
	Interruptions []Interruption
	// FinalOutput is the answer; empty while interrupted.
	FinalOutput string
	// NewItems are the items that this Run or Resume added, in order.
	NewItems []Item
}

// Run starts a with the input and goes on until the agent answers or every open call waits. When err is not nil the
// result, if not nil, holds the state as far as it got.
func (r *Runner) Run(ctx context.Context, a *Agent, input ...Item) (*Result, error) {
	return nil, ErrConfig
}

// Resume continues s with the decisions recorded in it. a is the agent the run was started with. Calls without a
// decision stay open; when any is left, the result is interrupted again and the model was not called. A finished
// state returns its output again, without a model call.
func (r *Runner) Resume(ctx context.Context, a *Agent, s *RunState) (*Result, error) {
	return nil, ErrConfig
}
