package bot

import (
	"fmt"

	"countersign/approvals"
)

// What forms say: titles, labels of inputs, hints below them, and what is wrong with what somebody typed. The form for
// standing answers has its words in words_always.go.

// Windows that say something and offer nothing.
const (
	wordsCountersign = "Countersign" // the title
	wordsOneMoment   = "One moment…"
)

// Inputs for a person's own words.
const (
	wordsWhyNot        = "Why not?"
	wordsReadyReason   = "A ready-made reason"
	wordsAgentIsTold   = "The agent is told."
	wordsYourComment   = "Your comment"
	wordsCommentKept   = "It is kept with your approval."
	wordsWhatCameOfIt  = "What came of it?"
	wordsReadAsResult  = "The agent reads this as the result of the call."
	wordsShouldKnow    = "What should the agent know?"
	wordsCallLeft      = "The call is left as it is. The agent is told."
	wordsYourAnswer    = "Your answer"
	wordsYourAnswers   = "Your answers"
	wordsOneOrMoreTold = "One or more. The agent is told."

	wordsWriteSomething   = "Write something."
	wordsWriteOrChoose    = "Write something, or choose a ready-made reason."
	wordsWriteAnAnswer    = "Write an answer."
	wordsChooseAnAnswer   = "Choose an answer."
	wordsQuestionUnread   = "This version cannot read the question."
	wordsQuestionRejected = "This version cannot read the question. It can be rejected."
)

// wordsReasons are ready-made reasons for a rejection. They are told to the agent as they stand.
var wordsReasons = []string{
	"Not now",
	"The arguments are wrong",
	"Not needed any more",
	"Too risky",
	"Talk to me first",
}

func wordsTooLong(most, n int) string {
	return fmt.Sprintf("This has %d characters, and at most %d fit. Shorten it.", n, most)
}

// Approving a call of high risk.

const wordsApproveThisCall = "Approve this call"

func wordsHighRiskApproval() phrase {
	return phrase{strong("High risk."), " Approve only if this is exactly what is to happen."}
}

// Filling in values.

const (
	wordsSend = "Send"

	wordsAsJSON         = "As JSON: a text stands in quotes."
	wordsYourTimeZone   = "In your own time zone."
	wordsProposed       = "Proposed by the model."
	wordsProposedSecret = "Secret. The model proposes a value; leave this empty to keep it."
	wordsProposedUnfit  = "The model proposes what cannot stand here, see above; leave this empty to keep it."
	wordsProposedLabel  = " (proposed by the model)"

	wordsFillThisIn     = "Fill this in."
	wordsFillInProposed = "Fill this in: left empty, the model's proposal would stand."
	wordsMustBeNumber   = "This must be a number, such as 250 or 12.5."
	wordsChooseTruth    = "Choose true or false."
	wordsJSONIncomplete = "it is incomplete."
)

func wordsOneOf(values string) string { return "One of " + values + "." }

func wordsMustBeJSON(mistake string) string { return "This must be JSON: " + mistake }

func wordsMistakeInLine(mistake string, line int) string {
	return fmt.Sprintf("%s in line %d.", mistake, line)
}

func wordsTooManyToFillIn(id approvals.RequestID) phrase {
	return phrase{"These values do not fit into a form. Fill them in on the command line: ",
		code("countersign approvals decide " + string(id) + " --input NAME=VALUE --as USER")}
}

// Changing the arguments of a call.

const (
	wordsAskAboutThis   = "Ask about this call"
	wordsNothingRuns    = "Nothing runs yet: the changed call is asked about anew, and counts as yours."
	wordsArgumentsJSON  = "Arguments as JSON"
	wordsLeftOut        = "Left empty, it is left out."
	wordsSecretKept     = "Secret. Leave it empty to keep the value that is there."
	wordsNotEditable    = "The arguments cannot be changed here."
	wordsMustBeAnObject = "The arguments must be a JSON object, in braces."
)

func wordsSecretsKept(names string) string {
	return "Secret, not shown and kept as they are unless you add them: " + names
}

func wordsTooLongToEdit(most int, id approvals.RequestID) phrase {
	return phrase{fmt.Sprintf("These arguments do not fit into a form, which holds %d characters. Change them on the "+
		"command line: ", most), code("countersign approvals decide " + string(id) + " --edit JSON --as USER")}
}

// Asking the requester something.

const (
	wordsAsk            = "Ask"
	wordsYourQuestion   = "Your question"
	wordsWriteAQuestion = "Write a question."
)

func wordsAskBackMeans(requester approvals.UserID) phrase {
	return phrase{requester, " reads the question in the thread. Nothing is decided by it. " +
		"I tell you what they answer me there."}
}

func wordsAskBackSent(requester approvals.UserID) phrase {
	return phrase{"Asked. I tell you when ", requester, " has answered."}
}

// Answering several calls together.
const (
	wordsApproveTogether = "Approve together"
	wordsTheseApproved   = "You approve these, each as it stands here:"
	wordsRejectTogether  = "Reject together"
	wordsTheseRejected   = "You reject these:"

	wordsAnsweredByItself = "It is answered by itself, on its own card."
	wordsTooLongHere      = "It is too long to be shown here. Answer it on its own card."
	wordsNoRoomHere       = "There is no room for it here. Answer it on its own card."
	wordsNoneHere         = "None of these calls can be answered here. "
	wordsNotAnswered      = "Not answered by this:"
	wordsAsCardsShow      = "Your answers are recorded as far as the cards show them."
)

// Callbacks.

const (
	wordsCallback        = "Callback"
	wordsCallbackReports = "A system that carries the call out reports its result here, once:"
	wordsCallbackToken   = "The token was made for you just now and is shown this once. It replaces the one before. " +
		"Whoever has it can provide the result."
)

// wordsNoToken is followed by why, a continuation of the sentence, or by nothing.
func wordsNoToken(why string) phrase { return phrase{"No token was made" + why + "."} }

// Cancelling a run.

func wordsRunCancelled() phrase {
	return phrase{"You have cancelled the run. The thread says what came of its calls."}
}

// wordsCannotCancel is followed by why, a continuation of the sentence, or by nothing.
func wordsCannotCancel(why string) phrase { return phrase{"You cannot cancel this run" + why + "."} }

func wordsNothingRunning() phrase { return phrase{"Nothing runs here any more."} }
