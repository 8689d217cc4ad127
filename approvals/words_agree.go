package approvals

import (
	"fmt"
	"strings"
	"time"
)

// Who must agree to a call, when nobody may, and why too few can: where a policy is described, on the command line and
// in notices. Cards name people by mentions instead, with words of their own.

const (
	wordsThePolicy         = "the policy"
	wordsNobodyApproves    = "nobody can approve this"
	wordsNotRequester      = ", not the requester"
	wordsTheChannelMembers = "the members of this channel"
)

func wordsPolicyNamed(policy string) string { return fmt.Sprintf("policy %q", policy) }

func wordsMembersOfChannel(n int) string {
	return fmt.Sprintf("%d member%s of this channel", n, plural(n))
}

func wordsCountOf(n int, who string) string { return fmt.Sprintf("%d of %s", n, who) }

// wordsOneEach names two sets of people or more, of each of which somebody is needed.
func wordsOneEach(sets []string) string {
	last := len(sets) - 1
	return "one each of " + strings.Join(sets[:last], "; ") + "; and " + sets[last]
}

func wordsLaterAlso(after, who string) string { return fmt.Sprintf("; after %s also %s", after, who) }

func wordsGroup(id string) string { return "group " + id }

// Freezes.

// wordsFreeze names whom the freeze excepts; empty: nobody.
func wordsFreeze(from, until time.Time, but string) string {
	who := "nobody may approve"
	if but != "" {
		who = "only " + but + " may approve"
	}
	return fmt.Sprintf("from %s until %s %s", freezeTime(from), freezeTime(until), who)
}

func wordsFrozenFor(policy string, until time.Time) string {
	return fmt.Sprintf("%s is frozen for everybody until %s, longer than it waits for an answer", policy,
		freezeTime(until))
}

const wordsAskAgainThen = "Ask again then."

// Why nobody can be asked: these continue a sentence.

const wordsPolicyFailed = "its policy failed; an operator must mend it"

func wordsTooFewAsked(policy string, needs, found int) string {
	return fmt.Sprintf("%s needs %d approver%s, and %d can be asked", policy, needs, plural(needs), found)
}

func wordsTooManyWait(n int) string {
	return fmt.Sprintf("%d requests of the same person wait already", n)
}

// What may be filled in: a field on one line. These continue each other.

const (
	wordsAnyValue       = "any value"
	wordsFieldRequired  = ", required"
	wordsFieldsProposal = "; proposed by the model: "
)

func wordsOneOf(values string) string { return "one of " + values }
