package approvals

import "fmt"

// Why an answer for later calls is not taken on its terms, and why a grant is not revoked.

const (
	wordsGrantForOther = "nobody gives a grant for somebody else; answer this call alone, or all calls of the run"
	wordsOnlyEscalated = "who may answer only because this has waited for so long answers this call alone; " +
		"approve it once"
	wordsChangedByHand = "a person changed this call, so an answer for all calls does not fit it; " +
		"answer this call alone"
	wordsExternalTerms = "people see to each call of an external tool; leave scope, time, uses and conditions out"
)

func wordsTermsOfOther(v Verdict) string {
	return fmt.Sprintf("scope, time, uses and conditions go with an answer for later calls, and %q is none; "+
		"leave them out", v)
}

func wordsRiskAllowsNone(policy string) string {
	return policy + " is of high risk and allows no answers for later calls; answer this call alone"
}

func wordsAllowsNone(policy string) string {
	return policy + " allows no answers for all calls of the run; answer this call alone"
}

func wordsNoScope(s Scope) string {
	return fmt.Sprintf("%q is no scope of a grant; it is run, thread, channel or workspace", s)
}

func wordsAllowsNoScope(policy string, s Scope, allowed string) string {
	return fmt.Sprintf("%s allows no answers for later calls in the scope %q; always.scopes of the agents file names "+
		"those it allows: %s", policy, s, allowed)
}

// How long, and for how many calls.

const (
	wordsTooShort           = "a grant lasts at least a second; give it more time"
	wordsRejectionHasNoUses = "a rejection is not used up; leave the number of uses out"
)

func wordsTooLong(policy, most string) string {
	return fmt.Sprintf("%s lets a grant last %s at most; ask for no more", policy, most)
}

func wordsHowManyUses(most int) string {
	return fmt.Sprintf("a grant is for between 1 and %d uses, or 0 for any number", most)
}

// Conditions on arguments.

func wordsSecretCondition(name string) string {
	return fmt.Sprintf("%q is a secret argument, and a condition shows its value to those who list grants; "+
		"leave it out", name)
}

func wordsTooManyConditions(most int) string {
	return fmt.Sprintf("a grant has at most %d conditions; leave some out", most)
}

func wordsNothingToKeep(name string) string {
	return fmt.Sprintf("this call has no argument %q that could stay the same; name one that it has", name)
}

func wordsNotWithout(name string) string {
	return fmt.Sprintf("this call has the argument %q, so it is no example of calls without it; leave that out", name)
}

func wordsNoNumber(name string) string {
	return fmt.Sprintf("the argument %q of this call is no number that others could be compared with; "+
		"leave it out", name)
}

func wordsNamedTwice(pointer string) string {
	return fmt.Sprintf("the argument %q is named twice; name it once", pointer)
}

func wordsArgumentName(most int) string {
	return fmt.Sprintf("an argument's name has between 1 and %d characters", most)
}

func wordsNoPointer(name string) string {
	return fmt.Sprintf("%q is no JSON pointer; after ~ comes 0 or 1", name)
}

// Grants that there are.

func wordsTooManyGrants(n int, tool string) string {
	return fmt.Sprintf("there are %d grants for %s already; revoke those that nobody needs, or answer this call alone",
		n, tool)
}

const (
	wordsNotTheirGrant = "those who gave it can revoke it, and so can an operator"
	wordsRevokedBefore = "it was revoked before"
)
