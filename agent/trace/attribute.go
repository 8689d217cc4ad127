package trace

// The keys of spans' attributes.
const (
	AttrRun             = "run"              // string: the run's id
	AttrAgent           = "agent"            // string: the name of the agent whose work it is
	AttrTurn            = "turn"             // int: of the agent's conversation, from 1
	AttrProvider        = "provider"         // string: see agent.Model
	AttrModel           = "model"            // string: see agent.Model
	AttrConversation    = "conversation"     // string: the id of the conversation that the provider keeps
	AttrStream          = "stream"           // bool: the answer is read while it arrives
	AttrResponse        = "response"         // string: the provider's id of the answer
	AttrInputTokens     = "input_tokens"     // int
	AttrCachedTokens    = "cached_tokens"    // int: of the input
	AttrOutputTokens    = "output_tokens"    // int
	AttrReasoningTokens = "reasoning_tokens" // int: of the output
	AttrTool            = "tool"             // string: the tool's name
	AttrToolKind        = "tool_kind"        // string: an agent.ToolKind
	AttrCall            = "call"             // string: the provider's id of the call
	AttrInterruption    = "interruption"     // string: agent.Interruption.ID, also of a call nobody was asked about
	AttrQuestion        = "question"         // string: an agent.InterruptionKind
	AttrAttempt         = "attempt"          // int: agent.Interruption.Attempt
	AttrVerdict         = "verdict"          // string: see the kinds of spans
	AttrAlways          = "always"           // bool: the verdict is that of a standing answer
	AttrStage           = "stage"            // string: a guardrail.Stage
	AttrTo              = "to"               // string: the name of the agent that takes over
	AttrQuestions       = "questions"        // int: open questions that nobody has answered
	AttrRequest         = "request"          // string: the id of a request for approval
	AttrPerson          = "person"           // string: the id of who did it
	AttrVia             = "via"              // string: the way an answer came
	AttrNotification    = "notification"     // string: the id of an entry of the outbox
	AttrAudience        = "audience"         // string: place, dm, channel or home
	AttrEpoch           = "epoch"            // int: which claim of the run it is
	AttrDelivery        = "delivery"         // int: which attempt in a row to deliver it is, from 1
	AttrOutcome         = "outcome"          // string: what became of it, in a word
)
