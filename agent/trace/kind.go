package trace

// Kind says what a span measures.
type Kind string

// The kinds of spans. What is listed with each are the keys of its attributes; those that do not apply are left out.
const (
	// Run is one Run or Resume. It links to the run's span before, when the state was resumed. Run, agent,
	// provider, model, conversation; at its end questions, and the tokens of this Run or Resume.
	Run Kind = "run"
	// Agent is the conversation of an agent that is used as a tool, as far as it gets at a time. Agent,
	// provider, model, tool, call; at its end questions.
	Agent Kind = "agent"
	// Turn is a model call with the calls that it leads to, or what is left to do about those calls after a pause.
	// Agent, turn.
	Turn Kind = "turn"
	// Model is a model call. Agent, turn, provider, model, conversation, stream; at its end response and tokens.
	Model Kind = "model"
	// Tool is the execution of a tool; rejected calls have none, nor have agents used as tools. Agent, turn, tool,
	// tool kind, call, interruption, always; verdict: free, review (free, to be looked at afterwards) or approved.
	Tool Kind = "tool"
	// Question is the moment in which people are asked about a call, and Answer the one in which the run goes
	// on with their answer; it links to the run's span before, if they were asked there. Agent, turn, tool, tool kind,
	// call, interruption, question, attempt; of an answer also always, and verdict: approved, rejected, or output
	// (people told what came of the call).
	Question Kind = "question"
	Answer   Kind = "answer"
	// Handoff is a handoff, with its OnHandoff and Filter. Agent, turn, to; at its end verdict: done or refused.
	Handoff Kind = "handoff"
	// Guardrail is a check by a guardrail. Agent, stage; of a tool's also tool and call. At its end verdict: allow,
	// replace, ask_again or trip.
	Guardrail Kind = "guardrail"
)

// The kinds of spans around runs, for a program that takes in what people do and shows them what comes of it: see
// Begin.
const (
	// Receive is what somebody did, from its arrival to its acknowledgement; Name says what: a message, a click, a
	// command. It begins a trace. At its end outcome.
	Receive Kind = "receive"
	// Acknowledge is the answer that lets the sender forget what was received.
	Acknowledge Kind = "acknowledge"
	// FollowUp is what is said to somebody about what was received, once that is acknowledged.
	FollowUp Kind = "follow_up"
	// Submit records that a run is wanted. Agent, person; at its end run and outcome.
	Submit Kind = "submit"
	// Decide records what a person answers. Request, person, verdict, via; at its end run and outcome.
	Decide Kind = "decide"
	// Work is what a worker does with a run between two pauses; the Run lies inside. It is part of the trace of
	// what woke the run. Run, agent, epoch; at its end outcome: how the run stands.
	Work Kind = "work"
	// Deliver is one attempt to show something; Name says what. It is part of the trace of what made it, and links
	// to the others that it stands for. Run, request, notification, audience, delivery; at its end outcome:
	// delivered, put_off (to be tried again), or undeliverable.
	Deliver Kind = "deliver"
	// Timer is what the time of a request sets off. It begins a trace, and links to the one of the request's run.
	// Request, run; at its end outcome: reminded, escalated, expired, or nothing.
	Timer Kind = "timer"
	// Send is one attempt to hand a call to the system that carries it out; Name is the tool. It is part of the trace
	// of what woke the run. Run, request, agent, tool, delivery; at its end outcome: how the sending stands.
	Send Kind = "send"
)
