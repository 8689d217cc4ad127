// Package oteltrace follows runs of agents for OpenTelemetry.
//
//	runner := &agent.Runner{Tracer: oteltrace.New(provider)}
//
// A run is a tree of spans: invoke_agent for the run and for each agent used as a tool, turn, chat for a call of a
// model, execute_tool, question and answer where people decide, handoff and guardrail. A context that already carries a
// span makes the run part of that trace. A run that pauses and is resumed, by this process or another, begins a span of
// its own that links to the one before; so does each answer.
//
// Names and attributes are those of the GenAI semantic conventions in version 1.41.0, the last release of the
// OpenTelemetry semantic conventions that holds them. Where they have no word, the attribute is one of this project's:
//
//	countersign.run.id               the run; the same in all its traces
//	countersign.turn                 the turn of the agent's conversation
//	countersign.tool.kind            an agent.ToolKind
//	countersign.interruption.id      the call in the run; the same for question, answer and execution
//	countersign.question.kind        confirm, outcome_unknown, input or external
//	countersign.question.attempt     which question about the outcome it is
//	countersign.verdict              of an answer, of what let a call run, of a guardrail, of a handoff
//	countersign.verdict.always       true: the verdict is that of a standing answer
//	countersign.guardrail.name
//	countersign.guardrail.stage      input, output, tool_input or tool_output
//	countersign.handoff.to           the agent that takes over
//	countersign.questions            how many questions were open and unanswered at the end
//
// Around runs (see the second group of kinds in package agent/trace) there are receive, acknowledge, follow_up, submit,
// decide, work and deliver, with attributes that all begin with countersign.: run.id, run.epoch, request.id, person.id,
// notification.id, audience, delivery.attempt, verdict, via and outcome.
//
// A span whose work failed has the status Error and error.type: one of the classes of package agent/trace, with _OTHER
// for those that have no class. A run that waits for people has not failed.
//
// No span holds arguments, outputs, instructions, messages or texts of errors.
package oteltrace
