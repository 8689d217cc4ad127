package bot

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"countersign/approvals"
)

// refusedSubmission says to the person who mentioned the bot why nothing was started. known is false for errors that
// are nobody's doing: then nothing is acknowledged, and Slack delivers the event again.
func refusedSubmission(err error) (p phrase, known bool) {
	switch {
	case errors.Is(err, approvals.ErrUnauthorized):
		return notAllowed(err, wordsStartRun), true
	case errors.Is(err, approvals.ErrUnavailable):
		return wordsUnsureWhoMayStart(later(err)), true
	case errors.Is(err, approvals.ErrLimit):
		return wordsTooMuchUnderWay(why(err)), true
	case errors.Is(err, approvals.ErrNotFound):
		return wordsNoAgent(), true
	case errors.Is(err, approvals.ErrInvalid):
		return wordsCannotTake(why(err)), true
	}
	return nil, false
}

// refusedDecision says to the person who decided why their answer does not count. r is the request as it stands, or
// nil. known is false for errors that leave open what happened.
func refusedDecision(err error, r *approvals.Request, by approvals.UserID) (p phrase, known bool) {
	switch {
	case errors.Is(err, errAbsent):
		return wordsAbsent(), true
	case refusalIn(err).Rule == approvals.RuleRecorded:
		return wordsRecordedOtherwise(), true
	case errors.Is(err, approvals.ErrConflict) && r != nil && r.Status == approvals.RequestPending:
		return answeredBefore(r, by), true
	case r != nil && r.Status != approvals.RequestPending &&
		(errors.Is(err, approvals.ErrConflict) || errors.Is(err, approvals.ErrExpired) ||
			errors.Is(err, approvals.ErrStale)):
		return outcomeFor(r), true
	case errors.Is(err, approvals.ErrConflict):
		return wordsDecidedAlready(), true
	case errors.Is(err, approvals.ErrUnauthorized):
		p = notAllowed(err, wordsDecide)
		switch refusalIn(err).Rule {
		case approvals.RuleAsked, approvals.RuleForWhom:
		case approvals.RuleFrozen: // which keeps others too: nobody is sent to them
			if r != nil {
				p = frozen(r, p)
			}
		default:
			if r != nil {
				p = append(append(p, " "), whoCan(r, by)...)
			}
		}
		return p, true
	case errors.Is(err, approvals.ErrExpired):
		return wordsTimeHasPassed(), true
	case errors.Is(err, approvals.ErrStale):
		return wordsChangedSince(), true
	case errors.Is(err, approvals.ErrNotFound):
		return wordsUnknownRequest(), true
	case errors.Is(err, approvals.ErrInvalid):
		return wordsDoesNotFit(why(err)), true
	case errors.Is(err, approvals.ErrUnavailable):
		return wordsUnsureWhoMayDecide(later(err)), true
	case errors.Is(err, approvals.ErrEnded):
		return wordsRunEnded(), true
	}
	return nil, false
}

// frozen says which freezes keep people from approving the request, and whom they do not keep; otherwise where it has
// none.
func frozen(r *approvals.Request, otherwise phrase) phrase {
	lines := freezes(r)
	if len(lines) == 0 {
		return otherwise
	}
	p := wordsCannotApproveNow()
	for _, line := range lines {
		p = append(append(append(p, " "), line...), ".")
	}
	return p
}

// notAllowed says why somebody may not do something, as a sentence about them. what is a verb and what belongs to it.
func notAllowed(err error, what string) phrase {
	refused := refusalIn(err)
	switch refused.Rule {
	case approvals.RuleRequester:
		return wordsYouAsked()
	case approvals.RuleEditor:
		return wordsYouChanged()
	case approvals.RuleAsked:
		return wordsOtherAnswers(approvals.UserID(refused.About))
	case approvals.RuleForWhom:
		return wordsForWhom(peopleIn(refused.About))
	case approvals.RuleWorkspace:
		return wordsTheyCannot(wordsIrregular[wordsOtherWorkspace], what)
	case approvals.RuleMember:
		if group, ok := wordsIrregular[refused.About]; ok {
			return wordsTheyCannot(group, what)
		}
	}
	return wordsYouCannot(what, why(err))
}

// peopleIn lists the people whose ids a refusal is about.
func peopleIn(about string) (p phrase) {
	ids := strings.Fields(about)
	for i, id := range ids {
		p = append(p, []any{"", ", ", wordsAnd}[joint(i, len(ids))], approvals.UserID(id))
	}
	return p
}

// whoCan says who may answer the request, to somebody who may not: in one sentence where the policy is a simple one.
// Nobody is named who has answered, nor who has asked for the call or made it what it is, unless the policy lets them
// decide.
func whoCan(r *approvals.Request, by approvals.UserID) phrase {
	seats := r.Requirement.Seats
	if r.Status != approvals.RequestPending || policyChanged(r) || len(seats) != 1 || len(r.Inherited) > 0 {
		return joined(whoAnswers(r))
	}
	sets := []approvals.Approvers{seats[0].Approvers}
	if !r.Escalated.IsZero() {
		sets = append(sets, r.Requirement.Escalation.To)
	}
	who := others(r, by, sets)
	const most = 10
	if len(who) == 0 || len(who) > most {
		return joined(whoAnswers(r))
	}
	var p phrase
	for i, one := range who {
		p = append(p, []any{"", ", ", wordsAnd}[joint(i, len(who))])
		if in, ok := one.(room); ok {
			p = append(p, wordsOtherMembers(i == 0), in)
			continue
		}
		p = append(p, one)
	}
	return append(p, wordsCan)
}

// others lists people, groups and the channel of the sets, without by, whoever has answered, and whoever may not decide
// about what is theirs.
func others(r *approvals.Request, by approvals.UserID, sets []approvals.Approvers) (who []any) {
	add := func(one any) {
		if !slices.Contains(who, one) {
			who = append(who, one)
		}
	}
	apart := []approvals.UserID{by}
	for _, d := range r.Decisions {
		if d.Void == "" { // they have answered
			apart = append(apart, d.By, d.For)
		}
	}
	if !r.Requirement.SelfApproval {
		apart = append(append(apart, r.Requester), r.Editors...)
	}
	for _, set := range sets {
		users := set.Users
		if set.ChannelMembers && r.Place.Direct {
			users = append(slices.Clone(users), r.Requester)
		}
		for _, u := range users {
			if !slices.Contains(apart, u) {
				add(u)
			}
		}
		for _, g := range set.Groups {
			add(group(g))
		}
		if set.ChannelMembers && !r.Place.Direct {
			add(room(r.Place.Channel))
		}
	}
	return who
}

// errPanicked is what an answer came to while it was recorded by code that panicked: it may have been recorded before.
var errPanicked = fmt.Errorf("the handler gave up: %w", approvals.ErrCommitUnknown)

// unrecorded says that what somebody did had no effect, for an error that is nobody's doing; where the store itself
// cannot tell, it says that.
func unrecorded(err error) phrase {
	if errors.Is(err, approvals.ErrCommitUnknown) {
		return wordsUnsureWhetherRecorded()
	}
	return wordsUnrecorded()
}

// later says when trying again may help: when Slack says so, or in a minute.
func later(err error) string {
	retry, ok := errors.AsType[*approvals.RetryError](err)
	if !ok {
		return wordsAMinute
	}
	if retry.After > 2*time.Minute {
		return wordsInMinutes(int(math.Ceil(retry.After.Minutes())))
	}
	return wordsInSeconds(max(2, int(math.Ceil(retry.After.Seconds()))))
}

// answeredBefore is for somebody whose answer counts already, their own or that of their delegate, while others are
// waited for.
func answeredBefore(r *approvals.Request, by approvals.UserID) phrase {
	d := answerOf(r, func(d *approvals.Decision) bool { return d.By == by })
	if d == nil {
		d = answerOf(r, func(d *approvals.Decision) bool { return d.For == by })
	}
	var p phrase
	switch {
	case d == nil && len(r.Decisions) == 0:
		return wordsDecidedAlready()
	case d == nil:
		return append(append(wordsAnswerCountsAlready(), " "), joined(whoAnswers(r))...)
	case d.By == by:
		p = wordsAnsweredBefore(wordsVerdict(d.Verdict), d.At)
	default:
		p = wordsAnsweredForYou(d.By, wordsVerdict(d.Verdict), d.At)
	}
	if still := stillNeeded(r); still != nil && d.Verdict.Affirms() {
		return append(append(p, still...), ".")
	}
	return append(p, joined(whoAnswers(r))...)
}

// answerOf returns the first answer to r that counts and is such a one.
func answerOf(r *approvals.Request, such func(*approvals.Decision) bool) *approvals.Decision {
	for i := range r.Decisions {
		if d := &r.Decisions[i]; d.Void == "" && such(d) {
			return d
		}
	}
	return nil
}

// refusalIn returns the refusal that err is or wraps; without one, an empty refusal.
func refusalIn(err error) *approvals.Refusal {
	if refused, ok := errors.AsType[*approvals.Refusal](err); ok {
		return refused
	}
	return new(approvals.Refusal)
}

// why returns the reason of a refusal as a continuation of a sentence; empty without one: other errors are for
// operators.
func why(err error) string {
	refused := refusalIn(err)
	if refused.Why == "" {
		return ""
	}
	return ": " + label(refused.Why, 400)
}

// mendableByHand reports whether sending the same form again, or an edited one, may succeed.
func mendableByHand(err error) bool {
	return errors.Is(err, approvals.ErrInvalid) || errors.Is(err, approvals.ErrUnavailable)
}
