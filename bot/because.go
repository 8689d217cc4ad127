package bot

import (
	"slices"
	"strings"
	"unicode/utf8"

	"countersign/approvals"
)

// maxBecause is how many characters of an expression stand on a card; the details have all of it.
const maxBecause = 80

// whyAsked says what has the call asked about: the expression of the tool's gate, where it has one, and the policy with
// its own.
func whyAsked(r *approvals.Request) phrase {
	gate, when := onCard(r, r.Because), onCard(r, r.Requirement.Because)
	switch name := r.Requirement.Policy; {
	case gate == "" && name == "":
		return nil
	case gate == "" && name == "default_policy":
		return phrase{wordsByDefaultPolicy}
	case gate == "":
		return wordsByPolicy(label(name, 80), when)
	case name == "" || name == "default_policy":
		return wordsBecause(gate)
	default:
		return wordsBecauseByPolicy(gate, label(name, 80), when)
	}
}

// onCard is an expression as it stands on a card; empty where it is long, or speaks of an argument that is secret: then
// only the details have it.
func onCard(r *approvals.Request, expression string) string {
	aboutSecret := slices.ContainsFunc(r.Secret, func(name string) bool { return strings.Contains(expression, name) })
	if aboutSecret || utf8.RuneCountInString(expression) > maxBecause {
		return ""
	}
	return label(expression, 2*maxBecause)
}

// becauseLines are the expressions in full, for the details.
func becauseLines(r *approvals.Request) (lines []phrase) {
	if r.Because != "" {
		lines = append(lines, wordsToolAsksBecause(label(r.Because, 2000)))
	}
	if because := r.Requirement.Because; because != "" {
		lines = append(lines, wordsPolicyIsFor(label(r.Requirement.Policy, 80), label(because, 2000)))
	}
	return lines
}
