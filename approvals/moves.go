package approvals

import (
	"errors"
	"fmt"
	"slices"

	"countersign/agent"
)

// runMoves is the table of docs/state-machine.md. The empty status stands for a run that does not exist yet.
var runMoves = map[RunStatus][]RunStatus{
	"":         {RunQueued},
	RunQueued:  {RunRunning, RunCancelled},
	RunRunning: {RunRunning, RunQueued, RunWaiting, RunDone, RunFailed, RunCancelled},
	RunWaiting: {RunQueued, RunCancelled},
}

// requestMoves is the table of docs/state-machine.md.
var requestMoves = map[RequestStatus][]RequestStatus{
	"": {RequestPending},
	RequestPending: {
		RequestApproved, RequestRejected, RequestExpired, RequestCancelled, RequestStale, RequestSuperseded,
	},
	RequestApproved: {RequestStale},
}

// outcomeMoves is the table of docs/state-machine.md: what may become known of a call.
var outcomeMoves = map[Outcome][]Outcome{
	OutcomeNone:    {OutcomeRunning, OutcomeRan, OutcomeFailed, OutcomeNotRun, OutcomeUnknown},
	OutcomeRunning: {OutcomeRan, OutcomeFailed, OutcomeUnknown},
	OutcomeUnknown: {OutcomeRunning, OutcomeRan, OutcomeFailed},
}

// errIllegalMove marks a defect of this package: somebody asked for a move that the tables do not have.
var errIllegalMove = errors.New("illegal move")

// runActions is how the audit trail calls the arrival at a status.
var runActions = map[RunStatus]AuditAction{
	RunQueued:    AuditRunRequeued,
	RunRunning:   AuditRunClaimed,
	RunWaiting:   AuditRunWaiting,
	RunDone:      AuditRunDone,
	RunFailed:    AuditRunFailed,
	RunCancelled: AuditRunCancelled,
}

// requestActions is how the audit trail calls the arrival at a status.
var requestActions = map[RequestStatus]AuditAction{
	RequestPending:   AuditRequestCreated,
	RequestApproved:  AuditRequestApproved,
	RequestRejected:  AuditRequestRejected,
	RequestExpired:   AuditRequestExpired,
	RequestCancelled: AuditRequestCancelled,
	RequestStale:     AuditRequestStale,

	RequestSuperseded: AuditRequestSuperseded,
}

// moveRun is the only place where the status of a run changes: it refuses what the table does not have, and has the run
// and the audit entry of the move written.
func (c *txn) moveRun(r *Run, to RunStatus, actor string, data auditData) error {
	if !slices.Contains(runMoves[r.Status], to) {
		return fmt.Errorf("run %s from %q to %q: %w", r.ID, r.Status, to, errIllegalMove)
	}
	action := runActions[to]
	if r.Status == "" {
		action = AuditRunSubmitted
	}
	from := r.Status
	r.Status = to
	c.mark(r, from)
	if to.Ended() {
		r.Ended = c.Now()
	}
	if to != RunRunning {
		r.Owner, r.LeaseUntil = "", noTime
		c.tellUses(r)
	}
	c.changed(r)
	if r.Waits != "" && (to == RunRunning || to == RunQueued) {
		return nil // tried again and again: the trail has said so once
	}
	return c.audit(entry{Action: action, Actor: actor, Run: r.ID, Data: data})
}

// moveRequest is the only place where the status of a request changes; like moveRun. A request that is settled needs no
// timer any more, and where its call cannot run under it, that is its outcome.
func (c *txn) moveRequest(r *RequestHead, to RequestStatus, actor string, data auditData) error {
	if !slices.Contains(requestMoves[r.Status], to) {
		return fmt.Errorf("request %s from %q to %q: %w", r.ID, r.Status, to, errIllegalMove)
	}
	r.Status = to
	c.touched(r)
	if to != RequestPending {
		r.Settled = c.Now()
	}
	err := c.audit(entry{Action: requestActions[to], Actor: actor, Run: r.Run, Request: r.ID, Data: data})
	if err != nil {
		return err
	}
	if to == RequestPending {
		return nil
	}
	if !r.NextAct.IsZero() {
		r.NextAct = noTime
		if err := c.DeleteJob(c.ws, JobTimer, string(r.ID)); err != nil {
			return err
		}
	}
	if r.Kind == agent.OutcomeUnknown && r.settledOutcome() == OutcomeRan { // as people have found out
		return errors.Join(c.became(r, OutcomeRan), c.callBecame(r.Run, r.Interruption, OutcomeRan), c.reported(r))
	}
	if err := c.became(r, r.settledOutcome()); err != nil || to == RequestSuperseded || to == RequestStale {
		return err
	}
	if r.Kind == agent.ExternalResult {
		return c.becameElsewhere(r)
	}
	if r.Outcome != OutcomeNotRun {
		return nil
	}
	return c.notCompleted(r)
}
