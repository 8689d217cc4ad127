package control

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"countersign/approvals"
	"countersign/internal/report"
)

// ErrNoBackup is returned by a store that cannot be copied while it is in use.
var ErrNoBackup = errors.New("this store has no backup of its own; use the database's: pg_dump --schema, or a base " +
	"backup with the write-ahead log for a restore to any moment")

// Desk is what an operator can do with a store, across its workspaces.
type Desk interface {
	RunDesk
	// Requests lists what becomes of the requests that match, workspace after workspace, oldest first, behind the
	// cursor: at most limit, and no more than a page of 200. There may be others only where more is set.
	Requests(ctx context.Context, q Query, after Cursor, limit int) (
		page []*approvals.RequestHead, more bool, err error)
	// Request finds a request in any workspace; approvals.ErrNotFound. Its secret values are masked, as they are in
	// every request that a desk returns but that of Reveal.
	Request(ctx context.Context, id approvals.RequestID) (*approvals.Request, error)
	// Judgement says what an agents file makes of a recorded call, by the values that it has, secret ones too.
	// Errors: approvals.ErrNotFound, approvals.ErrInvalid for a file that cannot be used.
	Judgement(ctx context.Context, t Trial) (Judgement, error)
	// Decide records a person's answer. See approvals.Service.Decide. Way, id and time of the answer are the desk's to
	// set, whatever d holds.
	Decide(ctx context.Context, d approvals.Decision) (*approvals.Request, error)
	// DecideAll records a person's answer to several requests. See approvals.Service.DecideAll. Way and id of the
	// answer are the desk's to set, whatever b holds.
	DecideAll(ctx context.Context, b approvals.Batch) ([]approvals.BatchAnswer, error)
	// IssueCallback makes the token of a request's one-time callback. See approvals.Service.IssueCallback. The way
	// is the desk's to set.
	IssueCallback(ctx context.Context, in approvals.CallbackIssue) (approvals.CallbackAddress, error)
	// Review records what somebody says of an emergency decision. See approvals.Service.Review. Way and time are the
	// desk's to set.
	Review(ctx context.Context, ws approvals.WorkspaceID, id approvals.RequestID, v approvals.Review) (
		*approvals.Request, error)
	// Reveal shows somebody the secret values of a request. See approvals.Service.Reveal. The way is the desk's to set.
	Reveal(ctx context.Context, in approvals.RevealIn) (*approvals.Request, error)
	// VerifyAudit walks every audit trail. See approvals.VerifyAudit.
	VerifyAudit(ctx context.Context, opts approvals.VerifyOptions) (approvals.AuditReport, error)
	// ExportAudit hands every entry to fn, by workspace and in order.
	ExportAudit(ctx context.Context, fn func(*approvals.AuditEntry) error) error
	// ExportRequests hands every request that is to be exported to fn, by workspace and in order, compared with the
	// trail. See approvals.ExportRequests.
	ExportRequests(ctx context.Context, what approvals.RequestExport, fn func(*approvals.ExportedRequest) error) error
	// Report counts what was asked, decided and done in a window; its Version is the caller's to set. progress is told
	// now and then how many records were read. Errors: approvals.ErrInvalid, approvals.ErrNotFound for the workspace.
	Report(ctx context.Context, q ReportQuery, progress func(read int)) (*report.Report, error)
	// DeadLetters lists the notifications that were given up, workspace after workspace and by id, behind the cursor.
	// Pages are as those of Requests.
	DeadLetters(ctx context.Context, after Cursor, limit int) (page []*DeadLetter, more bool, err error)
	// Replay puts dead letters back into the outbox and returns which of the ids they were, in no order, also with an
	// error. Others it leaves alone.
	Replay(ctx context.Context, ids ...approvals.NotificationID) (replayed []approvals.NotificationID, err error)
	// Grants lists the grants of all workspaces, by id, behind the cursor, with how they stand. Pages are as those of
	// Requests.
	Grants(ctx context.Context, after Cursor, limit int) (page []*approvals.GrantView, more bool, err error)
	// RevokeGrant ends a grant in the name of an operator. See approvals.RevokeGrant.
	RevokeGrant(ctx context.Context, id approvals.GrantID, reason string) (*approvals.Grant, error)
	// Backup writes a consistent copy of the store.
	Backup(ctx context.Context, w io.Writer) error
	// Close ends the work; the desk is of no use afterwards.
	Close() error
}

// The ways of the answers that come from a desk, as the audit trail names them. The desk sets them: a client cannot.
const (
	// Via is the way where a store has one file: the file's owner is the operator, with a running bot or without.
	Via = "cli"
	// ViaSocket is the way through the socket of a replica, where several work on a database.
	ViaSocket = "socket"
	// ViaDatabase is the way of who has the credentials of the database, without a replica.
	ViaDatabase = "database"
)

// Decider records answers and reviews; *approvals.Service is one.
type Decider interface {
	Decide(ctx context.Context, d approvals.Decision) (*approvals.Request, error)
	DecideAll(ctx context.Context, b approvals.Batch) ([]approvals.BatchAnswer, error)
	IssueCallback(ctx context.Context, in approvals.CallbackIssue) (approvals.CallbackAddress, error)
	Review(ctx context.Context, ws approvals.WorkspaceID, id approvals.RequestID, v approvals.Review) (
		*approvals.Request, error)
	Reveal(ctx context.Context, in approvals.RevealIn) (*approvals.Request, error)
}

// backuper is a store that can copy itself.
type backuper interface {
	Backup(ctx context.Context, w io.Writer) (int64, error)
}

// Local is a Desk on an open store. Without a Decider it takes no decisions.
type Local struct {
	Store   approvals.Store
	Decider Decider
	Via     string // of its answers; the constant Via when empty
	// Judge holds a recorded request against an agents file; nil: Judgement is refused.
	Judge func(ctx context.Context, t Trial, r *approvals.Request) (Judgement, error)
}

func (l *Local) via() string { return cmp.Or(l.Via, Via) }

var _ Desk = (*Local)(nil)

// Requests is part of Desk.
func (l *Local) Requests(ctx context.Context, q Query, after Cursor, limit int) (
	page []*approvals.RequestHead, more bool, err error,
) {
	read := func(ws approvals.WorkspaceID, behind string, limit int) (
		found []*approvals.RequestHead, next string, err error,
	) {
		if q.Status == Recorded {
			return l.recordedCalls(ctx, &q, ws, behind, limit)
		}
		one := q.in(ws)
		one.After, one.Limit = approvals.RequestID(behind), limit
		err = l.Store.View(ctx, func(tx approvals.Tx) error {
			heads, after, err := tx.QueryRequests(one)
			found, next = heads, string(after)
			return err
		})
		for i := range found {
			found[i] = found[i].Mask()
		}
		return found, next, err
	}
	if page, more, err = readPage(ctx, l.Store, after, limit, read); err != nil {
		return nil, false, fmt.Errorf("list requests: %w", err)
	}
	return page, more, nil
}

// Request is part of Desk.
func (l *Local) Request(ctx context.Context, id approvals.RequestID) (*approvals.Request, error) {
	r, err := l.recorded(ctx, id)
	r, _ = masked(r)
	return r, err
}

// recorded finds a request with all its values.
func (l *Local) recorded(ctx context.Context, id approvals.RequestID) (r *approvals.Request, err error) {
	err = l.Store.View(ctx, func(tx approvals.Tx) error {
		all, err := tx.AuditWorkspaces()
		if err != nil {
			return err
		}
		for _, ws := range all {
			if r, err = tx.Request(ws, id); !errors.Is(err, approvals.ErrNotFound) {
				return err
			}
		}
		return approvals.ErrNotFound
	})
	if err != nil {
		return nil, fmt.Errorf("request %s: %w", id, err)
	}
	return r, nil
}

// Decide is part of Desk.
func (l *Local) Decide(ctx context.Context, d approvals.Decision) (*approvals.Request, error) {
	if l.Decider == nil {
		return nil, fmt.Errorf("decide request %s: %w: the store is open for reading only", d.Request,
			approvals.ErrInvalid)
	}
	d.ID, d.Via, d.At = approvals.NewDecisionID(time.Now()), l.via(), time.Time{}
	r, err := l.Decider.Decide(ctx, d)
	r, _ = masked(r)
	return r, err
}

// DecideAll is part of Desk.
func (l *Local) DecideAll(ctx context.Context, b approvals.Batch) ([]approvals.BatchAnswer, error) {
	if l.Decider == nil {
		return nil, fmt.Errorf("decide a batch: %w: the store is open for reading only", approvals.ErrInvalid)
	}
	b.ID, b.Via = approvals.NewDecisionID(time.Now()), l.via()
	all, err := l.Decider.DecideAll(ctx, b)
	for i := range all {
		all[i].Request, _ = masked(all[i].Request)
	}
	return all, err
}

// IssueCallback is part of Desk.
func (l *Local) IssueCallback(ctx context.Context, in approvals.CallbackIssue) (approvals.CallbackAddress, error) {
	if l.Decider == nil {
		return approvals.CallbackAddress{}, fmt.Errorf("callback of request %s: %w: the store is open for reading only",
			in.Request, approvals.ErrInvalid)
	}
	in.Via = l.via()
	return l.Decider.IssueCallback(ctx, in)
}

// Review is part of Desk.
func (l *Local) Review(
	ctx context.Context, ws approvals.WorkspaceID, id approvals.RequestID, v approvals.Review,
) (*approvals.Request, error) {
	if l.Decider == nil {
		return nil, fmt.Errorf("review request %s: %w: the store is open for reading only", id, approvals.ErrInvalid)
	}
	v.Via, v.At = l.via(), time.Time{}
	r, err := l.Decider.Review(ctx, ws, id, v)
	r, _ = masked(r)
	return r, err
}

// Reveal is part of Desk.
func (l *Local) Reveal(ctx context.Context, in approvals.RevealIn) (*approvals.Request, error) {
	if l.Decider == nil {
		return nil, fmt.Errorf("reveal request %s: %w: the store is open for reading only", in.Request,
			approvals.ErrInvalid)
	}
	in.Via = l.via()
	return l.Decider.Reveal(ctx, in)
}

// VerifyAudit is part of Desk.
func (l *Local) VerifyAudit(ctx context.Context, opts approvals.VerifyOptions) (approvals.AuditReport, error) {
	return approvals.VerifyAudit(ctx, l.Store, opts)
}

// ExportAudit is part of Desk.
func (l *Local) ExportAudit(ctx context.Context, fn func(*approvals.AuditEntry) error) error {
	return approvals.ExportAudit(ctx, l.Store, "", fn)
}

// Backup is part of Desk.
func (l *Local) Backup(ctx context.Context, w io.Writer) error {
	b, ok := l.Store.(backuper)
	if !ok {
		return ErrNoBackup
	}
	_, err := b.Backup(ctx, w)
	return err
}

// Close is part of Desk. It closes the store.
func (l *Local) Close() error { return l.Store.Close() }
