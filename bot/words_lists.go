package bot

import "fmt"

// What lists say above, below and in their lines: those of /approvals, of the shortcut and of the Home tab.

// Above a list.

func wordsDecided(n int) string { return fmt.Sprintf("%d decided, the newest first.", n) }

func wordsWaiting(n int) string {
	if n == 1 {
		return "1 request waits."
	}
	return fmt.Sprintf("%d requests wait, the oldest first.", n)
}

// wordsWaitingHere is for a page of several.
func wordsWaitingHere(n int) string {
	if n == 1 {
		return "1 request waits."
	}
	return fmt.Sprintf("%d requests that wait, the oldest first.", n)
}

// wordsLeftOutOfList says how many requests cannot be listed now.
func wordsLeftOutOfList(n int) string {
	if n == 1 {
		return "One more request is not listed: I cannot find out right now whether you may see it."
	}
	return fmt.Sprintf("%d more requests are not listed: I cannot find out right now whether you may see them.", n)
}

// wordsMoreFollow says behind a sentence which command goes on with the list.
func wordsMoreFollow(command string) phrase { return phrase{" There are more: ", code(command)} }

// Above an empty page, and what to do next.
const (
	wordsNoneOfNext     = "None of the requests that come next is for you."
	wordsNoneOfNewest   = "None of the requests that were decided last is for you."
	wordsNoneOfFirst    = "None of the requests that have waited longest is for you."
	wordsNothingSure    = "I find nothing that you may see for certain."
	wordsNothingOlder   = "Nothing older was decided."
	wordsNothingFurther = "Nothing else waits."
)

func wordsNothingMine() phrase {
	return phrase{"Nothing waits for you. ", code(slashCommand + " all"), " lists what waits for others, ",
		code(slashCommand + " history"), " what was decided."}
}

func wordsNothingAtAll() phrase {
	return phrase{"Nothing waits that you may see. ", code(slashCommand + " history all"), " lists what was decided."}
}

func wordsNoHistoryOfMine() phrase {
	return phrase{"Nothing that you asked for or answered was decided yet. ", code(slashCommand + " history all"),
		" lists what others did, as far as you may see it."}
}

func wordsNoHistory() phrase {
	return phrase{"Nothing was decided yet that you may see. ", code(slashCommand + " all"), " lists what waits."}
}

func wordsHistoryFailed() phrase {
	return phrase{"I cannot read the history right now. Try again in a minute."}
}

func wordsPendingFailed() phrase {
	return phrase{"I cannot read the pending requests right now. Try again in a minute."}
}

// Titles of lists in a window.
const (
	wordsPendingTitle = "Pending approvals"
	wordsHistoryTitle = "History"
)

// In a line.

const (
	wordsIn      = " in " // a conversation
	wordsOpen    = "open" // the link to a card
	wordsPending = "pending, "
	wordsNow     = "now"
)

// Ages, in one unit.

func wordsMinutes(n int) string { return fmt.Sprintf("%d min", n) }

func wordsHours(n int) string { return fmt.Sprintf("%d h", n) }

func wordsDays(n int) string { return fmt.Sprintf("%d d", n) }

// Conversations.

const (
	wordsDirectMessage = "a direct message"
	wordsAChannel      = "a channel" // where its name cannot be said
	wordsAGroup        = "a group"   // of which the name is not known
)

func wordsChannel(name string) string { return "channel " + name }

// What a pending request needs, before the people.
const (
	wordsNeedsPeople  = "needs "
	wordsNeedsAnswer  = "needs an answer from "
	wordsNeedsOutcome = "needs to know whether it ran, from "
	wordsNeedsResult  = "needs its result from "
	wordsNeedsValues  = "needs values from "
)

// In the row of a request whose call is not shown there.

func wordsNotRepeated() phrase {
	return phrase{"Its arguments are not repeated here: the channel is shared with others than this workspace, or I " +
		"cannot find out whether it is. ", strong(wordsShowDetails), " shows them to you alone."}
}

func wordsTooLongForList() phrase {
	return phrase{"The call is too long for this list. ", strong(wordsShowDetails),
		" shows all of it, and offers to approve it at its end."}
}
