package bot

import "countersign/approvals"

// What is shown while a run works: the status behind the bot's name, and what a stream of its steps says. A stream that
// no answer takes the place of stays as it is, so what it says has to be true later too.

// wordsStatusLine is what Slack shows behind the bot's name.
const wordsStatusLine = "is working on it…"

// wordsLoading are what Slack shows in turn while a run works, as it takes them: of at most 50 characters each.
const wordsLoading = `["Working on it…","Asks people where approval is needed…"]`

const (
	wordsStreamLead       = "What the agent did, step by step."
	wordsStreamUnfinished = "This was not finished. Another message says what came of it."

	// wordsStreamLeadBefore began the streams of older versions, which are found by it.
	wordsStreamLeadBefore = "What the agent did, step by step. The answer takes the place of this, or stands below."
)

// wordsStreamWaits ends a stream when people were asked about the calls; empty: it is not known about which.
func wordsStreamWaits(calls string) string {
	if calls == "" {
		return "People were asked: the card says what came of that."
	}
	return "People were asked about " + calls + ": its card says what came of that."
}

// wordsCutOff is said of a call that was running when the process that showed it was gone.
const wordsCutOff = "was running when this was cut off"

// wordsSteps say of a call how far it is.
var wordsSteps = map[approvals.CallState]string{
	approvals.CallPending: "approved, not begun", approvals.CallWaiting: "people were asked",
	approvals.CallRunning: wordsRunning, approvals.CallRan: wordsRan, approvals.CallFailed: wordsFailed,
	approvals.CallNotRun: wordsNotRun,
}
