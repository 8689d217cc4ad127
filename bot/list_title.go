package bot

import (
	"countersign/agent"
	"countersign/approvals"
)

// title says what a list shows, and what it does not.
func (l *list) title() phrase {
	p := l.lead(len(l.entries))
	if l.unjudged > 0 {
		p = append(p, " "+wordsLeftOutOfList(l.unjudged))
	}
	return p
}

// titleOfReply is the title where no more than a message shows how the list goes on.
func (l *list) titleOfReply() phrase {
	p := l.title()
	if l.more != "" {
		p = append(p, wordsMoreFollow(slashCommand+" "+listing{l.of.verb, l.more}.String())...)
	}
	return p
}

// lead is what a list of so many requests begins with.
func (l *list) lead(shown int) phrase {
	switch past := l.of.past(); {
	case shown > 0 && past:
		return phrase{wordsDecided(shown)}
	case shown > 0 && (l.more != "" || l.of.after != ""):
		return phrase{wordsWaitingHere(shown)}
	case shown > 0:
		return phrase{wordsWaiting(shown)}
	case l.more != "" && past && l.of.after != "":
		return phrase{wordsNoneOfNext}
	case l.more != "" && past:
		return phrase{wordsNoneOfNewest}
	case l.more != "":
		return phrase{wordsNoneOfFirst}
	case l.unjudged > 0:
		return phrase{wordsNothingSure}
	case l.of.after != "" && past:
		return phrase{wordsNothingOlder}
	case l.of.after != "":
		return phrase{wordsNothingFurther}
	}
	return l.of.nothing()
}

// nothing is what an empty list says.
func (l listing) nothing() phrase {
	switch l.verb {
	case listAll:
		return wordsNothingAtAll()
	case listHistory:
		return wordsNoHistoryOfMine()
	case listAllHistory:
		return wordsNoHistory()
	}
	return wordsNothingMine()
}

// listFailed is said in the place of a list that cannot be read.
func listFailed(of listing) phrase {
	if of.past() {
		return wordsHistoryFailed()
	}
	return wordsPendingFailed()
}

// needs begins what a pending request needs of people.
func needs(r *approvals.Request) string {
	if r.IsQuestion() {
		return wordsNeedsAnswer
	}
	switch r.Kind {
	case agent.OutcomeUnknown:
		return wordsNeedsOutcome
	case agent.ExternalResult:
		return wordsNeedsResult
	case agent.FieldsRequired:
		return wordsNeedsValues
	}
	return wordsNeedsPeople
}
