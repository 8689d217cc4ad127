package approvals

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"
)

// What the tests compare with the documentation and the audit trail.
var (
	RunMoves       = runMoves
	RequestMoves   = requestMoves
	OutcomeMoves   = outcomeMoves
	RunActions     = invert(runActions, map[AuditAction]RunStatus{AuditRunSubmitted: RunQueued})
	RequestActions = invert(requestActions, map[AuditAction]RequestStatus{})
)

func invert[K, V comparable](m map[K]V, into map[V]K) map[V]K {
	for k, v := range m {
		into[v] = k
	}
	return into
}

// Standing reports whether the answer to r counts for later calls.
func Standing(r *Request) bool { return r.standing() }

// TryRunMove tries to move a run that stands at from.
func TryRunMove(ctx context.Context, st Store, ws WorkspaceID, from, to RunStatus) error {
	return update(ctx, st, ws, func(c *txn) error {
		return c.moveRun(&Run{Workspace: ws, ID: "run_x", Status: from}, to, system, auditData{})
	})
}

// TryRequestMove tries to move a request that stands at from.
func TryRequestMove(ctx context.Context, st Store, ws WorkspaceID, from, to RequestStatus) error {
	return update(ctx, st, ws, func(c *txn) error {
		r := &Request{
			RequestHead: RequestHead{
				Workspace: ws, ID: "req_x", Run: "run_x", Requester: system, Status: from, Created: c.Now(),
			},
			RequestContent: RequestContent{Arguments: json.RawMessage(`{}`)},
		}
		if before, err := c.Tx.Request(ws, r.ID); err == nil {
			r.Created = before.Created
		}
		r.Digest = r.Definition.Call(r.Arguments)
		c.created(r)
		return c.moveRequest(&r.RequestHead, to, system, auditData{Digest: r.Digest})
	})
}

// AppendEntryAt appends an entry to the trail that claims to have been written then.
func AppendEntryAt(ctx context.Context, st Store, ws WorkspaceID, at time.Time) error {
	return update(ctx, st, ws, func(c *txn) error {
		c.Tx = txAt{c.Tx, at}
		return c.audit(entry{Action: AuditRunRefused, Actor: system})
	})
}

// txAt is a transaction with another time than the store's.
type txAt struct {
	Tx
	at time.Time
}

func (t txAt) Now() time.Time { return t.at }

// FillTrail appends n entries and links them.
func FillTrail(ctx context.Context, st Store, ws WorkspaceID, n int) error {
	err := update(ctx, st, ws, func(c *txn) error {
		for range n {
			if err := c.audit(entry{Action: AuditRunRefused, Actor: system}); err != nil {
				return err
			}
		}
		return nil
	})
	for sealed := make([]*AuditEntry, sealPage); err == nil && len(sealed) == sealPage; {
		sealed, _, err = sealSome(ctx, st, ws, sealPage)
	}
	return err
}

// TellDeletion appends the entries that say that a run and a request of it were deleted.
func TellDeletion(ctx context.Context, st Store, r *RequestHead) error {
	return update(ctx, st, r.Workspace, func(c *txn) error {
		err := c.audit(entry{Action: AuditRunDeleted, Actor: system, Run: r.Run})
		return errors.Join(err, c.audit(entry{Action: AuditRequestDeleted, Actor: system, Run: r.Run, Request: r.ID}))
	})
}

// Relink hashes the entries anew, as somebody would who can write the store.
func Relink(all []*AuditEntry) []*AuditEntry {
	for _, e := range all {
		e.Content = e.content()
	}
	link(&AuditEntry{}, all)
	return all
}

// KeepSealing is the sealer of a worker: sealed is told of each page.
func KeepSealing(ctx context.Context, st Store, sealed func(context.Context, []*AuditEntry)) {
	(&Worker{store: st, sealed: sealed, log: slog.New(slog.DiscardHandler)}).keepSealing(ctx)
}

// SealNow links what waits into the chains, as workers do that stop.
func SealNow(ctx context.Context, st Store) error { return (&Worker{store: st}).sealAll(ctx) }

// SweepOld deletes once what is older than the rules say, as workers do.
func SweepOld(ctx context.Context, st Store, log *slog.Logger, rules Retention) error {
	return (&Worker{store: st, log: logger(log)}).sweepOld(ctx, rules, 1)
}
