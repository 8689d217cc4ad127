// Package agent runs language-model agents whose tool calls can wait for people.
//
// An [Agent] is a model, instructions and [Tool]s. A [Runner] executes it: it calls the model, runs the tools the
// model asks for, and stops with [Interruption]s when a call needs an answer first. The paused run is a [RunState]:
// a plain value that can be written as JSON, kept for a minute or a month, read back by another process, answered
// with [RunState.Approve] and [RunState.Reject], and continued with [Runner.Resume] exactly where it stopped. No
// goroutine, timer or connection exists while a run waits.
//
// What a caller may rely on:
//
//   - A call that needs approval never runs without a decision recorded for that very call: the decision is bound to
//     a digest of the tool's definition and of the canonical arguments, and compared again right before execution.
//   - Arguments are decoded strictly. What cannot be decoded, or is not valid under the tool's schema, is never asked
//     about and never runs; the model reads the error.
//   - Calls that need no approval run at once, in parallel, also when siblings wait. The model is called again only
//     when no call of the turn is open.
//   - With a [Journal], an effect happens at most once even when the process dies between the effect and its record.
//   - A [Tracer] is told what takes how long, and of questions and answers, and never gets arguments, outputs or texts.
//
// The package imports the standard library only, knows no storage and no chat platform, and starts no goroutine that
// outlives a call.
package agent
