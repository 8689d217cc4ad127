package bot

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/slack-go/slack"

	"countersign/agent"
	"countersign/approvals"
)

// pendingBlocks renders a question in the order in which somebody with five seconds reads: what will happen, who wants
// it and why they are asked, the call, who decides until when, what to press; and reports whether all of the call is
// shown.
func pendingBlocks(r *approvals.Request, call *cardCall, lead phrase, x extent) ([]slack.Block, bool) {
	var blocks []slack.Block
	if lead != nil {
		blocks = append(blocks, paragraph(lead))
	}
	blocks = append(blocks, header(question(r)), paragraph(askers(r)...))
	complete := x < beginning
	if r.IsQuestion() {
		blocks = append(blocks, questionBlocks(r)...)
	}
	if words := whatToDo(r); words != nil {
		blocks = append(blocks, paragraph(words))
	}
	if lines := about(r, x); len(lines) > 0 {
		blocks = append(blocks, paragraph(lines...))
	}
	if !r.IsQuestion() || r.Question() == nil {
		var shown []slack.Block
		shown, complete = call.blocks(x)
		blocks = append(blocks, shown...)
	}
	if lines := askedBackLines(r); len(lines) > 0 && x < beginning {
		blocks = append(blocks, paragraph(lines...))
	}
	blocks = append(blocks, paragraph(terms(r, x, complete)...))
	for _, row := range cardButtons(r, complete) {
		blocks = append(blocks, slack.NewActionBlock("", row...))
	}
	return stamp(append(blocks, smallPrint(fineprint(r, complete))), blockPrefix(r)), complete
}

// question is the headline of a question wherever one stands.
func question(r *approvals.Request) string {
	whole := asking(r) + headline(r) // which is made visible already
	if units(whole) > maxHeader {
		whole = whole[:prefix(whole, maxHeader-1)] + "…"
	}
	return whole
}

// maxHeader is how many characters a header may have, as units counts them.
const maxHeader = 150

// asking begins the headline of a question that is about something else than whether a call may run. What is settled
// needs nothing any more.
func asking(r *approvals.Request) string {
	pending := r.Status == approvals.RequestPending
	switch {
	case r.IsQuestion():
		return wordsQuestionLead
	case r.Kind == agent.OutcomeUnknown:
		return wordsDidItHappenLead
	case r.Kind == agent.ExternalResult && pending:
		return wordsResultLead
	case r.Kind == agent.FieldsRequired && pending:
		return wordsValuesLead
	}
	return ""
}

// askers say who wants the call, in their own words, who makes it, and what has it asked about.
func askers(r *approvals.Request) []phrase {
	who := wordsAskedForThis(r.Requester)
	if r.Words != "" {
		who = wordsAsksFor(r.Requester, inOwnWords(r.Workspace, r.Words)).joined()
	}
	if r.IsQuestion() { // whose words are below, with the agent that asks
		return []phrase{who}
	}
	call := append(wordsCalls(caller(r), toolName(r)), whyAsked(r)...)
	if r.Requirement.Risk == approvals.RiskHigh {
		call = append(call, wordsHighRisk)
	}
	return []phrase{who, call}
}

// about says what is special about the call: who changed it and how, what was approved before it, how far it has come.
// Of many changes it names the first; all of them are in the details.
func about(r *approvals.Request, x extent) (lines []phrase) {
	most := maxRows
	if x >= beginning {
		most = 6
	}
	changes := r.Changes()
	for i, c := range changes {
		if i == most {
			lines = append(lines, phrase{wordsMoreArgumentsDiffer(len(changes) - most)})
			break
		}
		line := phrase{strong(label(c.Name, 80)), "  " + label(strings.TrimPrefix(c.String(), c.Name+": "), 200)}
		if by := r.Editors; len(by) > 0 {
			line = append(line, wordsChangedBy(by[len(by)-1])...)
		}
		lines = append(lines, line)
	}
	if r.Supersedes != "" {
		lines = append(lines, phrase{wordsTakesPlace})
	}
	if l := r.Like; l != nil {
		lines = append(lines, likeLine(l))
	}
	if sending := sendingLine(r); sending != nil {
		lines = append(lines, sending)
	}
	return lines
}

// likeLine says how the call differs from the one that was approved before it.
func likeLine(l *approvals.Likeness) phrase {
	line := wordsLikeApproved(l.By, l.At)
	if len(l.Differs) == 0 {
		return append(line, wordsSameArguments)
	}
	return append(line, wordsButFor(strings.Trim(inBrackets(l.Differs), " ()")))
}

// terms say who decides, until when, and how far it is; where there is no room for that, what is missing in one line.
func terms(r *approvals.Request, x extent, whole bool) []phrase {
	var lines []phrase
	if x == least {
		lines = []phrase{stillAwaits(r)}
	} else {
		lines = untilWhen(r)
	}
	if note := secretNote(r); note != nil {
		lines = append(lines, note)
	}
	if !whole && (r.Kind == agent.Confirm || r.Kind == agent.OutcomeUnknown) {
		lines = append(lines, wordsTooLongForCard())
	}
	return lines
}

// untilWhen says who decides until when, and how far that has come.
func untilWhen(r *approvals.Request) []phrase {
	lines := whoAnswers(r)
	if r.Expires.IsZero() {
		lines[0] = append(lines[0], wordsNoDeadline)
	} else {
		lines[0] = append(lines[0], wordsUntil(r.Expires)...)
	}
	return append(append(lines, freezes(r)...), soFar(r)...)
}

// fineprint identifies the call on its card.
func fineprint(r *approvals.Request, whole bool) string {
	shown := wordsComplete
	switch {
	case !whole:
		shown = wordsNotComplete
	case len(r.Withheld()) > 0:
		shown = wordsCompleteMasked
	}
	return fmt.Sprintf("%s · %s · %s", shown, hex.EncodeToString(r.Digest[:8]), r.ID)
}

// whatToDo explains the questions that are not about letting a call run.
func whatToDo(r *approvals.Request) phrase {
	if r.IsQuestion() {
		return howToAnswer(r)
	}
	switch r.Kind {
	case agent.OutcomeUnknown:
		return mayHaveHappened(r)
	case agent.ExternalResult:
		if r.Trigger != nil {
			return wordsResultOfSystem()
		}
		return wordsResultElsewhere()
	case agent.FieldsRequired:
		return wordsValuesMissing()
	}
	return nil
}

// mayHaveHappened says what is known of a call of which nobody knows whether it happened, and how to find out.
func mayHaveHappened(r *approvals.Request) phrase {
	if where, _ := boundTo(r.Tool); len(where.lines) > 0 {
		return wordsMayHaveHappened(label(where.lines[0], 200))
	}
	return wordsMayHaveHappened("")
}

// sendingLine says how far the call has come on its way to the system that carries it out; nil where none is told.
func sendingLine(r *approvals.Request) phrase {
	if text := r.Sending(); text != "" {
		return phrase{label(text, 500)}
	}
	return nil
}

// changedBy names the people who made the call what it is, and the request that their change took the place of.
func changedBy(r *approvals.Request) []phrase {
	if len(r.Editors) == 0 {
		return nil
	}
	return []phrase{wordsEditors(persons(r.Editors), !r.Requirement.SelfApproval, r.Supersedes)}
}

// persons names people.
func persons(all []approvals.UserID) (p phrase) {
	for i, u := range all {
		p = append(p, []any{"", ", ", wordsAnd}[joint(i, len(all))], u)
	}
	return p
}

func toolName(r *approvals.Request) string { return label(r.Tool.Name, 80) }

// caller names the agent that made the call, and those that use it as a tool.
func caller(r *approvals.Request) phrase {
	path := slices.Clone(r.Path)
	if len(path) == 0 {
		path = []string{r.Agent}
	}
	slices.Reverse(path)
	p := phrase{strong(label(path[0], 200))}
	if len(path) > 1 {
		p = append(p, wordsUsedBy+label(strings.Join(path[1:], wordsUsedBy), 200))
	}
	return p
}
