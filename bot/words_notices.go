package bot

import (
	"fmt"
	"time"

	"countersign/approvals"
)

// What messages of the bot say beside cards: reminders, lists of what waits for somebody, answers of agents, and the
// lines around copies of a card.

// Reminders and escalations.

func wordsReminder(tool, waits string) phrase { return phrase{"Reminder: ", strong(tool), waits} }

// What a request waits for, behind its tool.
const (
	wordsWaitsForAnswer   = " waits for an answer."
	wordsWaitsForOutcome  = " waits for somebody to say what became of it."
	wordsWaitsForResult   = " waits for its result."
	wordsWaitsForApproval = " waits for approval."
)

// wordsStillNeeded names those who could answer.
func wordsStillNeeded(people int, who phrase) phrase {
	p := phrase{"Still needed: " + wordsPeople(people)}
	if len(who) > 0 {
		p = append(append(p, ", of "), who...)
	}
	return append(p, ".")
}

// wordsNobodyLeft is said where nobody could answer any more.
const wordsNobodyLeft = "Nobody can answer it now: whoever may has left, may not decide here any more, or has " +
	"answered. Somebody who joins a group or channel that it asks could; or cancel the run, and ask again."

func wordsEscalated(tool, waits string, since time.Time) phrase {
	return phrase{strong(tool), waits, " It has waited since ", since, "."}
}

func wordsTheyMayToo(who phrase) phrase {
	return append(append(phrase{"From now on these may answer too: "}, who...), ".")
}

func wordsOthersMayToo() phrase { return phrase{"Others may answer from now on too."} }

func wordsNoEnd() phrase { return phrase{"It waits without a deadline."} }

func wordsWaitsUntil(t time.Time) phrase { return phrase{"It waits until ", t, "."} }

func wordsTimeLeft(until time.Time, left string) phrase {
	return phrase{"It waits until ", until, ": " + left + " left."}
}

func wordsItIs(id approvals.RequestID) phrase { return phrase{"It is ", code(string(id)), "."} }

// wordsItsCard begins the line that names the request.
const wordsItsCard = "Its card: "

func wordsAskedIn(by approvals.UserID, where phrase) phrase {
	return append(phrase{"Asked by ", by, " in "}, where...)
}

// Lists of what waits for somebody.

func wordsWaitingForYou(n int) string {
	switch n {
	case 0:
		return "Nothing that was listed here waits for you any more"
	case 1:
		return "1 request waits for you"
	}
	return fmt.Sprintf("%d requests wait for you", n)
}

// wordsListedAnew stands in the place of a list that is not kept up to date any more.
const wordsListedAnew = "What waits for you is listed anew in a newer message below."

func wordsMoreListed(n int) phrase {
	return phrase{fmt.Sprintf("%d more: ", n), code(slashCommand + " mine"), " lists all."}
}

// Copies of a card.

func wordsAsksIn(by approvals.UserID, where phrase) phrase {
	return append(phrase{by, " asks in "}, where...)
}

func wordsNeedsYouIn(by approvals.UserID, where phrase) phrase {
	return append(phrase{by, " needs you in "}, where...)
}

const (
	wordsDirectToMe = "a direct message to me"
	wordsItsThread  = "in its thread"
	wordsOpenThread = "open thread"
	wordsCalled     = "For " // before those whom a card is to call and does not name by itself
)

// What is sent to the requester because the channel takes nothing.

func wordsDisplaced(channel room, refusal string) phrase {
	const instead = ", so this stands here instead."
	switch refusal {
	case "is_archived":
		return phrase{channel, " is archived" + instead}
	case "not_in_channel", "channel_not_found":
		return phrase{"I am not in ", channel, " any more" + instead + " Invite me there again (type ",
			code("/invite"), " there) to go on there."}
	}
	return phrase{"I cannot write in ", channel, instead}
}

func wordsNobodyElseSees() phrase {
	return phrase{" Nobody else sees this message: whoever may decide finds the request with ", code(slashCommand), "."}
}

// Cards where people of other organisations read.

func wordsSharedPending() phrase {
	return phrase{
		"This channel is shared with people of another organisation, so what is called is not shown here. " +
			"Those who may decide are sent it in a direct message or in a channel of their own, and find it with ",
		code(slashCommand), ".",
	}
}

func wordsSharedSettled(id approvals.RequestID) phrase {
	return phrase{"This channel is shared with people of another organisation: ",
		code(slashCommand + " show " + string(id)), " shows the call to those who may see it."}
}

// Answers of agents.

const (
	wordsEmptyAnswer   = "The agent finished without an answer."
	wordsAnsweredToYou = "the answer is in our direct messages: this channel is shared with people of another " +
		"organisation."
)

func wordsCharactersLeftOut(n int) string {
	return fmt.Sprintf("\n[%d more characters were left out; whoever runs me finds them in the run's record]", n)
}

// What the agent is told, and says, of files and of a thread that cannot be read.

const (
	wordsFileGone     = "it is not kept in Slack, or not any more"
	wordsFileNotText  = "it is not a text file"
	wordsFileNoRight  = "I have not been given the right to read files"
	wordsFileNotSlack = "it is not kept in Slack"
	wordsFileRefused  = "Slack does not hand it out to me"

	wordsThreadClosed = "the app may not read here"
	wordsAppGone      = "the app is not installed there any more"
)

func wordsFileTooLong(kilobytes int) string {
	return fmt.Sprintf("it is too long: I read %d KB", kilobytes)
}

// Checkpoints of the audit trail.

func wordsCheckpoint(entries uint64) phrase {
	return phrase{fmt.Sprintf("Checkpoint of the audit trail: %d entries", entries)}
}
