package bot

import (
	"fmt"

	"countersign/approvals"
)

// What is said of whom a run waits for, of questions to requesters and their answers, and in details and forms beside
// a button or an input.

const (
	wordsIt            = "It "
	wordsAnybody       = "people"
	wordsToAnswer      = "answer a question"
	wordsSomebody      = "somebody"
	wordsOpenTheThread = "Open the thread"
	wordsWrittenToYou  = "I have written to you in our direct conversation about a call that waits: this channel is " +
		"shared with people of another organisation."
	wordsNoOpenQuestion = "No question about this call waits for your answer any more."
	wordsAnswerIsTold   = "It is told to whoever asked last, and stands on the card of those who decide. Nothing is " +
		"decided by it."
	wordsWriteAnswer = "Please write an answer."
	wordsPassedOn    = "Your answer was passed on. The call waits on."
	wordsEmptyText   = "Left empty, it is an empty text."
	wordsSecretInput = "Secret: cards do not show it."
)

// wordsWaitsFor is the status line of a conversation whose run waits; it stands behind the bot's name.
func wordsWaitsFor(who, to string) string { return "waits for " + who + " to " + to }

func wordsToSayWhether(tool string) string { return "say whether " + tool + " happened" }
func wordsToGiveResult(tool string) string { return "give the result of " + tool }
func wordsToFill(tool string) string       { return "fill in " + tool }
func wordsToDecide(tool string) string     { return "decide " + tool }
func wordsToDecideCalls(n int) string      { return fmt.Sprintf("decide %d calls", n) }
func wordsFurther(n int) string            { return fmt.Sprintf("%d more", n) }

// wordsAsAbove names an argument whose value is no short line.
func wordsAsAbove(name string, lines, characters int) string {
	if lines > 1 {
		return fmt.Sprintf("%s: as above, %d lines", name, lines)
	}
	return fmt.Sprintf("%s: as above, %d characters", name, characters)
}

// wordsDetailsPrint identifies a call at the end of its details.
func wordsDetailsPrint(size int, digest string, id approvals.RequestID) string {
	return fmt.Sprintf("%d bytes of arguments · %s · %s", size, digest, id)
}

// wordsRevealHere stands beside the button that shows secret values.
func wordsRevealHere(first bool) phrase {
	if first {
		return phrase{"Approving is offered to you after you were shown the values: press ",
			strong(wordsShowSecretValues), ". Who was shown them is recorded."}
	}
	return phrase{"Approving covers what they hold; ", strong(wordsShowSecretValues),
		" shows them to you, which is recorded."}
}

// wordsNoMessageDecides is for somebody who writes where a card waits; card leads to that.
func wordsNoMessageDecides(card phrase) phrase {
	const no = "No message decides about the call that waits here: whoever may decide presses a button on its card. "
	return append(phrase{no}, card...)
}
