package approvals

import (
	"cmp"
	"errors"
	"fmt"
)

// deletions is what the trail says was deleted. Of such records the trail alone tells.
type deletions struct {
	runs     map[RunID]bool
	requests map[RequestID]bool
}

// add takes an entry into account.
func (d *deletions) add(e *AuditEntry) {
	switch e.Action {
	case AuditRunDeleted:
		if d.runs == nil {
			d.runs = make(map[RunID]bool)
		}
		d.runs[e.Run] = true
	case AuditRequestDeleted:
		if d.requests == nil {
			d.requests = make(map[RequestID]bool)
		}
		d.requests[e.Request] = true
	}
}

// putBack says of a record that is there and was deleted what is wrong with it.
const putBack = "the trail says that it was deleted"

// contradict returns an *AuditError when records are there that were deleted: somebody has put them back. It looks at
// each run that the trail tells of the deletion of.
func (d *deletions) contradict(tx Tx, ws WorkspaceID) error {
	for id := range d.requests {
		heads, err := tx.Requests(ws, []RequestID{id})
		if err != nil {
			return err
		}
		if len(heads) > 0 {
			return &AuditError{Workspace: ws, Request: id, Kind: FaultRecord, Reason: putBack}
		}
	}
	for id := range d.runs {
		if _, err := tx.Run(ws, id); !errors.Is(err, ErrNotFound) {
			return cmp.Or[error](err, &AuditError{
				Workspace: ws, Kind: FaultRecord, Reason: fmt.Sprintf("run %s: %s", id, putBack),
			})
		}
		all, err := tx.EffectsOfRun(ws, id)
		if err != nil {
			return err
		}
		if len(all) > 0 {
			return &AuditError{Workspace: ws, Effect: all[0].ID, Kind: FaultRecord, Reason: putBack + " with its run"}
		}
	}
	return nil
}
