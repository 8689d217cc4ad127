package bot

import "countersign/approvals"

// What a card says once its request waits for nobody: how it ended, by whom, and what became of the call. Lists, the
// details and answers to a click that came too late say the same.

// wordsStatus is how a request stands.
func wordsStatus(s approvals.RequestStatus) string {
	switch s {
	case approvals.RequestPending:
		return "Pending"
	case approvals.RequestApproved:
		return "Approved"
	case approvals.RequestRejected:
		return "Rejected"
	case approvals.RequestExpired:
		return "Expired"
	case approvals.RequestCancelled:
		return "Cancelled"
	case approvals.RequestStale:
		return "Stale"
	case approvals.RequestSuperseded:
		return "Superseded"
	}
	return label(string(s), 40)
}

// wordsVerdict is a verdict in the past tense.
func wordsVerdict(v approvals.Verdict) string {
	switch v {
	case approvals.Approve, approvals.AlwaysApprove:
		return "approved"
	case approvals.Reject, approvals.AlwaysReject:
		return "rejected"
	case approvals.Retry:
		return "approved to run again"
	case approvals.MarkDone:
		return "marked as happened"
	case approvals.GiveUp:
		return "given up"
	case approvals.ProvideResult:
		return "result provided"
	case approvals.BreakGlass:
		return "approved in an emergency"
	case approvals.Edit:
		return "arguments changed"
	case approvals.ProvideInput:
		return "values filled in"
	case approvals.Answer:
		return "answered"
	}
	return label(string(v), 40)
}

// What stands in the place of a status that would say too little.
const (
	wordsAnsweredStatus = "Answered"
	wordsResultProvided = "Result provided"
	wordsValuesFilledIn = "Values filled in"
)

// What the verdict that settled the request adds.
const (
	wordsAlwaysInRun  = ", always, until this run ends"
	wordsAlwaysBefore = ", always, until a later answer took its place"
	wordsGrantFor     = ", giving a grant for later calls"
	wordsGrantAgainst = ", giving a grant against later calls"
	wordsToRunAgain   = ", to run again"
	wordsAsHappened   = ", as having happened"
	wordsAsGivenUp    = ", given up"
	wordsWithResult   = ", result provided"
	wordsInEmergency  = ", in an emergency, past the policy"
	wordsWithValues   = ", values filled in"
)

// How a request ended, on its card.

// wordsExpiredAt says why, and what to do next.
func wordsExpiredAt(at any, why, next string) phrase {
	return phrase{strong(wordsStatus(approvals.RequestExpired)), " ", at, ": " + why, " " + next}
}

// What to do about a request that has expired: the second where the call may have happened.
const (
	wordsAskAgain     = "Ask again to have it asked again"
	wordsFindOutFirst = "Find out whether it happened before you ask for it again"
)

func wordsSupersededBy(who phrase, at any) phrase {
	p := append(phrase{strong(wordsStatus(approvals.RequestStale)), ": changed"}, who...)
	return append(p, " ", at, " · ", strong(wordsNotRun), "; the new call has a card of its own")
}

const wordsAskedAgain = ". Asked again"

// wordsTheirAlways follows a person whose answer to another request settled this one too.
const wordsTheirAlways = "’s “always”"

// wordsToAnotherCall follows that with its time.
func wordsToAnotherCall(at any) phrase { return phrase{" of ", at, ", given to another call"} }

func wordsTakenFrom(request approvals.RequestID) phrase {
	return phrase{"By the answer for all calls of this tool, given to ", code(string(request)), "."}
}

func wordsArgumentsChangedBy(who approvals.UserID) phrase {
	return phrase{", arguments changed by ", who}
}

func wordsAskedForBy(who approvals.UserID) phrase { return phrase{", asked for by ", who} }

func wordsAfter(duration string) string { return ", after " + duration }

// Why nobody decided.
const (
	wordsNobodyAnswered   = "Nobody answered in time."
	wordsTooFewAnswered   = "Too few people answered in time. It will not run again."
	wordsNobodyFoundOut   = "Nobody answered in time. It will not run again."
	wordsNobodyProvided   = "Nobody provided a result in time."
	wordsNobodyFilledIn   = "Nobody filled in the values in time."
	wordsTooFewDecided    = "Too few people decided in time."
	wordsNobodyDecided    = "Nobody decided in time."
	wordsNotWhatWouldRun  = "What was shown is not what would run any more."
	wordsNotWhatIsAsked   = "What was shown is not what is asked any more."
	wordsAnswerDidNotHold = "the call is the same, and the answer to it did not hold any more"
	wordsUnchangedCall    = "The call itself is unchanged; the answer to it did not hold any more."
)

func wordsChangedAfterShown(what string) string { return what + " changed after it was shown" }

func wordsDiffersNow(what string) string { return "What differs now: " + what + "." }

const wordsTheArguments = "the arguments"

func wordsTheDefinition(parts string) string { return "the tool's definition" + parts }

func wordsAskedAgainAs(request approvals.RequestID) phrase {
	return phrase{"It is asked again: ", code(string(request))}
}

// What became of the call: one word for each outcome, which tests and people look for.
const (
	wordsRunning = "running"
	wordsRan     = "ran"
	wordsFailed  = "failed"
	wordsNotRun  = "not run"
	wordsUnknown = "unknown"

	wordsWaitsForTurn     = "waits for its turn"
	wordsCallAwaitsResult = "waits for its result"
	wordsAskedNext        = "is asked about next"
)

// The same in the second line of a card.

func wordsRunningNow() phrase { return phrase{" · ", strong(wordsRunning)} }

func wordsRanReported(by approvals.UserID) phrase {
	return phrase{" · ", strong(wordsRan), ", as ", by, " reports"}
}

func wordsRanAt(at any) phrase { return phrase{" · ", strong(wordsRan), " ", at} }

func wordsFailedAt(at any, numbers phrase) phrase {
	return append(append(phrase{" · ", strong(wordsFailed), " ", at}, numbers...), " (the agent was told)")
}

// wordsMayHaveActed follows that of a call whose answer leaves open what was done.
func wordsMayHaveActed() phrase { return phrase{"; it may have acted all the same"} }

func wordsNotRunAtAll() phrase { return phrase{" · ", strong(wordsNotRun)} }

func wordsRunCancelledFirst(by approvals.UserID) phrase {
	return phrase{": ", by, " cancelled the run first"}
}

func wordsUnknownWhether() phrase { return phrase{" · ", strong(wordsUnknown), " whether it ran"} }

// wordsTriedAgain follows what became of a call that people had tried again, because nothing was known of it.
func wordsTriedAgain() phrase {
	return phrase{wordsWhenTriedAgain + "; ", strong(wordsUnknown), " whether it ran before"}
}

const wordsSeeThread = "; the thread says more"

// The same as a sentence.

func wordsCallRunning() phrase { return phrase{"The call is ", strong(wordsRunning), "."} }

func wordsCallRanReported(by approvals.UserID) phrase {
	return phrase{"The call ", strong(wordsRan), ", as ", by, " reports."}
}

func wordsCallRan(at any, numbers phrase) phrase {
	return append(append(phrase{"The call ", strong(wordsRan), ", ", at}, numbers...), ".")
}

func wordsCallFailed(at any, numbers phrase) phrase {
	return append(append(phrase{"The call ", strong(wordsFailed), ", ", at}, numbers...), "; the agent was told.")
}

// wordsCallMayHaveActed follows that of a call whose answer leaves open what was done.
func wordsCallMayHaveActed() phrase { return phrase{" It may have acted all the same."} }

// wordsCallTriedAgain follows what became of a call when it was tried again.
func wordsCallTriedAgain() phrase {
	return phrase{" That was another try: it is ", strong(wordsUnknown), " whether it ran before."}
}

// wordsWhenTriedAgain follows a word for what became of the call.
const wordsWhenTriedAgain = " when tried again"

func wordsCallNotRun() phrase { return phrase{"The call was ", strong(wordsNotRun), "."} }

func wordsCallUnknown() phrase {
	return phrase{"It is ", strong(wordsUnknown), " whether the call ran."}
}

// wordsCallWaits is what a call waits for, as in a card, as a sentence.
func wordsCallWaits(what string) phrase { return phrase{"The call " + what + "."} }

func wordsCancelledFirst(by approvals.UserID) phrase { return phrase{by, " cancelled the run first."} }

func wordsAgentToldAnswer() phrase { return phrase{"The agent is told the answer."} }

func wordsNobodyWillAnswer() phrase { return phrase{"Nobody will answer; the agent is told."} }

// Where a result came from that no person gave.

func wordsResultByTrigger() phrase {
	return phrase{"The result came by the callback that was sent with the call; no person has looked at it."}
}

func wordsResultByCallback(of approvals.UserID) phrase {
	return phrase{"The result came by the callback that ", of, " had made; no person has looked at it."}
}

// Answers that did not become the outcome.

func wordsDidNotCount(who phrase, why string) phrase {
	return append(append(phrase{"The answer of "}, who...), " did not count: "+why+".")
}

// wordsEarlierDidNotCount is for somebody who has answered again since.
func wordsEarlierDidNotCount(who phrase, why string) phrase {
	return append(append(phrase{"An earlier answer of "}, who...), " did not count: "+why+".")
}

const (
	wordsForThisCallAlone = "For this call alone: "
	wordsNotAllAlways     = " answered always, and not everybody did."
	wordsTooFewAlways     = " answered always, and too few did for that."
	wordsForOthersAlways  = " answered always, and nobody gives a grant for somebody else."
	wordsNotSameAlways    = " answered always, on different conditions."
	wordsHadApproved      = "Had approved: "
	wordsHadRejected      = "Had rejected: "
)

// Reviews of emergency decisions.

const wordsAwaitsReview = "It waits for the review of somebody else who may decide it."

func wordsObjects(by approvals.UserID, why string) phrase {
	return phrase{"Reviewed by ", by, ", who objects: " + why}
}

func wordsAccepts(by approvals.UserID, why string) phrase {
	return phrase{"Reviewed by ", by, ", who accepts: " + why}
}

// What people wrote with their answers.

const (
	wordsReportsResult = " reports as the result:"
	wordsWrote         = " wrote:"
	wordsAnswers       = " answers:"
)

func wordsFilledIn(by approvals.UserID) phrase { return phrase{by, " filled in:"} }

// For somebody who came too late.
const (
	wordsAlreadyDecided  = "Already decided. "
	wordsAlreadySettled  = "Already settled. "
	wordsAlreadyAnswered = "Already answered. "
	wordsCameTooLate     = "This answer came too late and was not recorded. " // before what nobody has decided
)

func wordsPlaceTaken(by approvals.RequestID) phrase {
	return phrase{"Nothing was recorded: ", code(string(by)), " has taken the place of this request. "}
}

// wordsAskedAnew begins the line of a card whose question was asked anew. It leads to that question, which may have
// been answered since.
const wordsAskedAnew = "Asked anew: "
