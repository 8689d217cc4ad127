package approvals

import "fmt"

// Why a request has ended, or its call did not run: the notes of records. They are kept with the request and stand on
// its card.

const (
	wordsNobodyAnswered      = "Nobody answered in time."
	wordsTooFewAnswered      = "Too few people answered in time."
	wordsRunHasEnded         = "The run has ended."
	wordsRunEndedFirst       = "The run ended first."
	wordsNotCarriedOutAfter  = "It was not carried out after all."
	wordsFinishedAfterAll    = "The call has finished after all."
	wordsNoLongerArises      = "The question no longer arises."
	wordsAskedAgainTool      = "The tool was changed after this was asked; it is asked again."
	wordsAskedAgainApproval  = "The approval no longer held when it was the call's turn; it is asked again."
	wordsAskedAgainRevoked   = "The answer for such calls was revoked before the call began."
	wordsSaidNotToHappen     = "Somebody said that it will not be carried out."
	wordsCompletedUnapproved = "The completed call was not approved."
)

func wordsArgumentsChanged(next RequestID) string {
	return fmt.Sprintf("The arguments were changed; %s asks about the changed call.", next)
}

func wordsTooFewLeft(policy string, needs int) string {
	return fmt.Sprintf("Too few people are left who could approve this: %s needs %d.", policy, needs)
}
