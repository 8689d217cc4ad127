package approvals

import (
	"errors"
	"fmt"
	"slices"
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
	"":              {RequestPending},
	RequestPending:  {RequestApproved, RequestRejected, RequestExpired, RequestCancelled, RequestStale},
	RequestApproved: {RequestStale},
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
}

// moveRun is the only place where the status of a run changes: it refuses what the table does not have, and writes
// the audit entry of the move. The caller puts the run.
func (c *change) moveRun(r *Run, to RunStatus, actor string, facts map[string]any) error {
	if !slices.Contains(runMoves[r.Status], to) {
		return fmt.Errorf("run %s from %q to %q: %w", r.ID, r.Status, to, errIllegalMove)
	}
	action := runActions[to]
	if r.Status == "" {
		action = AuditRunSubmitted
	}
	r.Status = to
	if to.Ended() {
		r.Ended = c.now
	}
	if to != RunRunning {
		r.Owner, r.LeaseUntil = "", noTime
	}
	return c.audit(entry{Action: action, Actor: actor, Run: r.ID, Facts: facts})
}

// moveRequest is the only place where the status of a request changes; like moveRun.
func (c *change) moveRequest(r *Request, to RequestStatus, actor string, facts map[string]any) error {
	if !slices.Contains(requestMoves[r.Status], to) {
		return fmt.Errorf("request %s from %q to %q: %w", r.ID, r.Status, to, errIllegalMove)
	}
	r.Status = to
	if to != RequestPending {
		r.Settled = c.now
	}
	return c.audit(entry{Action: requestActions[to], Actor: actor, Run: r.Run, Request: r.ID, Facts: facts})
}
