package control

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"countersign/approvals"
)

// RunDesk is what an operator can do with runs, across workspaces.
type RunDesk interface {
	// Runs lists the runs that match, workspace after workspace, the newest first, behind the cursor. Pages are as
	// those of Requests.
	Runs(ctx context.Context, q RunQuery, after Cursor, limit int) (page []*approvals.Run, more bool, err error)
	// Run finds a run in any workspace, with all that is recorded of it; approvals.ErrNotFound.
	Run(ctx context.Context, id approvals.RunID) (*approvals.RunRecord, error)
	// CancelRun ends a run in the name of a person. See approvals.Service.Cancel. The way is the desk's to set.
	CancelRun(ctx context.Context, v approvals.Cancellation) (*approvals.Run, error)
	// RetryRun submits the input of a run once more. See approvals.Service.RetryRun. The way is the desk's to set.
	RetryRun(ctx context.Context, v approvals.RunRetry) (approvals.Receipt, error)
}

// Runner cancels and retries runs; *approvals.Service is one.
type Runner interface {
	Cancel(ctx context.Context, v approvals.Cancellation) (*approvals.Run, error)
	RetryRun(ctx context.Context, v approvals.RunRetry) (approvals.Receipt, error)
}

// CursorAtRun returns the place behind the run.
func CursorAtRun(r *approvals.Run) Cursor { return Cursor{r.Workspace, string(r.ID)} }

// RunQuery selects runs of all workspaces. Empty fields match everything.
type RunQuery struct {
	Status approvals.RunStatus
	// Person asked for the run, or cancelled it: a user's id as the surface knows it, in whatever workspace, or an
	// approvals.UserID.
	Person         string
	Agent, Channel string
	Since, Until   time.Time // created at or after Since and before Until
}

// in is the query in one workspace.
func (q *RunQuery) in(ws approvals.WorkspaceID) approvals.RunQuery {
	return approvals.RunQuery{
		Workspace: ws, Status: q.Status, Person: personIn(ws, q.Person), Agent: q.Agent, Channel: q.Channel,
		From: q.Since, To: q.Until, Newest: true,
	}
}

// personIn is the person in a workspace; empty for nobody.
func personIn(ws approvals.WorkspaceID, id string) approvals.UserID {
	if id == "" || strings.Contains(id, "/") {
		return approvals.UserID(id)
	}
	return approvals.NewUserID(ws, id)
}

// Runs is part of Desk.
func (l *Local) Runs(ctx context.Context, q RunQuery, after Cursor, limit int) (
	page []*approvals.Run, more bool, err error,
) {
	read := func(ws approvals.WorkspaceID, behind string, limit int) (found []*approvals.Run, next string, err error) {
		one := q.in(ws)
		one.After, one.Limit = approvals.RunID(behind), limit
		err = l.Store.View(ctx, func(tx approvals.Tx) error {
			runs, after, err := tx.QueryRuns(one)
			found, next = runs, string(after)
			return err
		})
		return found, next, err
	}
	if page, more, err = readPage(ctx, l.Store, after, limit, read); err != nil {
		return nil, false, fmt.Errorf("list runs: %w", err)
	}
	return page, more, nil
}

// Run is part of Desk.
func (l *Local) Run(ctx context.Context, id approvals.RunID) (*approvals.RunRecord, error) {
	all, err := workspaces(ctx, l.Store)
	if err != nil {
		return nil, err
	}
	for _, ws := range all {
		r, err := approvals.ReadRun(ctx, l.Store, ws, id)
		if !errors.Is(err, approvals.ErrNotFound) {
			return r, err
		}
	}
	return nil, fmt.Errorf("run %s: %w", id, approvals.ErrNotFound)
}

// CancelRun is part of Desk.
func (l *Local) CancelRun(ctx context.Context, v approvals.Cancellation) (*approvals.Run, error) {
	runner, ok := l.Decider.(Runner)
	if !ok {
		return nil, fmt.Errorf("cancel run %s: %w: the store is open for reading only", v.Run, approvals.ErrInvalid)
	}
	v.Via = l.via()
	return runner.Cancel(ctx, v)
}

// RetryRun is part of Desk.
func (l *Local) RetryRun(ctx context.Context, v approvals.RunRetry) (approvals.Receipt, error) {
	runner, ok := l.Decider.(Runner)
	if !ok {
		return approvals.Receipt{}, fmt.Errorf("retry run %s: %w: the store is open for reading only", v.Run,
			approvals.ErrInvalid)
	}
	v.Via = l.via()
	return runner.RetryRun(ctx, v)
}
