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
//     a digest of the tool's definition, of the canonical arguments and of the call's preconditions, and compared again
//     right before execution.
//   - Arguments are decoded strictly. What cannot be decoded, or is not valid under the tool's schema, is never asked
//     about and never runs; the model reads the error. Nor does anything run that is not understood in an answer.
//   - Calls that need no approval run at once, in parallel, also when siblings wait. The model is called again only
//     when no call of the turn is open.
//   - With a [Journal], an effect happens at most once even when the process dies between the effect and its record.
//   - A context that ends interrupts the work. Whatever fails because of that is asked again when the run goes on; it
//     is never taken for an answer.
//   - A [trace.Tracer] is told what takes how long, and of questions and answers, and never gets arguments, outputs or
//     texts.
//
// Out of scope are namespaces of tools, tools that a model searches for at this side, and tools that only programs
// written by a model may call: a tool has one name, and what a model asks for beyond that is refused in words.
//
// The package imports the standard library only, knows no storage and no chat platform, and starts no goroutine that
// outlives a call.
//
// # Words
//
//	definition     what a tool is: kind, name, description, schema, version, attributes. Tool.Digest is its digest
//	attributes     what of the definition the model does not see, such as where a tool acts
//	preconditions  what a decision about one call depends on beyond its arguments, looked up again before it runs
//	field          a property of the arguments that a person fills in
//	input          what users say to a run, at its start or later
//
// # Files
//
// A call's way is: run_model and run_response read it from an answer, run_decide says what is done next about it,
// run_query and run_consult ask the application's code, run_settle applies the steps, run_execute runs what may run
// side by side, run_perform runs one call between its two journal entries, run_guard holds the guardrails around it.
// What it is meanwhile is in call, call_states and frame_calls.
//
//	agent tool newtool handoff guardrail model session journal hooks event errors digest
//	       what a user configures
//	item   what a conversation consists of
//	run    the loop
//	call frame
//	       open calls, conversations
//	state  RunState: questions, answers, JSON
//
// What only some programs need is beside it: trace is what a Tracer is told, guardrail what guardrails decide,
// toolstatus how a call ended, history has functions on conversations, rawtool makes tools of JSON Schemas, asktool one
// by which the model asks people.
//
// Below internal, shape turns Go types into JSON Schema, and strictjson reads and changes JSON.
package agent
