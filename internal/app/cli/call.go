package cli

import (
	"time"

	"countersign/agent"
	"countersign/approvals"
)

// callWord says what became of the call of a request; empty while the request waits for people.
func callWord(r *approvals.RequestHead) string {
	if r.IsQuestion() {
		return answerWord(r)
	}
	if what := waitsFor(r); what != "" {
		return what
	}
	return string(r.Outcome)
}

// waitsFor says what the approved call of a request waits for; empty where it waits for nothing.
func waitsFor(r *approvals.RequestHead) string {
	switch r.CallWaits() {
	case approvals.WaitsForPeople:
		return "asked about next"
	case approvals.WaitsForResult:
		return "waits for its result"
	case approvals.WaitsForTurn:
		return "waits for its turn"
	}
	return ""
}

// cancelledFirst says who cancelled the run before its approved call had begun; nothing of other calls.
func cancelledFirst(r *approvals.RequestHead) string {
	if r.Status != approvals.RequestApproved || r.CancelledBy == "" {
		return ""
	}
	return "; " + r.CancelledBy.Local() + " cancelled the run first"
}

// callLine says what became of the call, and since when that is so.
func callLine(r *approvals.RequestHead) string {
	since := r.OutcomeAt
	switch {
	case r.IsQuestion() && r.Status == approvals.RequestPending:
		return "not known yet: the question waits for an answer"
	case r.IsQuestion():
		return answerWord(r) + "; nothing runs"
	case r.Status == approvals.RequestPending && r.Outcome == approvals.OutcomeNone:
		return "not known yet: the request waits for people"
	case r.CallWaits() == approvals.WaitsForPeople:
		return waitsFor(r) + ", as " + string(r.SupersededBy) + dated(", since ", r.Settled)
	case r.Outcome == approvals.OutcomeNone && r.Status == approvals.RequestApproved:
		since = r.Settled
	case r.Outcome == approvals.OutcomeNone:
		return "not known"
	}
	if by := reporter(r); by != "" { // when it ran, nobody knows
		return callWord(r) + ", as " + by.Local() + " reported" + dated(" at ", since)
	}
	word := " since "
	if r.Outcome == approvals.OutcomeRan || r.Outcome == approvals.OutcomeFailed {
		word = " at "
	}
	return callWord(r) + dated(word, since) + inNumbers(r) + cancelledFirst(r)
}

// inNumbers is how the call ended as far as its tool has told, behind a colon.
func inNumbers(r *approvals.RequestHead) string {
	if words := r.OutcomeStatus.InFull(); words != "" {
		return ": " + words
	}
	return ""
}

// dated is the instant behind a word, or nothing for no instant.
func dated(word string, t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return word + t.UTC().Format(time.RFC3339)
}

// reporter returns the person who says that the call ran; empty where the tool itself does, or it has not run.
func reporter(r *approvals.RequestHead) approvals.UserID {
	if r.Outcome != approvals.OutcomeRan {
		return ""
	}
	if d := r.Settler(); d != nil && (d.Verdict == approvals.MarkDone || d.Verdict == approvals.ProvideResult) {
		return d.By
	}
	return r.OutcomeBy
}

// callSentence says what became of the call of a request that no longer waits for people.
func callSentence(r *approvals.RequestHead) string {
	switch {
	case r.IsQuestion() && r.Status == approvals.RequestApproved:
		return "The question is answered."
	case r.IsQuestion():
		return "The question has no answer."
	}
	switch r.Outcome {
	case approvals.OutcomeRunning:
		return "The call is running."
	case approvals.OutcomeRan:
		if by := reporter(r); by != "" {
			return "The call ran, as " + by.Local() + " reports."
		}
		return "The call ran" + inNumbers(r) + "."
	case approvals.OutcomeFailed:
		return "The call failed" + inNumbers(r) + ", and the agent is told."
	case approvals.OutcomeNotRun:
		return "The call was not run."
	case approvals.OutcomeUnknown:
		return "It is unknown whether the call ran."
	}
	switch {
	case r.Status != approvals.RequestApproved:
		return "What became of the call is not known."
	case r.Kind == agent.OutcomeUnknown:
		return "The call waits for its turn to run again."
	case r.CallWaits() == approvals.WaitsForPeople:
		return string(r.SupersededBy) + " asks about the call with its values."
	case r.Kind == agent.FieldsRequired:
		return "The call has its values and waits for its turn; " +
			"where it needs approval, people are asked about it next."
	case r.CallWaits() == approvals.WaitsForResult:
		return "The call is carried out elsewhere, and another request waits for its result."
	}
	return "The call waits for its turn."
}
