package bot

import (
	"fmt"
	"time"

	"countersign/approvals"
)

// Who may answer, who has, and who is still needed: the same words on cards, in lists and in notices.

// Between the names of a list, and before it.
const (
	wordsAnd          = " and "
	wordsOr           = " or "
	wordsSemicolonAnd = "; and "
	wordsBy           = " by "
)

// wordsOnBehalf names who answered for somebody who is away.
func wordsOnBehalf(by, of approvals.UserID) phrase { return phrase{by, " for ", of} }

func wordsNeeds(who phrase) phrase { return append(phrase{"Needs "}, who...) }

func wordsStillNeeds(who phrase) phrase { return append(phrase{"Still needs "}, who...) }

// wordsNeedsMore is followed by names: Needs 1 more of.
func wordsNeedsMore(n, of string) string { return "Needs " + n + " more " + of }

func wordsNeedsThoseWhoMeetAll(n int) phrase {
	if n == 1 {
		return phrase{"Needs 1 more person, who meets all that is asked for here"}
	}
	return phrase{fmt.Sprintf("Needs %d more people, who together meet all that is asked for here", n)}
}

func wordsPeople(n int) string {
	if n == 1 {
		return "1 person"
	}
	return fmt.Sprintf("%d people", n)
}

func wordsAnswerOf(who approvals.UserID) phrase { return phrase{"the answer of ", who} }

const (
	wordsNobodyMay      = "an answer that nobody may give: it cannot be approved now"
	wordsSomebodyWhoMay = "somebody who may decide"
	wordsOneEachOf      = "one each of "
	wordsNot            = ", not "
	wordsOthers         = "others"

	wordsMembersOf        = "the members of " // before the channel
	wordsMembersElsewhere = "the channel's members"
)

func wordsCountOf(n int) string { return fmt.Sprintf("%d of ", n) }

func wordsMore(n int) string { return fmt.Sprintf("%d more", n) }

func wordsAndMore(n int) string { return fmt.Sprintf(" and %d more", n) }

// wordsToReject says how many people it takes to reject.
func wordsToReject(n int) string { return fmt.Sprintf("; %d reject", n) }

// Where the arguments or the policy have changed since.

func wordsNeededBefore(who phrase) phrase {
	return append(phrase{"Also needs what it needed before the arguments were changed: "}, who...)
}

// wordsNeedsNow says whom the policy needs as it is now; later adds who else may answer after a time, or is nil.
func wordsNeedsNow(who, later phrase) phrase {
	p := append(phrase{"The policy has changed since this was asked: it now needs "}, who...)
	return append(append(p, later...), ". Both have to be met")
}

func wordsLaterAlso(after string, who phrase) phrase {
	return append(phrase{"; once it has waited for " + after + " also "}, who...)
}

func wordsByPolicyNow(recorded, now phrase) phrase {
	p := append(append(recorded, ", and by the policy as it is now "), now...)
	return append(p, ". One person may count for both")
}

// Escalation.

func wordsOthersAskedAt(t time.Time) phrase {
	return phrase{"If it still waits then, others are asked too: ", t}
}

func wordsSinceAlso(t time.Time, who phrase) phrase {
	return append(phrase{"Since ", t, " also: "}, who...)
}

// What has been answered so far.

func wordsAnswered(who phrase, verdict string, at time.Time) phrase {
	return append(who, " "+verdict+" ", clock(at))
}

func wordsCountsNoLonger(why string) string { return ", which counts no longer: " + why }

const (
	wordsWillNotCount    = ", and may not approve any more: it will not count"
	wordsAlwaysSoFar     = ", always; later calls are covered only if everybody who is needed answers always"
	wordsApprovedBetween = " approved "
)

// wordsApprovedSoFar ends a line with those who approved, and how far that goes.
func wordsApprovedSoFar(who phrase, filled, seats int) phrase {
	return append(append(phrase{fmt.Sprintf(" (%d of %d: ", filled, seats)}, who...), ")")
}

// wordsApprovedPartly is wordsApprovedSoFar where more people approved than count.
func wordsApprovedPartly(who phrase, filled, seats int) phrase {
	return append(append(phrase{" ("}, who...), fmt.Sprintf(": %d of %d)", filled, seats))
}

// When nobody, or only some people, can approve.

const wordsNobodyApproves = "nobody can approve"

func wordsOnlyTheyApprove(who phrase) phrase {
	return append(append(phrase{"only "}, who...), " can approve")
}

func wordsFrozen(from, to time.Time, who phrase) phrase {
	p := append(phrase{"Frozen from ", from, " until ", to, ": "}, who...)
	return append(p, "; rejecting is possible")
}

// Policies, in the details.

func wordsPolicyHash(policy, hash string) phrase {
	return phrase{"Policy " + policy + ", hash ", code(hash)}
}

func wordsPolicyVersion(version string) phrase { return phrase{", version ", code(version)} }

func wordsMoreVariables(n int) phrase { return phrase{fmt.Sprintf("and %d more variables", n)} }
