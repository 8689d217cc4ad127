package bot

import (
	"fmt"
	"time"

	"countersign/approvals"
)

// What somebody is told whose message, click or form had no effect, or not the one they wanted, and how an answer went.
// Where a function takes why, that is what the service says about it as a continuation of the sentence, or empty.

// A message that starts no run.

func wordsUnsureWhoMayStart(later string) phrase {
	return phrase{"Slack does not say right now whether you may start this. Nothing was started: " +
		"send it again in " + later + "."}
}

func wordsTooMuchUnderWay(why string) phrase {
	return phrase{"Too much is under way already" + why +
		". Nothing was started: send it again when something has ended."}
}

func wordsNoAgent() phrase {
	return phrase{"The agent for this channel is not configured. Nothing was started: " +
		"tell the people who run me."}
}

func wordsCannotTake(why string) phrase {
	return phrase{"This message cannot be taken" + why + ". Nothing was started: change it, and send it again."}
}

func wordsSharedChannel() phrase {
	return phrase{"This channel is shared with another organisation, " +
		"and what an agent asks may not be for them. " +
		"Ask me in a direct message or in a channel of this workspace."}
}

// wordsMentionHelp is for a mention that says nothing.
func wordsMentionHelp() phrase {
	return phrase{
		"Tell me what to do, in the same message as the mention. " +
			"I run an agent for you, and people here approve what matters before it happens. ",
		code(slashCommand), " lists what waits.",
	}
}

func wordsFilesAlone(names string) phrase {
	return phrase{"You sent " + names + " without a word, so nothing was started. "}
}

func wordsEditNotRead() phrase {
	return phrase{
		"I go by what you wrote first: what you changed in your message afterwards is not read. " +
			"Write it as a new message in the thread; cancel the run if it must not go on.",
	}
}

// wordsQueued is for a message that waits for the runs before it.
func wordsQueued(ahead int) phrase {
	const busy = "A run in this thread is still under way. "
	switch ahead {
	case 0:
		return phrase{busy + "Your message is taken up when it has ended."}
	case 1:
		return phrase{busy + "1 message waits before yours, which is taken up after it."}
	}
	return phrase{fmt.Sprintf("%s%d messages wait before yours, which is taken up after them.", busy, ahead)}
}

// An answer that does not count.

func wordsDecidedAlready() phrase { return phrase{"This has been decided already."} }

func wordsRecordedOtherwise() phrase {
	return phrase{"Your answer was recorded when you first sent it, and stands as it was then. ",
		strong("What you have changed since was not taken"), "."}
}

func wordsTimeHasPassed() phrase {
	return phrase{"The time for an answer has passed. Nothing was recorded: have it asked again."}
}

func wordsChangedSince() phrase {
	return phrase{"This request has changed since it was shown to you. Nothing was recorded: look at it again."}
}

func wordsUnknownRequest() phrase {
	return phrase{"This request is not kept any more. Nothing was recorded: have it asked again."}
}

func wordsDoesNotFit(why string) phrase {
	return phrase{"This answer does not fit this request" + why + ". Nothing was recorded."}
}

func wordsUnsureWhoMayDecide(later string) phrase {
	return phrase{"Not confirmed yet: Slack does not say right now who may decide this. Nothing was recorded: " +
		"try again in " + later + "."}
}

func wordsRunEnded() phrase { return phrase{"This run has ended already."} }

// wordsAnsweredBefore is followed by who still has to answer.
func wordsAnsweredBefore(verdict string, at time.Time) phrase {
	return phrase{"Your answer is recorded already: ", verdict, ", ", at, ". "}
}

// wordsAnsweredForYou is the same for somebody whose delegate has answered for them.
func wordsAnsweredForYou(by approvals.UserID, verdict string, at time.Time) phrase {
	return phrase{by, " has answered for you already: ", verdict, ", ", at, ". "}
}

// wordsAnswerCountsAlready is for the delegate of somebody who has answered themselves.
func wordsAnswerCountsAlready() phrase {
	return phrase{"Whoever you would decide for has answered already. Nothing was recorded."}
}

// wordsUnrecorded is said when it is certain, or as good as, that nothing was written.
func wordsUnrecorded() phrase {
	return phrase{"Your answer was not recorded: something went wrong on my side. Try again."}
}

// wordsUnsureWhetherRecorded is said when it may have been written, and may not.
func wordsUnsureWhetherRecorded() phrase {
	return phrase{"I cannot tell whether this was recorded: something went wrong on my side. The card or its thread " +
		"shows it if it was; look there in a minute, and try again if it does not."}
}

// wordsUnconfirmed is said when it takes longer than a person should wait.
func wordsUnconfirmed() phrase {
	return phrase{"Your answer is on its way; I will tell you here when it is recorded."}
}

func wordsAbsent() phrase {
	return phrase{
		"I am not in the channel where this was asked for any more, so I cannot see whether you may decide it. " +
			"Nothing was recorded. Invite me to that channel again (type ", code("/invite"),
		" there), then press the button once more. Whoever asked for the run can cancel it meanwhile.",
	}
}

// wordsForeign is for what was done on a card or in a form that another workspace's bot is to answer for.
func wordsForeign() phrase {
	return phrase{"This belongs to another workspace, whose answers I do not take. Nothing was recorded: " +
		"ask somebody there to answer it."}
}

// wordsUnreadableForm is for a form that an earlier version of the bot made, or a broken one.
func wordsUnreadableForm() phrase {
	return phrase{"I cannot read this form any more. Nothing was recorded: " +
		"close it, and press the button on the card again."}
}

func wordsNotInstalled(address string) phrase {
	return phrase{"The app is not installed in this workspace, or not any more. Nothing was recorded. ",
		"It can be installed at " + address}
}

// A click that is not an answer yet.

func wordsReadToTheEnd() phrase {
	return phrase{"This call is too long for a card. Press ", strong(wordsShowDetails), ", and approve at its end."}
}

func wordsNoSuchOption() phrase {
	return phrase{"This question has no such option. Nothing was recorded: look at it again."}
}

func wordsCardUnsure(id approvals.RequestID) phrase {
	return phrase{
		"I cannot tell yet whether this is the card of this request. Nothing was recorded: press again in a ",
		"moment, or use ", code(slashCommand + " show " + string(id)), ".",
	}
}

func wordsCardIsCopy(id approvals.RequestID) phrase {
	return phrase{
		"This is a copy, not the card of this request. Nothing was recorded: " +
			"use the card in the request's own thread, or ",
		code(slashCommand + " show " + string(id)), ".",
	}
}

// wordsRetired stands on such a copy, before the request.
const wordsRetired = "This is a copy of a card that is no longer in use. The request is: "

func wordsWindowTooLate() phrase {
	return phrase{"Slack did not let me open the window in time. Press the button again."}
}

func wordsWindowRefused() phrase {
	return phrase{
		"Slack did not take what this window was to show. Nothing was recorded. Press the button again; if that does " +
			"not help, whoever runs me finds the reason in my log.",
	}
}

func wordsWentWrong() phrase { return phrase{"Something went wrong on my side. Try again."} }

// An answer that was recorded.

func wordsRecorded(verdict string) phrase { return phrase{"Recorded: ", verdict, "."} }

const wordsOthersToAnswer = " Others still have to answer."

// When to try again.

const wordsAMinute = "a minute"

func wordsInMinutes(n int) string { return fmt.Sprintf("%d minutes", n) }

func wordsInSeconds(n int) string { return fmt.Sprintf("%d seconds", n) }

// People who may not.

// What they may not do.
const (
	wordsStartRun = "start a run"
	wordsDecide   = "decide"
)

func wordsTheyCannot(who, what string) phrase { return phrase{who + " cannot " + what + "."} }

func wordsYouCannot(what, why string) phrase { return phrase{"You cannot " + what + why + "."} }

func wordsCannotApproveNow() phrase { return phrase{"You cannot approve this now."} }

func wordsYouAsked() phrase { return phrase{"You asked for this, so somebody else has to decide."} }

func wordsYouChanged() phrase {
	return phrase{"You changed the arguments or filled them in, so somebody else has to decide."}
}

func wordsOtherAnswers(who approvals.UserID) phrase {
	return phrase{"The question was put to ", who, ", so they answer it."}
}

// wordsForWhom is for the delegate of several people, none of whom has answered.
func wordsForWhom(people phrase) phrase {
	p := append(phrase{"You stand in for "}, people...)
	return append(p, ", and a button does not say for whom of them you decide. Nothing was recorded: "+
		"whoever runs me can record your answer for one of them.")
}

// wordsOtherMembers is followed by a channel.
func wordsOtherMembers(first bool) string {
	if first {
		return "Other members of "
	}
	return "other members of "
}

// wordsCan follows who may decide.
const wordsCan = " can: open the thread."

// Who counts for nobody here. The service hands them back with its refusals; below is what a person reads.
const (
	wordsDeactivated       = "deactivated"
	wordsStranger          = "somebody from another organisation"
	wordsGuestOfOne        = "a guest of one channel"
	wordsGuest             = "a guest"
	wordsBot               = "a bot"
	wordsInvited           = "invited, but not yet a member"
	wordsOtherOrganisation = "a member of another organisation"
	wordsOtherWorkspace    = "a member of another workspace"
)

var wordsIrregular = map[string]string{
	wordsDeactivated:       "Deactivated accounts",
	wordsStranger:          "People from other organisations",
	wordsGuestOfOne:        "Guests",
	wordsGuest:             "Guests",
	wordsBot:               "Bots",
	wordsInvited:           "People who are invited and have not joined yet",
	wordsOtherOrganisation: "People from other organisations",
	wordsOtherWorkspace:    "People from other workspaces",
}
