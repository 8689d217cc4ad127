package control

import (
	"context"
	"fmt"
	"slices"
	"time"

	"countersign/approvals"
	"countersign/internal/report"
)

// ReportQuery says what a report is to be about.
type ReportQuery struct {
	Window report.Window
	// Workspace is the only one whose records count; empty: all do.
	Workspace approvals.WorkspaceID
}

// Report is part of Desk. It reads page by page, so that it holds up nobody: first the audit trails, then the requests.
func (l *Local) Report(ctx context.Context, q ReportQuery, progress func(read int)) (*report.Report, error) {
	r, err := l.report(ctx, q, progress)
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	return r, nil
}

func (l *Local) report(ctx context.Context, q ReportQuery, progress func(int)) (*report.Report, error) {
	w, err := report.NewWindow(q.Window.From, q.Window.To)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", approvals.ErrInvalid, err)
	}
	all, err := l.reported(ctx, q.Workspace)
	if err != nil {
		return nil, err
	}
	c := &counting{desk: l, builder: report.New(w), progress: progress}
	if err := l.Store.View(ctx, func(tx approvals.Tx) error {
		c.began = tx.Now()
		return nil
	}); err != nil {
		return nil, err
	}
	for _, ws := range all {
		if err := c.workspace(ctx, ws); err != nil {
			return nil, err
		}
	}
	r := c.builder.Report()
	r.Generated = c.began.UTC()
	return r, nil
}

// reported returns the workspaces that a report counts; approvals.ErrNotFound for one that the store does not know.
func (l *Local) reported(ctx context.Context, only approvals.WorkspaceID) ([]approvals.WorkspaceID, error) {
	all, err := workspaces(ctx, l.Store)
	if err != nil || only == "" {
		return all, err
	}
	if !slices.Contains(all, only) {
		return nil, fmt.Errorf("%w: there is no workspace %q; the store has %q", approvals.ErrNotFound, only, all)
	}
	return []approvals.WorkspaceID{only}, nil
}

// reportPage is how many requests a report reads in one transaction.
const reportPage = 500

// counting is the making of a report.
type counting struct {
	desk     *Local
	builder  *report.Builder
	progress func(read int)
	read     int
	began    time.Time
}

// workspace counts what a workspace has.
func (c *counting) workspace(ctx context.Context, ws approvals.WorkspaceID) error {
	err := approvals.ExportAudit(ctx, c.desk.Store, ws, func(e *approvals.AuditEntry) error {
		c.tell(1)
		return c.builder.AddEntry(e)
	})
	if err != nil {
		return err
	}
	q := approvals.RequestQuery{Workspace: ws, Limit: reportPage}
	for end := false; !end; end = q.After == "" {
		var page []*approvals.RequestHead
		var next approvals.RequestID
		err := c.desk.Store.View(ctx, func(tx approvals.Tx) (err error) {
			page, next, err = tx.QueryRequests(q)
			return err
		})
		if err != nil {
			return err
		}
		for _, r := range page {
			c.builder.Add(r)
		}
		c.tell(len(page))
		q.After = next
	}
	return nil
}

// progressEvery is after how many records a report says how far it is.
const progressEvery = 10_000

func (c *counting) tell(n int) {
	before := c.read / progressEvery
	if c.read += n; c.read/progressEvery > before {
		c.progress(c.read)
	}
}
