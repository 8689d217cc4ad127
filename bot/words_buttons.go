package bot

import "fmt"

// The labels of buttons and of lines of the menu. Sentences that name a button use the same constants.
const (
	wordsApprove            = "Approve"
	wordsApproveWithComment = "Approve with a comment"
	wordsReject             = "Reject"
	wordsRejectWithReason   = "Reject with reason"
	wordsAlwaysApprove      = "Always approve"
	wordsAlwaysReject       = "Always reject"
	wordsEditArguments      = "Edit arguments"
	wordsFillIn             = "Fill in"
	wordsAnswer             = "Answer"
	wordsProvideResult      = "Provide result"
	wordsShowCallback       = "Show callback"
	wordsItHappened         = "It happened"
	wordsTryAgain           = "Try again"
	wordsGiveUp             = "Give up"
	wordsAskRequester       = "Ask the requester"
	wordsCancelRun          = "Cancel run"
	wordsRevoke             = "Revoke"

	wordsShowDetails      = "Show details"
	wordsShowSecretValues = "Show secret values"
	wordsShowHistory      = "Show history"
	wordsFirstPage        = "First page"
	wordsNextPage         = "Next page"
	wordsPreviousPage     = "Previous page"

	wordsCancel      = "Cancel" // closes a form or a dialog; nothing happens
	wordsClose       = "Close"
	wordsKeepRunning = "Keep running" // beside Cancel run, where "Cancel" would say the opposite of what it does
)

// These name no number: a card is not changed when another call is decided. The window says which calls it answers.
const (
	wordsApproveAll = "Approve all waiting"
	wordsRejectAll  = "Reject all waiting"
)

// Dialogs that a button asks back with: a question, and what it is to know before answering.

const (
	wordsRunAgainAsk = "Run it again?"
	wordsRunAgain    = "If the call did happen before, it happens twice. Run it again only if you know that it did not."

	wordsCancelRunAsk   = "Cancel the run?"
	wordsCancelRunMeans = "The agent stops, and everything it still waits for is withdrawn. What has run stays done, " +
		"and a call that has begun may still finish: the thread says what came of it."

	wordsRevokeAsk = "Revoke the grant?"
)

func wordsRevokeMeans(tool string) string {
	return "Later calls of " + tool + " are asked about again. One that has begun goes on."
}

// wordsAloneAsk asks about a button whose press answers this call alone, though others have answered always.
func wordsAloneAsk(button string) string { return button + " this call alone?" }

// wordsAloneMeans says what such a press drops, and which button keeps it.
func wordsAloneMeans(people int, keep string) string {
	who := "Somebody has"
	if people > 1 {
		who = fmt.Sprintf("%d people have", people)
	}
	return who + " answered always. This answer is for this call alone, so later calls ask again; to have always " +
		"hold, press " + keep + " instead."
}
