package bot

import (
	"fmt"
	"time"

	"countersign/approvals"
)

// What commands answer beside the lists and cards that they show.

func wordsCommandHelp() phrase {
	return phrase{
		code(slashCommand), ": what waits for you, and what you asked for\n",
		code(slashCommand + " all"), ": everything that waits and that you may see\n",
		code(slashCommand + " show ID"), ": one request in full, with its buttons\n",
		code(slashCommand + " history"), ": what you asked for or answered and what came of it; ", code("history all"),
		": all that you may see\n",
		code(slashCommand + " grants"), ": the answers that hold for later calls too\n",
		code(slashCommand + " revoke ID"), ": ends one of them; a reason may follow\n",
		code(slashCommand + " help"), ": these lines",
	}
}

// Commands that cannot be read.

// wordsUnknownCommand names the nearest command that exists; empty: none is near, and all are listed.
func wordsUnknownCommand(typed, near string) phrase {
	p := phrase{"I do not know ", code(typed), ". "}
	if near != "" {
		return append(p, "Did you mean ", code(slashCommand+" "+near), "? ", code(slashCommand+" help"),
			" lists what there is.")
	}
	return append(append(p, "This is what there is:\n"), wordsCommandHelp()...)
}

func wordsNothingFollows(verb string) phrase {
	return phrase{"Nothing follows ", code(slashCommand + " " + verb), ". Leave the rest out."}
}

func wordsIDMissing(usage string) phrase {
	return phrase{"Say which one: ", code(slashCommand + " " + usage), ". The id is in each line of ",
		code(slashCommand), "; it begins with req_."}
}

func wordsNoRequestID(typed string) phrase {
	return phrase{"This is not the id of a request: ", code(typed), ". It begins with req_, and ",
		code(slashCommand), " lists those that wait."}
}

func wordsGrantMissing() phrase {
	return phrase{"Say which one: ", code(slashCommand + " revoke ID"), ". ", code(slashCommand + " grants"),
		" lists them."}
}

func wordsNoGrantID(typed string) phrase {
	return phrase{"This is not the id of a grant: ", code(typed), ". It begins with grant_, and ",
		code(slashCommand + " grants"), " lists them."}
}

// One request.

func wordsUnseenRequest(id approvals.RequestID) phrase {
	return phrase{"There is no request ", code(string(id)), " that you may see. ", code(slashCommand + " all"),
		" lists those that wait, ", code(slashCommand + " history all"), " the others."}
}

func wordsShowFailed() phrase {
	return phrase{"I cannot show this right now. Try again in a minute."}
}

// wordsOpenCard is a link to a request's own card, from elsewhere.
const wordsOpenCard = "Open its card in the conversation"

// Grants.

func wordsGrants(n int) string { return fmt.Sprintf("Grants: %d", n) }

const (
	wordsMoreOnCommandLine = "There are more; the command line lists all of them."

	wordsGrantApproved = "approved"
	wordsGrantRejected = "rejected"
	wordsGrantOnlyWith = "only with "
)

// wordsGrantOf says whose calls of what a grant answers, and how. What follows is how far it reaches.
func wordsGrantOf(tool, agent, answer string) phrase {
	return phrase{strong(tool), " by " + agent + ": " + answer + " "}
}

// wordsGrantUntil says until when it holds, and how often it was used; most is zero where that is not bounded.
func wordsGrantUntil(used, most int, expires time.Time) phrase {
	uses := ""
	if most > 0 {
		uses = fmt.Sprintf(", %d of %d used", used, most)
	} else if used > 0 {
		uses = fmt.Sprintf(", %d used", used)
	}
	return phrase{uses + ", until ", expires}
}

// wordsGrantState says how a grant stands: one that covers nothing now has not ended, and people are asked meanwhile.
func wordsGrantState(s approvals.GrantState) phrase {
	if s == approvals.GrantInert {
		return phrase{strong(string(s)), ", so calls are asked about"}
	}
	return phrase{strong(string(s))}
}

func wordsGrantGiven(by phrase, at time.Time, id approvals.GrantID) phrase {
	return append(append(phrase{" · given by "}, by...), ", ", at, " · ", code(string(id)))
}

// wordsGrantEnded says when it was revoked; by is empty where nobody is known to have done it.
func wordsGrantEnded(at time.Time, by approvals.UserID) phrase {
	p := phrase{"; revoked ", at}
	if by != "" {
		p = append(p, " by ", by)
	}
	return p
}

func wordsEndsIt(id approvals.GrantID) phrase {
	return phrase{code(slashCommand + " revoke " + string(id)), " ends it"}
}

func wordsInRun(run string) phrase { return phrase{"for the rest of run ", code(run)} }

func wordsInThread(of phrase) phrase { return append(phrase{"in one thread of "}, of...) }

func wordsInConversation(where phrase) phrase { return append(phrase{"in "}, where...) }

const (
	wordsInWorkspace = "in the whole workspace"
	wordsNowhere     = "nowhere"
)

func wordsNoGrants() phrase {
	return phrase{"There are no grants that you may see: people are asked about every call that waits for an answer. ",
		strong(wordsAlwaysApprove), " on a card gives one, where the policy allows it."}
}

func wordsGrantsFailed() phrase {
	return phrase{"I cannot read the grants right now. Try again in a minute."}
}

func wordsRevoked(id approvals.GrantID, tool string) phrase {
	return phrase{"Revoked: ", code(string(id)), ", for ", strong(tool),
		". Later calls are asked about again; one that has begun goes on."}
}

// wordsRevokedBefore leaves out by and at where they are not known.
func wordsRevokedBefore(id approvals.GrantID, tool string, by approvals.UserID, at time.Time) phrase {
	p := phrase{"Grant ", code(string(id)), " for ", strong(tool), " was revoked before"}
	if by != "" {
		p = append(p, " by ", by)
	}
	if !at.IsZero() {
		p = append(p, ", ", at)
	}
	return append(p, ".")
}

func wordsNotRevocable(id approvals.GrantID) phrase {
	return phrase{"There is no grant ", code(string(id)), " that you may revoke. Those who gave it can, and those " +
		"who could decide such a call."}
}

func wordsBadRevocation() phrase {
	return phrase{"Nothing was revoked: the reason is too long, or not text. Leave it out, or say it in fewer words."}
}

func wordsRevokeFailed() phrase {
	return phrase{"I cannot revoke this right now, and it may still be in force. Try again in a minute."}
}
