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
