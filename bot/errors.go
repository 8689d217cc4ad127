package bot

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"countersign/approvals"
)

// refusedSubmission says to the person who mentioned the bot why nothing was started. known is false for errors that
// are nobody's doing: then nothing is acknowledged, and Slack delivers the event again.
func refusedSubmission(err error) (p phrase, known bool) {
	switch {
	case errors.Is(err, approvals.ErrUnauthorized):
		return notAllowed(err, "start a run"), true
	case errors.Is(err, approvals.ErrUnavailable):
		return phrase{"Slack does not say right now whether you may start this. Nothing was started: " +
			"send it again in " + later(err) + "."}, true
	case errors.Is(err, approvals.ErrLimit):
		return phrase{"Too much is under way already" + reason(err, approvals.ErrLimit) +
			". Nothing was started: send it again when something has ended."}, true
	case errors.Is(err, approvals.ErrNotFound):
		return phrase{"The agent for this channel is not configured. Nothing was started: " +
			"tell the people who run me."}, true
	case errors.Is(err, approvals.ErrInvalid):
		return phrase{"This message cannot be taken" + reason(err, approvals.ErrInvalid) +
			". Nothing was started: send it again otherwise."}, true
	}
	return nil, false
}

// refusedDecision says to the person who decided why their answer does not count. r is the request as it stands, or
// nil. known is false for errors that leave open what happened.
func refusedDecision(err error, r *approvals.Request, by approvals.UserID) (p phrase, known bool) {
	switch {
	case errors.Is(err, errAbsent):
		return absentWords(), true
	case errors.Is(err, approvals.ErrConflict) && r != nil && r.Status == approvals.RequestPending:
		return answeredBefore(r, by), true
	case r != nil && r.Status != approvals.RequestPending &&
		(errors.Is(err, approvals.ErrConflict) || errors.Is(err, approvals.ErrExpired) ||
			errors.Is(err, approvals.ErrStale)):
		return outcomeFor(r), true
	case errors.Is(err, approvals.ErrConflict):
		return phrase{"This has been decided already."}, true
	case errors.Is(err, approvals.ErrUnauthorized):
		p = notAllowed(err, "decide")
		if r != nil {
			p = append(append(p, " "), whoCan(r)...)
		}
		return p, true
	case errors.Is(err, approvals.ErrExpired):
		return phrase{"The time for an answer has passed. Nothing was recorded: have it asked again."}, true
	case errors.Is(err, approvals.ErrStale):
		return phrase{"This request has changed since it was shown to you. Nothing was recorded: " +
			"look at it again."}, true
	case errors.Is(err, approvals.ErrNotFound):
		return phrase{"I do not know this request any more."}, true
	case errors.Is(err, approvals.ErrInvalid):
		return phrase{"This answer does not fit this request" + reason(err, approvals.ErrInvalid) +
			". Nothing was recorded."}, true
	case errors.Is(err, approvals.ErrUnavailable):
		return phrase{"Not confirmed yet: Slack does not say right now who may decide this. Nothing was recorded: " +
			"try again in " + later(err) + "."}, true
	case errors.Is(err, approvals.ErrEnded):
		return phrase{"This run has ended already."}, true
	}
	return nil, false
}

// notAllowed says why somebody may not do something, as a sentence about them. what is a verb and what belongs to it.
func notAllowed(err error, what string) phrase {
	_, words, _ := strings.Cut(err.Error(), approvals.ErrUnauthorized.Error()+": ")
	if group, ok := irregularPeople[words]; ok {
		return phrase{group + " cannot " + what + "."}
	}
	switch words {
	case "the requester does not decide about their own request":
		return phrase{"You asked for this, so somebody else has to decide."}
	case "who changed or filled in the arguments does not decide about them":
		return phrase{"You changed the arguments or filled them in, so somebody else has to decide."}
	}
	return phrase{"You cannot " + what + reason(err, approvals.ErrUnauthorized) + "."}
}

// irregularPeople name those who may do nothing here, by why; see irregular.
var irregularPeople = map[string]string{
	whyDeactivated:         "Deactivated accounts",
	whyStranger:            "People from other organisations",
	whyGuestOfOne:          "Guests",
	whyGuest:               "Guests",
	whyBot:                 "Bots",
	whyInvited:             "People who are invited and have not joined yet",
	whyOtherOrganisation:   "People from other organisations",
	whyOtherWorkspace:      "People from other workspaces",
	"of another workspace": "People from other workspaces",
}

// whoCan says who may answer the request, to somebody who may not: in one sentence where the policy is a simple one.
func whoCan(r *approvals.Request) phrase {
	seats := r.Requirement.Seats
	if r.Status != approvals.RequestPending || policyChanged(r) || len(seats) != 1 || len(r.Inherited) > 0 {
		return joined(whoAnswers(r))
	}
	a := seats[0].Approvers
	who := mentions(approvals.Awaited{Users: a.Users, Groups: a.Groups, ChannelMembers: a.ChannelMembers})
	if len(who) == 0 {
		return joined(whoAnswers(r))
	}
	if s, ok := who[0].(string); ok {
		who[0] = strings.ToUpper(s[:1]) + s[1:]
	}
	return append(who, " can: open the thread.")
}

// foreignWords is for what was done on a card or in a form that another workspace's bot is to answer for.
func foreignWords() phrase {
	return phrase{"This belongs to another workspace, whose answers I do not take. Nothing was recorded: " +
		"ask somebody there to answer it."}
}

// unreadableForm is for a form that an earlier version of the bot made, or a broken one.
func unreadableForm() phrase {
	return phrase{"This form is not one of mine any more. Nothing was recorded: " +
		"close it, and press the button on the card again."}
}

// later says when trying again may help: when Slack says so, or in a minute.
func later(err error) string {
	retry, ok := errors.AsType[*approvals.RetryError](err)
	if !ok {
		return "a minute"
	}
	if retry.After > 2*time.Minute {
		return fmt.Sprintf("%d minutes", int(math.Ceil(retry.After.Minutes())))
	}
	return fmt.Sprintf("%d seconds", max(2, int(math.Ceil(retry.After.Seconds()))))
}

// answeredBefore is for somebody whose answer counts already while others are waited for.
func answeredBefore(r *approvals.Request, by approvals.UserID) phrase {
	for _, d := range r.Decisions {
		if d.By == by && d.Void == "" {
			p := phrase{"Your answer is recorded already: ", verdictWord(d.Verdict), ", ", d.At, ". "}
			if still := stillNeeded(r); still != nil && d.Verdict.Affirms() {
				return append(append(p, still...), ".")
			}
			return append(p, joined(whoAnswers(r))...)
		}
	}
	return phrase{"This has been decided already."}
}

// unrecorded is said when it is certain, or as good as, that nothing was written.
func unrecorded() phrase {
	return phrase{"Your answer was not recorded: something went wrong on my side. Try again."}
}

// unconfirmed is said when it takes longer than a person should wait.
func unconfirmed() phrase {
	return phrase{"Your answer is on its way; I will tell you here when it is recorded."}
}

// reason returns the words that a service put behind a sentinel, as a continuation of a sentence. What is nested
// deeper is for operators.
func reason(err, sentinel error) string {
	_, words, found := strings.Cut(err.Error(), sentinel.Error()+": ")
	if !found || words == "" {
		return ""
	}
	return ": " + label(words, 200)
}

// mendableByHand reports whether sending the same form again, or an edited one, may succeed.
func mendableByHand(err error) bool {
	return errors.Is(err, approvals.ErrInvalid) || errors.Is(err, approvals.ErrUnavailable)
}
