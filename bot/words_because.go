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
	gate, policy := onCard(r, r.Because), ""
	named := strong(label(r.Requirement.Policy, 80))
	if because := onCard(r, r.Requirement.Because); because != "" {
		policy = ", for " + because
	}
	switch name := r.Requirement.Policy; {
	case gate == "" && name == "":
		return nil
	case gate == "" && name == "default_policy":
		return phrase{" · asked by the default policy"}
	case gate == "":
		return phrase{" · asked by policy ", named, policy}
	case name == "" || name == "default_policy":
		return phrase{" · asked because " + gate}
	}
	return phrase{" · asked because " + gate + " · policy ", named, policy}
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
		lines = append(lines, phrase{"The tool asks because ", code(label(r.Because, 2000))})
	}
	if because := r.Requirement.Because; because != "" {
		lines = append(lines, phrase{"Policy " + label(r.Requirement.Policy, 80) + " is for calls where ",
			code(label(because, 2000))})
	}
	return lines
}
