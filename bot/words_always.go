package bot

import "fmt"

// What the form for standing answers says: how far one reaches, on which terms it holds, and what it covers.

const (
	wordsHowFar       = "How far does it reach?"
	wordsChooseHowFar = "Choose how far it reaches."
)

func wordsNoStandingAnswer(tool string) phrase {
	return phrase{"The policy lets nobody answer for later calls of ", strong(tool), " too. Answer this call alone."}
}

// The scopes, and for each what its option says below.
const (
	wordsThisRun          = "This run"
	wordsThisThread       = "This thread"
	wordsThisConversation = "This conversation"
	wordsThisChannel      = "This channel"
	wordsWholeWorkspace   = "The whole workspace"

	wordsUntilRunEnds       = "Until this run ends. Other runs ask again"
	wordsRunsInThread       = ", for all runs in this thread"
	wordsRunsInConversation = ", for all runs in this conversation"
	wordsRunsInChannel      = ", for all runs in this channel"
	wordsRunsAnywhere       = ", for all runs anywhere"
)

func wordsAtMostFor(duration string) string { return "For " + duration + " at most" }

// What the answer means.

// wordsApproves and the like begin the sentences that follow, and name the answer in them.
const (
	wordsApproves    = "Approves"
	wordsRejects     = "Rejects"
	wordsOnlyApprove = "approve"
	wordsOnlyReject  = "reject"
)

func wordsAlwaysMeans(verb, tool, agent string) phrase {
	return phrase{verb + " this call and every later call of ", strong(tool), " by the agent ", strong(agent),
		", as far as you choose below; where you choose nothing, with any arguments. Nobody is asked about those."}
}

// wordsAlwaysDropped is for somebody before whom others have answered for this call alone.
func wordsAlwaysDropped(verb, tool string) phrase {
	return phrase{verb + " this call alone: somebody has answered for this call only, and always " +
		"counts if everybody answers always. Later calls of ", strong(tool), " ask again."}
}

// wordsAlwaysIfAll is for somebody after whom more people have to answer.
func wordsAlwaysIfAll(people int, only string) phrase {
	return phrase{fmt.Sprintf("It holds for later calls only if %s always too; if they only %s, it "+
		"is for this call alone.", wordsMorePeopleAnswer(people), only)}
}

func wordsMorePeopleAnswer(n int) string {
	if n == 1 {
		return "1 more person answers"
	}
	return fmt.Sprintf("%d more people answer", n)
}

func wordsListedAndEnded() phrase {
	return phrase{"What reaches beyond this run is listed by ", code(slashCommand + " grants"),
		" and ended by ", code(slashCommand + " revoke"), "."}
}

// wordsCovers leads to the waiting calls that it answers too. ifAll: only if the others answer always as well.
func wordsCovers(n int, ifAll bool) string {
	lead := "It also answers "
	if ifAll {
		lead = "Then it also answers "
	}
	return lead + wordsCallsWaiting(n) + ", as far as your choice covers them and the policy allows it:"
}

func wordsCallsWaiting(n int) string {
	if n == 1 {
		return "1 call that waits now"
	}
	return fmt.Sprintf("%d calls that wait now", n)
}

func wordsAndMoreCalls(n int) string { return fmt.Sprintf("and %d more", n) }

// The terms.

const (
	wordsWhileSame        = "Only while these stay the same"
	wordsWhileSameHint    = "Later calls with other values ask again."
	wordsWhileNotMore     = "Only while these do not grow"
	wordsWhileNotMoreHint = "Later calls with more ask again."
	wordsWhileLeftOut     = "Only while these stay left out"
	wordsWhileLeftOutHint = "Later calls that have them ask again."
	wordsUntilWhen        = "Until when?"
	wordsHowManyCalls     = "For how many later calls?"
	wordsAnyNumber        = "Left empty, for any number."

	wordsWholeNumber = "This must be a whole number from 1, or empty for any number."
)

func wordsAtMost(name, value string) string { return name + ": at most " + value }

func wordsFor(duration string) string { return "For " + duration }

// wordsLastsHint says what holds where no time is chosen. runToo: the run alone can be chosen, which has its own end.
func wordsLastsHint(longest string, runToo bool) string {
	hint := "The policy allows " + longest + " at most, which holds where nothing is chosen"
	if runToo {
		hint += "; for this run alone it is until the run ends"
	}
	return hint + "."
}

func wordsLastsTooLong(longest string) string {
	return "The policy does not let it last so long any more. Choose at most " + longest + "."
}

func wordsSameAlready(name string) string {
	return fmt.Sprintf("%s is to stay the same already. Choose one of the two.", name)
}
