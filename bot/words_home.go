package bot

// What the Home tab says beside the lists that it shows.

// The headings.
const (
	wordsHomeWaiting = "Waiting for you"
	wordsHomeAsked   = "Your requests"
	wordsHomeGrants  = "Grants"
	wordsHomeDecided = "Your decisions"
)

func wordsNothingForYou() phrase {
	return phrase{"Nothing waits for you. A call that you may decide about stands here as soon as an agent asks."}
}

func wordsNothingAsked() phrase {
	return phrase{"Nothing that you asked for waits for others, and none of it was decided yet. Mention me in a " +
		"channel, or write to me under Messages, and say what is to be done."}
}

func wordsNothingDecided() phrase {
	return phrase{"Nothing that you answered is decided yet. It stands here once it is, with what came of it."}
}

// What is said where there is more than a page looks through, and nothing of the person's was found.

func wordsNoneAskedHere() phrase {
	return phrase{"Nothing that you asked for is among what this page looks through. ", code(slashCommand), " and ",
		code(slashCommand + " history"), " list the rest."}
}

func wordsNoneDecidedHere() phrase {
	return phrase{"Nothing that you answered is among what this page looks through."}
}

func wordsNoGrantsInForce() phrase {
	return phrase{"No grant is in force that you may see: people are asked about every call that needs it. ",
		strong(wordsAlwaysApprove), " on a card gives one, where the policy allows it."}
}

func wordsMoreGrants() phrase { return phrase{"There are more: ", code(slashCommand + " grants")} }

func wordsMoreAsked() phrase {
	return phrase{"There are more: ", code(slashCommand), " and ", code(slashCommand + " history")}
}
