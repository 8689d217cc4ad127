package agent

import (
	"context"
	"encoding/json"
)

// Effect describes one execution of a tool before it happens.
type Effect struct {
	ID           string // ToolCall.EffectID
	Interruption string // Interruption.ID the call has, or would have had
	Call         ToolCall
	Definition   Digest
	Digest       Digest
	// Idempotent says that it may be begun although an intent without an output is there: the tool is idempotent, an
	// agent only begins, or this process knows that nothing has come of the intent.
	Idempotent bool
	Tool       *Tool // what is about to run, as it is now; not to be modified
	// Decided says that this very call was approved, by people or, with Program, by Tool.OnApproval; Always that a
	// decision with Always covers it. With neither, the gate let the call through.
	Decided, Always bool
	// Program says that a program decided the call: no person has seen it.
	Program bool
	// Review says that the gate would have asked but only wants the call looked at afterwards; see Tool.Audit.
	Review bool
	// Preconditions are what Tool.Preconditions said; Original are the arguments that the model wrote, when a person
	// changed them.
	Preconditions []string
	Original      json.RawMessage
	// Retry says that a person asked to run it again although an earlier execution has an unknown outcome. Attempt
	// counts how often that was asked; it is zero for the first execution. A retry may itself be cut off by a crash:
	// when an intent with the same Attempt is recorded already, the permission is used up, and the answer is
	// ErrOutcomeUnknown again.
	Retry   bool
	Attempt int
}

// Prior is what a Journal knows of an effect from before an intent. The zero Prior: it was never begun.
type Prior struct {
	// Output is what came of the effect; nil: it is not done.
	Output *ToolOutput
	// Begun says that an earlier intent has no output: the effect may have happened, and happens once more because it
	// is Idempotent or a Retry. That it fails this time says nothing about that one.
	Begun bool
}

// Journal records executions around the moment they happen, so that a crash cannot repeat them. The runner calls
// Intent right before and Done right after Tool.Invoke, possibly from several goroutines at once.
type Journal interface {
	// Intent records that the effect is about to happen, and returns what is known of it from before. Where that is an
	// output, the effect is done already: the output is used and nothing runs. Otherwise it goes ahead.
	// ErrOutcomeUnknown means that an earlier intent has no output and must not be repeated: the runner interrupts with
	// OutcomeUnknown. ErrStale means that the decision no longer holds: the runner drops it and asks again. Any other
	// error ends the run before anything happened.
	Intent(ctx context.Context, e Effect) (Prior, error)
	// Done records the output, once for each Intent that let the effect go ahead. An error ends the run; the effect has
	// happened.
	Done(ctx context.Context, e Effect, out ToolOutput) error
}
