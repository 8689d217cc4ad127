package approvals

import (
	"fmt"
	"strings"
	"time"
)

// What a conversation is told beside cards and answers: notices. They are stored in the outbox as they stand here, so
// one of an older release is shown as it was worded. Those whose comments say so continue a sentence that begins with a
// person, whom the surface names.

// Ends of runs.

const (
	wordsRunCancelled = "The run was cancelled."
	wordsCancelledRun = "cancelled the run." // of a person
	wordsRunExpired   = "The run was cancelled. A request for approval expired."
	wordsNoAnswer     = "The agent has finished without an answer."
	wordsAppRemoved   = "The run was stopped: the app was removed from the workspace or its token revoked."

	wordsRanBefore        = "Carried out before that: "
	wordsAnotherTry       = "that was another try: it is unknown whether it ran before"
	wordsFailedBefore     = "Failed before that: "
	wordsStillRunningNow  = "Still running: "
	wordsToldLater        = "; what comes of it will be told here."
	wordsUnknownWhether   = "Unknown whether it was carried out: "
	wordsNobodyReported   = "Nobody has reported a result, and it is unknown whether somebody has carried it out: "
	wordsNotCarriedOut    = "Not carried out: "
	wordsStoppedWithIt    = "It was stopped when the run ended."
	wordsNotTakenAnyMore  = "It was cut off, and its tool does not take it any more: nobody is asked."
	wordsProviderSilent   = "The model's provider was told to do so, and its answer does not say what came of it."
	wordsNothingHeard     = "It was running when the run ended, and nothing was heard of it since."
	wordsMessagesDeleted  = "Earlier messages of this conversation were deleted because of their age. I begin anew."
	wordsWaitsForOtherRun = " It waits for the run that is under way here."
)

// wordsForReason is a sentence with the reason that a person gives, in quotes.
func wordsForReason(sentence, quoted string) string {
	return strings.TrimSuffix(sentence, ".") + ": " + quoted + "."
}

func wordsTimes(name string, n int) string { return fmt.Sprintf("%s (%d times)", name, n) }

// wordsStartedAgain is of a person.
func wordsStartedAgain(failed bool, old RunID, more string) string {
	how := "was cancelled"
	if failed {
		how = "failed"
	}
	return fmt.Sprintf("started the run again that %s (%s). What its calls did stays done.%s", how, old, more)
}

// What came of calls late. did is a verb.

func wordsFinishedLate(call string, did Outcome, numbers string) string {
	return fmt.Sprintf("%s, which was still running when the run ended, has finished: it %s%s.", call, did, numbers)
}

func wordsFoundLate(call string, did Outcome, numbers string) string {
	return fmt.Sprintf("%s, of which nothing was known, has finished after all: it %s%s.", call, did, numbers)
}

func wordsFoundOtherwise(call string, did Outcome, numbers string) string {
	return fmt.Sprintf("%s, which somebody had marked as done, has finished after all: it %s%s.", call, did, numbers)
}

// Emergency decisions. Both are of a person.

func wordsBrokeGlass(tool, policy, reason string, id RequestID) string {
	return fmt.Sprintf("broke the glass: %s may run now, without the answers that %s demands. The reason given: %s "+
		"Somebody else who may decide it has to review that: "+
		"countersign approvals review %s --accept (or --object) --reason TEXT --as USER", tool, policy, reason, id)
}

func wordsHasReviewed(objects bool, id RequestID, reason string) string {
	word := "accepts"
	if objects {
		word = "objects to"
	}
	return fmt.Sprintf("has reviewed and %s the emergency decision about %s: %s", word, id, reason)
}

// Results by callback that were not taken.

func wordsResultOfNobody(tool string, id RequestID) string {
	return fmt.Sprintf("A result of %s (%s) came by its callback and was not taken: whoever had its token "+
		"made may not provide it any more. Somebody who may can provide the result, or have a new token made.",
		tool, id)
}

func wordsResultTooLate(tool string, id RequestID, result string) string {
	return fmt.Sprintf("A result of %s (%s) came by its callback after that request had ended, and was not taken. "+
		"It says: %s", tool, id, result)
}

// Calls that are sent to another system.

func wordsSentUnknown(tool string, id RequestID, now string) string {
	return fmt.Sprintf("%s (%s), of which nothing was known: %s", tool, id, now)
}

func wordsNotSent(tool string, id RequestID, now string) string {
	return fmt.Sprintf("%s (%s): %s The agent waits for a result all the same: somebody can find out and "+
		"provide it, or reject the call.", tool, id, now)
}

// Grants.

func wordsNoGrantForOther(tool string) string {
	return "No grant was made for " + tool + ": somebody decided for another person, and nobody gives " +
		"a grant for somebody else. Their answer is for this call alone."
}

func wordsNoGrantAgreed(tool string) string {
	return "No grant was made for " + tool + ": those who decided asked for different conditions. " +
		"Their answer is for this call alone."
}

// wordsGrantGiven is of a person. names are the arguments that it is bound to, empty for none; so is uses 0.
func wordsGrantGiven(deny bool, others int, tool, where, names string, uses int, until time.Time, id GrantID) string {
	text := "has approved later calls too, and nobody is asked about them"
	if deny {
		text = "has rejected later calls too"
	}
	if others > 0 {
		text += fmt.Sprintf(" together with %d other%s", others, plural(others))
	}
	text += ": " + tool + " " + where
	if names != "" {
		text += ", bound to " + names
	}
	if uses > 0 {
		text += fmt.Sprintf(", at most %d of them", uses)
	}
	return text + fmt.Sprintf(", until %s. The grant is %s and can be revoked.", until.UTC().Format(wordsTimeUTC), id)
}

// wordsGrantRevoked is of a person, or of wordsAnOperator.
func wordsGrantRevoked(deny bool, id GrantID, tool string) string {
	if deny {
		return fmt.Sprintf("has revoked grant %s, which rejected calls of %s. Later calls are asked about again.",
			id, tool)
	}
	return fmt.Sprintf("has revoked grant %s for %s. Later calls are asked about again.", id, tool)
}

// wordsClockWasAhead is kept with the grant.
const wordsClockWasAhead = "The clock was ahead when it was given, so that nobody can tell how old it is."

func wordsGrantOfWrongClock(id GrantID, tool string) string {
	return fmt.Sprintf("Grant %s for %s has ended: the clock was ahead when it was given, so that nobody can tell how "+
		"old it is. Later calls are asked about again.", id, tool)
}

const wordsAnOperator = "An operator "

func wordsCallsUnderGrant(n int, tool string, id GrantID) string {
	return fmt.Sprintf("%d call%s of %s under grant %s", n, plural(n), tool, id)
}

func wordsNobodyAsked(about string) string { return "Nobody was asked about " + about + "." }

func wordsDenied(tool string, id GrantID) string {
	return fmt.Sprintf("%s was not carried out: grant %s rejects such calls.", tool, id)
}

// Questions to the requester, and their answers. Both are of a person.

// AnswerInThread ends what a requester is told who is asked back in a thread. A surface that tells them elsewhere
// leaves it out, and takes their answer to AnswerBack.
const AnswerInThread = "Answer in this thread and mention me; the call waits until then."

const wordsAnswerHere = "Answer here; the call waits until then."

func wordsAsksBack(tool string, id RequestID, question, how string) string {
	return fmt.Sprintf("asks before deciding about %s (%s): %s\n%s", tool, id, question, how)
}

func wordsAnswersBack(answer, question, tool string, id RequestID) string {
	return fmt.Sprintf("answers: %s\nYou asked %s. %s (%s) still waits for an answer.", answer, question, tool, id)
}

// Cards that could not be shown.

func wordsAnswerByCommand(id RequestID) string {
	return fmt.Sprintf("It waits, and can be answered with: "+
		"countersign approvals decide %s --approve (or --reject) --as USER", id)
}

func wordsNotShownHere(tool, how string) string {
	return "The request for approval of " + tool + " cannot be shown here. " + how
}

func wordsNotShownToAll(tool, how string) string {
	return "The request for approval of " + tool + " could not be shown to everybody who was to see it. " + how
}

// wordsNotReached is of a person.
func wordsNotReached(tool, how string) string {
	return "was to see the request for approval of " + tool + ", and no message reaches them. " + how
}

const wordsThreadUnread = "What others wrote in this thread could not be read just then. " +
	"The request is worked on without it."

// wordsAttached is of a person: files that nobody reads.
func wordsAttached(files string) string { return "attached " + files + "." }
