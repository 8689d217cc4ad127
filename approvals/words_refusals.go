package approvals

import "fmt"

// Why somebody's answer, or what else they ask for, is not taken. The terms of answers for later calls have a file of
// their own.

// Who may not.

const (
	wordsOfOtherWorkspace = "of another workspace"
	wordsNoMember         = "not a regular member of the workspace"
	wordsOwnRequest       = "the requester does not decide about their own request"
	wordsOwnArguments     = "who changed or filled in the arguments does not decide about them"
)

func wordsNobodyOf(who UserID, ws WorkspaceID) string {
	return fmt.Sprintf("%q is nobody of workspace %s; give the id of one of its people", who, ws)
}

func wordsNoApprover(policy string) string { return "not an approver under " + policy }

func wordsNobodyCan(policy string) string {
	return "nobody can approve under " + policy + "; an operator can name approvers there"
}

func wordsFrozen(policy, until, but string) string {
	return fmt.Sprintf("%s is frozen until %s%s; it can be rejected", policy, until, but)
}

const wordsForAllBut = " for all but " // behind wordsFrozen's until

// wordsNoDelegate names nobody: where it stands, both people are named.
const wordsNoDelegate = "not the delegate of that person now"

func wordsForWhom(names string) string {
	return "a delegate of " + names + ", and for whom of them was not said; use " +
		"countersign approvals decide … --for USER"
}

func wordsNobodyFor(who, by UserID) string {
	return fmt.Sprintf("%q is nobody for whom %s could decide; name somebody else of the workspace", who, by)
}

const wordsAsCallback = "nobody decides in the name of a callback; give the id of a person"

// Too late.

const (
	wordsShownOtherwise   = "what was shown is not what the request holds; look at it again"
	wordsNotAskedAnyMore  = "the run does not ask about this call any more"
	wordsToolChanged      = "the tool was changed after this was asked; it is asked again"
	wordsSettledMeanwhile = "what it waited for has been settled meanwhile"
)

func wordsExpiredAt(t string) string { return "there was time until " + t }

func wordsItIs(status RequestStatus) string { return fmt.Sprintf("it is %s", status) }

func wordsAnswered(who string) string { return who + " has answered already; one answer per person" }

func wordsAnsweredFor(by, who string) string {
	return by + " has answered for " + who + " already; one answer per person"
}

// What does not fit the request.

func wordsTakesOthers(v Verdict, takes string) string {
	return fmt.Sprintf("it is not answered with %q; it takes %s", v, takes)
}

func wordsGoesWith(what string, v Verdict) string {
	return fmt.Sprintf("%s go with %q, and only with it", what, v)
}

const (
	wordsNoRequest    = "no request is named; give the id of one"
	wordsNoKey        = "it has no key by which it would be known again"
	wordsWhatHappened = "say what happened, for the agent"

	wordsRecordedBefore = "this answer is recorded already, as it was sent first; what is different now is not taken"
)

func wordsDecisionIDUsed(id DecisionID) string {
	return fmt.Sprintf("decision id %s was used for another answer", id)
}

// What is empty, too long or no text.

func wordsEmpty(what string) string { return "the " + what + " is empty; write one" }

func wordsNotText(what string) string { return "the " + what + " is no text: it is not UTF-8" }

func wordsTooManyCharacters(what string, most int) string {
	return fmt.Sprintf("the %s has more than %d characters; write a shorter one", what, most)
}

func wordsReasonUnusable(most int) string {
	return fmt.Sprintf("a reason is UTF-8 text of at most %d characters", most)
}

// Several requests together.

func wordsBatchVerdict(v Verdict) string {
	return fmt.Sprintf("several requests are approved or rejected together; give %q to each by itself", v)
}

const wordsBatchEmpty = "no request is named; name those that are answered"

func wordsBatchTooLong(most, n int) string {
	return fmt.Sprintf("%d requests are answered together at most, not %d; answer them in parts", most, n)
}

// Why a request is not answered together with others.
const (
	wordsAloneOutcome  = "it asks what became of a call; find out first, then answer it by itself"
	wordsAloneQuestion = "it is a question of an agent; answer it by itself"
	wordsAloneResult   = "it asks for the result of a call; answer it by itself"
	wordsAloneMore     = "it asks for more than yes or no; answer it by itself"
	wordsAloneRisk     = "it is of high risk; answer it by itself"
	wordsAlonePart     = "the call was not shown whole; answer it by itself"
)

// Emergency decisions, and their reviews.

const (
	wordsNoEmergencyHere   = "only a call that waits for approval is decided past its policy, and this is none"
	wordsNoBreakGlass      = "the agents file has no break_glass; an operator can name people there"
	wordsNotInBreakGlass   = "break_glass of the agents file names other people"
	wordsWhyNoTime         = "say why there is no time for the answers that the policy demands"
	wordsEmergencyForOther = "nobody breaks the glass for somebody else"

	wordsReviewWhy         = "say why"
	wordsNothingToReview   = "nobody has decided it past its policy, so there is nothing to review"
	wordsReviewOwnDecision = "whoever broke the glass does not review that; somebody else who may decide it does"
	wordsReviewOwnRequest  = "the requester does not review it; somebody else who may decide it does"
)

func wordsReviewVerdict(v ReviewVerdict) string {
	return fmt.Sprintf("a review accepts or objects, not %q", v)
}

func wordsReviewed(by string) string { return by + " has reviewed it already" }

// Changed arguments, and values that are filled in.

const (
	wordsSameArguments  = "these are the arguments that the call has already; change one, or approve it as it is"
	wordsValuesToFillIn = "values to fill in"
	wordsInputNoObject  = "the values to fill in are not a JSON object"
)

func wordsArgumentsTooLong(most int) string {
	return fmt.Sprintf("arguments and values to fill in have more than %d bytes together", most)
}

func wordsMustBeFilledIn(name string) string { return fmt.Sprintf("%q must be filled in", name) }

func wordsNobodyCouldApprove(why string) string {
	return "nobody could approve the changed call: " + why + "; reject it instead and say why"
}

func wordsNamedByBoth(policy, earlier string) string {
	return "whoever answers must be named by " + policy + " and by " + earlier + ", and too few people are"
}

// Secret values.

const (
	wordsNothingSecret = "none of its arguments is secret"
	wordsSecretsBefore = "secret values are shown to those who have yet to answer; one answer per person"
	wordsSecretUnseen  = "it is of high risk, and whoever approves it has to have seen its secret values; have them " +
		"shown (Show details, then Show secret values; or approvals show ID --reveal --as USER), and approve it then"
)

// Answers to questions of agents.

const (
	wordsQuestionUnreadable = "this version of the program cannot read the question"
	wordsOneAnswer          = "the question has no options; give one answer"
	wordsOneOption          = "one of the options is the answer, not several; choose one"
)

func wordsNoOption(answer, options string) string {
	return answer + " is none of the options, which are " + options
}

func wordsGivenTwice(answer string) string { return answer + " is given twice; give it once" }

// Questions to the requester, and their answers.

const (
	wordsAsksThemselves = "the requester has nobody to ask back"
	wordsNoOpenQuestion = "no question is open"
)

func wordsAskedOften(who string, times int) string {
	return fmt.Sprintf("%s was asked %d times already; approve it, or reject it and say why", who, times)
}

func wordsOtherWasAsked(who string) string { return "the question was put to " + who }

// Results from outside.

const (
	wordsNoPublicURL = "callbacks need COUNTERSIGN_PUBLIC_URL, where results arrive; set it and start the bot again, " +
		"or provide the result by hand"
	wordsTokenOnItsWay = "the call is being sent with a token of its own, which a new one would replace; try again " +
		"when the card says what came of that"
	wordsNoResultAwaited = "it waits for no result from outside"
	wordsNoCallback      = "no such callback"
	wordsResultEmpty     = "the result is empty; say what came of the call"
)

func wordsResultTooLong(most, n int) string {
	return fmt.Sprintf("a result has at most %d bytes, and this one has %d", most, n)
}

func wordsIssuerAnswered(who string) string {
	return who + ", who had the token made, has answered otherwise"
}

// Runs.

const (
	wordsMembersAsk     = "only members of this channel may ask here"
	wordsOthersAsk      = "not among the people who may ask here"
	wordsNothingAsked   = "it has no text; say what to do"
	wordsNoPlace        = "it does not say where the answer goes"
	wordsNotTheirRun    = "neither the requester nor an approver of what it waits for"
	wordsDirectIsTheirs = "a direct conversation is its requester's alone"
	wordsHasItsAnswer   = "it has its answer; ask again in its conversation"
	wordsRunsOfPerson   = "runs of one person at a time, and no more"
	wordsRunsInOnePlace = "runs in one channel at a time, and no more"
)

func wordsNoSuchAgent(name string) string { return fmt.Sprintf("the agent %q cannot be used", name) }

func wordsMessageTooLong(most, n int) string {
	return fmt.Sprintf("it has %d bytes, and at most %d are taken; say it in fewer words", n, most)
}

func wordsQueueFull(n int) string { return fmt.Sprintf("%d messages wait here already", n) }

func wordsRunsAtATime(n int, whose string) string { return fmt.Sprintf("%d %s", n, whose) }

func wordsNotEnded(status RunStatus) string {
	return fmt.Sprintf("it is %s; cancel it first, or wait for its end", status)
}

func wordsRetriedAs(id RunID) string { return fmt.Sprintf("it goes on as %s", id) }

func wordsRetryWaits(by string) string {
	return "by " + by + "; it waits for the run that is under way there"
}
