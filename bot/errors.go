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
		return phrase{"I cannot start that for you" + reason(err, approvals.ErrUnauthorized) + "."}, true
	case errors.Is(err, approvals.ErrUnavailable):
		return phrase{"I cannot find out right now whether you may start this. Nothing was started; " +
			"please send it again in " + later(err) + "."}, true
	case errors.Is(err, approvals.ErrLimit):
		return phrase{"Too much is under way already" + reason(err, approvals.ErrLimit) +
			". Nothing was started; try again when something has ended."}, true
	case errors.Is(err, approvals.ErrNotFound):
		return phrase{"The agent for this channel is not configured. Please tell the people who run me."}, true
	case errors.Is(err, approvals.ErrInvalid):
		return phrase{"I cannot take this message" + reason(err, approvals.ErrInvalid) + "."}, true
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
		p = phrase{"You cannot decide this" + reason(err, approvals.ErrUnauthorized) + "."}
		if r != nil {
			p = append(append(p, " "), joined(whoAnswers(r))...)
		}
		return p, true
	case errors.Is(err, approvals.ErrExpired):
		return phrase{"The time for an answer has passed. Nothing was recorded."}, true
	case errors.Is(err, approvals.ErrStale):
		return phrase{"What you were shown is not what this request holds now. " +
			"Nothing was recorded; look at it again."}, true
	case errors.Is(err, approvals.ErrNotFound):
		return phrase{"I do not know this request any more."}, true
	case errors.Is(err, approvals.ErrInvalid):
		return phrase{"That answer does not fit this request" + reason(err, approvals.ErrInvalid) + "."}, true
	case errors.Is(err, approvals.ErrUnavailable):
		return phrase{"Not confirmed yet: I cannot find out right now who may decide this. Nothing was recorded; " +
			"please try again in " + later(err) + "."}, true
	case errors.Is(err, approvals.ErrEnded):
		return phrase{"This run has ended already."}, true
	}
	return nil, false
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
	return phrase{"Something went wrong on my side and your answer was not recorded. Please try again."}
}

// unconfirmed is said when it takes longer than a person should wait.
func unconfirmed() phrase {
	return phrase{"Not confirmed yet: recording your answer takes longer than usual. I will tell you how it went."}
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
