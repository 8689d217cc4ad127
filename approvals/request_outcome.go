package approvals

import (
	"fmt"
	"slices"

	"countersign/agent"
	"countersign/agent/toolstatus"
)

// CallWait is what an approved call waits for.
type CallWait string

const (
	WaitsForTurn   CallWait = "turn"   // to be carried out here
	WaitsForPeople CallWait = "people" // it has its values, and another request asks whether it may run
	WaitsForResult CallWait = "result" // another system carries it out
)

// CallWaits says what the approved call of the request waits for; empty of a request that is not approved, or of whose
// call something is known.
func (r *RequestHead) CallWaits() CallWait {
	switch {
	case r.Status != RequestApproved || r.Outcome != OutcomeNone || r.IsQuestion():
		return ""
	case r.SupersededBy != "":
		return WaitsForPeople
	case r.Kind == agent.Confirm && r.Tool.Kind == agent.KindExternal:
		return WaitsForResult
	}
	return WaitsForTurn
}

// settledOutcome says what is known of the call at the moment the request is settled.
func (r *RequestHead) settledOutcome() Outcome {
	switch r.Kind {
	case agent.OutcomeUnknown:
		return r.foundOutcome()
	case agent.FieldsRequired: // what was filled in may have to be approved yet
		if r.Status == RequestApproved {
			return OutcomeNone
		}
	case agent.ExternalResult:
		switch r.Status {
		case RequestApproved:
			return OutcomeRan // as somebody reports
		case RequestStale:
			if r.Outcome == OutcomeRan { // that stays true of a call that is asked about again
				return OutcomeRan
			}
		case RequestRejected:
			if !r.Trigger.reached() {
				return OutcomeNotRun
			}
		}
		if r.IsQuestion() {
			return OutcomeNotRun // there is nothing that somebody could have carried out
		}
		return OutcomeUnknown // nobody has said whether somebody carried it out
	}
	if r.Status == RequestApproved {
		return OutcomeNone
	}
	return OutcomeNotRun
}

// foundOutcome is settledOutcome of the question what became of a call.
func (r *RequestHead) foundOutcome() Outcome {
	d := r.Settler()
	switch {
	case r.Status != RequestApproved:
		return OutcomeUnknown
	case d != nil && d.Verdict == MarkDone:
		return OutcomeRan
	}
	return OutcomeNone // it runs again
}

// became records what became of the request's call. What is known already stays.
func (c *txn) became(r *RequestHead, to Outcome) error {
	if to == r.Outcome || to == OutcomeNone {
		return nil
	}
	if !slices.Contains(outcomeMoves[r.Outcome], to) {
		return fmt.Errorf("outcome of request %s from %q to %q: %w", r.ID, r.Outcome, to, errIllegalMove)
	}
	r.TriedAgain = r.TriedAgain || r.Outcome == OutcomeUnknown && to == OutcomeRunning
	r.Outcome, r.OutcomeAt = to, c.Now()
	c.touched(r)
	if to == OutcomeRunning {
		return nil // the effect's intent says so, and a card that changes for a moment tells nobody anything
	}
	c.show(r)
	return nil
}

// callBecame records what became of a call with every approved request about it, and with the question what became of
// it.
func (c *txn) callBecame(run RunID, interruption string, to Outcome) error {
	return c.callIs(run, interruption, to, toolstatus.Status{})
}

// callEnded is callBecame for a call whose tool has answered.
func (c *txn) callEnded(e *EffectRecord) error {
	return c.callIs(e.Run, e.Interruption, e.Outcome(), e.Status)
}

func (c *txn) callIs(run RunID, interruption string, to Outcome, status toolstatus.Status) error {
	all, err := c.requestsOf(run)
	if err != nil {
		return err
	}
	for _, r := range all {
		if r.Interruption != interruption || r.Status != RequestApproved || r.Kind == agent.ExternalResult {
			continue
		}
		if !slices.Contains(outcomeMoves[r.Outcome], to) {
			continue
		}
		r.OutcomeStatus = status
		if err := c.became(r, to); err != nil {
			return err
		}
	}
	return nil
}

// reported records with every request about the call who has just found out that it ran, in answer to question.
func (c *txn) reported(question *RequestHead) error {
	all, err := c.requestsOf(question.Run)
	if err != nil {
		return err
	}
	for _, r := range all {
		if r.Interruption == question.Interruption && r.Outcome == OutcomeRan && r.OutcomeAt.Equal(c.Now()) {
			r.OutcomeBy = question.Settler().By
			c.touched(r)
		}
	}
	return nil
}

// becameElsewhere records with the approved requests about a call that is carried out elsewhere what became of it, as
// question says, which asked for the result.
func (c *txn) becameElsewhere(question *RequestHead) error {
	all, err := c.requestsOf(question.Run)
	if err != nil {
		return err
	}
	for _, r := range all {
		about := r.Interruption == question.Interruption && r.Kind != agent.ExternalResult
		if !about || r.Status != RequestApproved || r.Outcome != OutcomeNone {
			continue
		}
		if question.Outcome == OutcomeNotRun {
			err = c.neverRun(r, wordsSaidNotToHappen)
		} else {
			err = c.became(r, question.Outcome)
		}
		if err != nil {
			return err
		}
		if d := question.Settler(); d != nil && r.Outcome == OutcomeRan {
			r.OutcomeBy = d.By
		}
	}
	return nil
}

// neverRun records that the approved call of r will not run under it, and why. A call that was to be retried may have
// happened the first time.
func (c *txn) neverRun(r *RequestHead, why string) error {
	if r.Outcome != OutcomeNone {
		return nil
	}
	outcome := OutcomeNotRun
	if r.Kind == agent.OutcomeUnknown {
		outcome = OutcomeUnknown
	}
	if r.Note == "" {
		r.Note = why
	}
	err := c.audit(entry{
		Action: AuditRequestOutcome, Actor: system, Run: r.Run, Request: r.ID,
		Data: auditData{Outcome: outcome, Digest: r.Digest},
	})
	if err != nil {
		return err
	}
	return c.became(r, outcome)
}
