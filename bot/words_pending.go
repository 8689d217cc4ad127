package bot

import (
	"time"

	"countersign/approvals"
)

// What a card says while its request is pending, from its notification down to the fine print. What it says of the call
// itself stands in words_call.go, who is needed in words_approvers.go.

// The card as a notification and for screen readers.

func wordsQuestionAsked(tool string, by approvals.UserID) phrase {
	return phrase{"A question for people: ", tool, ", asked for by ", by}
}

func wordsOutcomeAsked(tool string, by approvals.UserID) phrase {
	return phrase{"Outcome unknown: did ", tool, " run? Asked for by ", by}
}

func wordsResultAsked(tool string, by approvals.UserID) phrase {
	return phrase{"A result is needed: ", tool, ", asked for by ", by}
}

func wordsValuesAsked(tool string, by approvals.UserID) phrase {
	return phrase{"Values are needed: ", tool, ", asked for by ", by}
}

func wordsApprovalAsked(tool string, by approvals.UserID) phrase {
	return phrase{"Approval needed: ", tool, ", asked for by ", by}
}

// What the headline of a card begins with that is about something else than whether a call may run.
const (
	wordsQuestionLead    = "Question: "
	wordsDidItHappenLead = "Did it happen? "
	wordsResultLead      = "Result needed: "
	wordsValuesLead      = "Values needed: "
)

// Who wants the call, who makes it, and what has it asked about.

func wordsAskedForThis(by approvals.UserID) phrase { return phrase{by, " asked for this"} }

func wordsAsksFor(by approvals.UserID, said phrase) phrase {
	return append(append(phrase{by, " asks: “"}, said...), "”")
}

func wordsCalls(agent phrase, tool string) phrase { return append(agent, " calls ", code(tool)) }

const (
	wordsUsedBy          = ", used by " // between agents, each a tool of the one that follows
	wordsHighRisk        = ", high risk"
	wordsByDefaultPolicy = " · asked by the default policy"
)

// wordsByPolicy names the policy that asks, and the condition on which it does; empty: none that is shown.
func wordsByPolicy(policy, when string) phrase {
	return phrase{" · asked by policy ", strong(policy), wordsForCallsWhere(when)}
}

func wordsBecause(gate string) phrase { return phrase{" · asked because " + gate} }

func wordsBecauseByPolicy(gate, policy, when string) phrase {
	return phrase{" · asked because " + gate + " · policy ", strong(policy), wordsForCallsWhere(when)}
}

func wordsForCallsWhere(condition string) string {
	if condition == "" {
		return ""
	}
	return ", for " + condition
}

func wordsToolAsksBecause(gate string) phrase { return phrase{"The tool asks because ", code(gate)} }

func wordsPolicyIsFor(policy, condition string) phrase {
	return phrase{"Policy " + policy + " is for calls where ", code(condition)}
}

// What is special about the call.

const wordsTakesPlace = "It takes the place of an earlier question."

func wordsChangedBy(who approvals.UserID) phrase { return phrase{", changed by ", who} }

// wordsEditors names those who made the arguments what they are; apart: none of them decides. follows is the request
// that their change took the place of, or empty.
func wordsEditors(who phrase, apart bool, follows approvals.RequestID) phrase {
	p := append(phrase{"Arguments changed or filled in by "}, who...)
	if apart {
		p = append(p, ", not deciding about it")
	}
	if follows != "" {
		p = append(p, "; this follows ", code(string(follows)))
	}
	return p
}

func wordsLikeApproved(by approvals.UserID, at time.Time) phrase {
	return phrase{"Like the call approved by ", by, ", ", at}
}

const wordsSameArguments = ", with the same arguments"

func wordsButFor(arguments string) string { return ", but for: " + arguments }

// Until when, and what identifies the call.

const wordsNoDeadline = " · no deadline"

func wordsUntil(t time.Time) phrase { return phrase{" · until ", t} }

func wordsTooLongForCard() phrase {
	return phrase{strong("This call is too long for a card."), " ", strong(wordsShowDetails),
		" has all of it, and approving is offered at its end."}
}

const (
	wordsComplete       = "complete"
	wordsNotComplete    = "not complete"
	wordsCompleteMasked = "complete, secret values masked"
)

// What to do about a question that is not about letting a call run.

func wordsResultElsewhere() phrase {
	return phrase{"Somebody has to do this elsewhere, and the agent waits to be told what came of it. " +
		"Provide the result once it is there, or reject the call if nobody will do it."}
}

func wordsResultOfSystem() phrase {
	return phrase{"Another system carries this out, and the agent waits to be told what came of it. " +
		"Provide the result if you know it, or reject the call if nobody will carry it out."}
}

func wordsValuesMissing() phrase {
	return phrase{"Somebody has to fill in values before the call can go on: press ", strong(wordsFillIn),
		". What the model proposes stands where no other value is given. Reject the call if nobody will."}
}

// wordsMayHaveHappened is for a call of which nobody knows whether it happened. where is what it acts on, or empty.
func wordsMayHaveHappened(where string) phrase {
	p := phrase{"It was begun, and no result came back. ", strong("It may have happened."), " Find out first"}
	if where != "" {
		p = append(p, ", at "+where)
	}
	return append(p, "; then choose.")
}

// Questions that an agent asks of its own accord.

func wordsAgentAsks(of approvals.UserID, agent string) phrase {
	return phrase{of, "'s agent ", strong(agent), " asks:"}
}

const (
	wordsOneIsTheAnswer = "One of these is the answer:"
	wordsSomeAreAnswer  = "One or more of these are the answer:"

	wordsRejectUnanswered = " Reject if nobody will answer."
)

func wordsPressOption() phrase {
	return phrase{"Nothing runs: the agent waits to be told the answer. Press the one that is right." +
		wordsRejectUnanswered}
}

func wordsPressAnswer() phrase {
	return phrase{"Nothing runs: the agent waits to be told the answer. Press ", strong(wordsAnswer),
		"." + wordsRejectUnanswered}
}

// Secret values.

func wordsWithheld(names string) phrase {
	return phrase{"Secret, and not shown: ", strong(names), ". "}
}

// wordsRevealFirst follows where nobody approves before they were shown the values.
func wordsRevealFirst() phrase {
	return phrase{"You can approve once you have seen the values: press ", strong(wordsShowDetails),
		", then ", strong(wordsShowSecretValues), ". Who saw them is recorded."}
}

func wordsRevealIfNeeded() phrase {
	return phrase{"Approving covers them too; ", strong(wordsShowDetails), " can show them to you, which is recorded."}
}

// What the requester was asked back.

// On the card: quoted, and cut.

func wordsAskedBack(by, requester approvals.UserID, at any, said string) phrase {
	return phrase{by, " asked ", requester, " ", at, ": “" + said + "”"}
}

func wordsAnsweredBack(requester approvals.UserID, at any, said string) phrase {
	return phrase{requester, " answered ", at, ": “" + said + "”"}
}

// In the details: what was said follows.

func wordsAskedBackThen(by, requester approvals.UserID, at time.Time) phrase {
	return phrase{by, " asked ", requester, ", ", at, ":"}
}

func wordsAnsweredThen(requester approvals.UserID, at time.Time) phrase {
	return phrase{requester, " answered, ", at, ":"}
}

func wordsUnansweredYet(requester approvals.UserID, end string) phrase {
	return phrase{requester, " has not answered yet" + end}
}
