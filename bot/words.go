package bot

import (
	"fmt"

	"countersign/agent"
	"countersign/approvals"
)

// The words of lists, of the Home tab, of commands and of notices; docs/words.md lists them. Those of cards stand with
// the cards, and those of refusals in errors.go.

// waitsForTurn is said of an approved call that has not begun.
const waitsForTurn = "waits for its turn"

// commandVerbs are the words that may follow the command.
var commandVerbs = []string{"mine", "all", "show", "grants", "revoke", "history", "help"}

func commandHelp() phrase {
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

// wordUnknown is for a command with a word that does not exist: it names the nearest of those that do.
func wordUnknown(typed string, valid ...string) phrase {
	p := phrase{"I do not know ", code(label(typed, 60)), ". "}
	if near := nearest(typed, valid); near != "" {
		return append(p, "Did you mean ", code(slashCommand+" "+near), "? ", code(slashCommand+" help"),
			" lists what there is.")
	}
	return append(append(p, "This is what there is:\n"), commandHelp()...)
}

func noMoreWords(verb string) phrase {
	return phrase{"Nothing follows ", code(slashCommand + " " + verb), ". Leave the rest out."}
}

func idMissing(usage string) phrase {
	return phrase{"Say which one: ", code(slashCommand + " " + usage), ". The id is in each line of ",
		code(slashCommand), "; it begins with req_."}
}

func noRequestID(typed string) phrase {
	return phrase{"That is no id of a request: ", code(label(typed, 60)), ". It begins with req_, and ",
		code(slashCommand), " lists those that wait."}
}

func grantMissing() phrase {
	return phrase{"Say which one: ", code(slashCommand + " revoke ID"), ". ", code(slashCommand + " grants"),
		" lists them."}
}

func noGrantID(typed string) phrase {
	return phrase{"That is no id of a grant: ", code(label(typed, 60)), ". It begins with grant_, and ",
		code(slashCommand + " grants"), " lists them."}
}

func unseenRequest(id string) phrase {
	return phrase{"There is no request ", code(id), " that you may see. ", code(slashCommand + " all"),
		" lists those that wait, ", code(slashCommand + " history all"), " the others."}
}

func showFailed() phrase {
	return phrase{"I cannot show that right now. Please try again in a minute."}
}

func listFailed(of listing) phrase {
	if of.past() {
		return phrase{"I cannot read the history right now. Please try again in a minute."}
	}
	return phrase{"I cannot read the pending requests right now. Please try again in a minute."}
}

// title says what a list shows, and what it does not.
func (l *list) title() phrase {
	p := l.lead(len(l.entries))
	if left := leftOut(l.unjudged); left != "" {
		p = append(p, " "+left)
	}
	return p
}

// titleOfReply is the title where no more than a message shows how the list goes on.
func (l *list) titleOfReply() phrase {
	p := l.title()
	if l.more != "" {
		p = append(p, " There are more: ", code(slashCommand+" "+listing{l.of.verb, l.more}.String()))
	}
	return p
}

// lead is what a list of so many requests begins with.
func (l *list) lead(shown int) phrase {
	switch past := l.of.past(); {
	case shown > 0 && past:
		return phrase{fmt.Sprintf("%d decided, the newest first.", shown)}
	case shown == 1:
		return phrase{"1 request waits."}
	case shown > 0 && (l.more != "" || l.of.after != ""):
		return phrase{fmt.Sprintf("%d requests that wait, the oldest first.", shown)}
	case shown > 0:
		return phrase{fmt.Sprintf("%d requests wait, the oldest first.", shown)}
	case l.more != "" && past && l.of.after != "":
		return phrase{"Very many requests were decided, and among those that come next is none for you."}
	case l.more != "" && past:
		return phrase{"Very many requests were decided, and among the newest of them is none for you."}
	case l.more != "":
		return phrase{"Very many requests wait, and among the first of them is none for you."}
	case l.unjudged > 0:
		return phrase{"Nothing that I am sure you may see."}
	case l.of.after != "" && past:
		return phrase{"Nothing older."}
	case l.of.after != "":
		return phrase{"Nothing more."}
	}
	return l.of.nothing()
}

// nothing is what an empty list says, and what to do next.
func (l listing) nothing() phrase {
	switch l.verb {
	case listAll:
		return phrase{"Nothing waits that you may see. ", code(slashCommand + " history all"),
			" lists what was decided."}
	case listHistory:
		return phrase{"Nothing that you asked for or answered was decided yet. ", code(slashCommand + " history all"),
			" lists what others did, as far as you may see it."}
	case listAllHistory:
		return phrase{"Nothing was decided yet that you may see. ", code(slashCommand + " all"), " lists what waits."}
	}
	return phrase{"Nothing waits for you. ", code(slashCommand + " all"), " lists what waits for others, ",
		code(slashCommand + " history"), " what was decided."}
}

// leftOut says how many requests cannot be listed now; empty for none.
func leftOut(unjudged int) string {
	switch unjudged {
	case 0:
		return ""
	case 1:
		return "One more request is not listed: I cannot find out right now whether you may see it."
	}
	return fmt.Sprintf("%d more requests are not listed: I cannot find out right now whether you may see them.",
		unjudged)
}

// needWords begins what a pending request needs of people.
func needWords(r *approvals.Request) string {
	if r.IsQuestion() {
		return "needs an answer from "
	}
	switch r.Kind {
	case agent.OutcomeUnknown:
		return "needs to know whether it ran, from "
	case agent.ExternalResult:
		return "needs its result from "
	case agent.FieldsRequired:
		return "needs values from "
	}
	return "needs "
}

func sharedWords() phrase {
	return phrase{"Its arguments are not repeated here: the channel is shared with others than this workspace, or I " +
		"cannot find out whether it is. ", strong("Show details"), " shows them to you alone."}
}

func longWords() phrase {
	return phrase{"The call is too long for this list. ", strong("Show details"),
		" shows all of it, and offers to approve it at its end."}
}

// The Home tab.
const (
	homeWaiting = "Waiting for you"
	homeAsked   = "Your requests"
	homeGrants  = "Grants"
	homeDecided = "Your decisions"
)

func nothingForYou() phrase {
	return phrase{"Nothing waits for you. What an agent wants to do and you may decide stands here as soon as it " +
		"asks."}
}

func nothingAsked() phrase {
	return phrase{"You have asked for nothing yet. Mention me in a channel, or write to me under Messages, and say " +
		"what is to be done."}
}

func noGrantsInForce() phrase {
	return phrase{"No grant is in force that you may see: people are asked about every call that needs it. ",
		strong("Always approve"), " on a card gives one, where the policy allows it."}
}

func nothingDecided() phrase {
	return phrase{"You have decided nothing yet. What you decide stands here, with what came of it."}
}

func moreGrants() phrase {
	return phrase{"There are more: ", code(slashCommand + " grants")}
}

func moreAsked() phrase {
	return phrase{"There are more: ", code(slashCommand), " and ", code(slashCommand + " history")}
}

// Grants.

func noGrants() phrase {
	return phrase{"There are no grants that you may see: people are asked about every call that waits for an answer. ",
		strong("Always approve"), " on a card gives one, where the policy allows it."}
}

func grantsFailed() phrase {
	return phrase{"I cannot read the grants right now. Please try again in a minute."}
}

func revoked(g *approvals.Grant) phrase {
	return phrase{"Revoked: ", code(string(g.ID)), ", for ", strong(label(g.Tool, 80)),
		". Later calls are asked about again; one that has begun goes on."}
}

func revokedBefore(g *approvals.Grant) phrase {
	p := phrase{"Grant ", code(string(g.ID)), " for ", strong(label(g.Tool, 80)), " was revoked before"}
	if g.RevokedBy != "" {
		p = append(p, " by ", g.RevokedBy)
	}
	if !g.Revoked.IsZero() {
		p = append(p, ", ", g.Revoked)
	}
	return append(p, ".")
}

func notRevocable(id approvals.GrantID) phrase {
	return phrase{"There is no grant ", code(string(id)), " that you may revoke. Those who gave it can, and those " +
		"who could decide such a call."}
}

func badRevocation() phrase {
	return phrase{"Nothing was revoked: the reason is too long or no text. Leave it out, or say it in fewer words."}
}

func revokeFailed() phrase {
	return phrase{"I cannot revoke that right now, and it may still be in force. Please try again."}
}

// Cards and notices that speak of another request.

// openCard is a link to a request's own card, from elsewhere.
const openCard = "Open its card in the conversation"

// itsCard begins the line of a reminder that names the request.
const itsCard = "Its card is above: "

// retired is what stands on a second card of a request, before the request.
const retired = "This is a copy of a card that is no longer in use. The request is: "

// asksNow begins the line of a card whose question was asked anew.
const asksNow = "What is asked now: "
