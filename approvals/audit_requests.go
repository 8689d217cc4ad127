package approvals

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"countersign/agent"
)

// ExportedRequest is a request as auditors are given it: what was asked, who decided what, what became of the call, and
// whether the trail says the same. Reasons and outputs are not in it.
type ExportedRequest struct {
	Workspace WorkspaceID            `json:"workspace"`
	ID        RequestID              `json:"id"`
	Run       RunID                  `json:"run"`
	Channel   string                 `json:"channel"`
	Agent     string                 `json:"agent"`
	Tool      string                 `json:"tool"`
	Kind      agent.InterruptionKind `json:"kind"`
	Requester UserID                 `json:"requester"`
	Created   time.Time              `json:"created"`
	// Arguments are what would run, as people were shown it.
	Arguments json.RawMessage    `json:"arguments"`
	Status    RequestStatus      `json:"status"`
	Settled   time.Time          `json:"settled,omitzero"`
	Expires   time.Time          `json:"expires,omitzero"`
	Outcome   Outcome            `json:"outcome"`
	OutcomeAt time.Time          `json:"outcome_at,omitzero"`
	Policy    string             `json:"policy"`
	Digest    agent.Digest       `json:"digest"`
	Decisions []ExportedDecision `json:"decisions"`
	// Audit is AuditAgrees, or says how the request differs from the trail.
	Audit string `json:"audit"`
}

// AuditAgrees is what ExportedRequest.Audit says of a request that is as the trail says.
const AuditAgrees = "ok"

// ExportedDecision is an answer as auditors are given it.
type ExportedDecision struct {
	By      UserID    `json:"by"`
	For     UserID    `json:"for,omitempty"`
	Verdict Verdict   `json:"verdict"`
	At      time.Time `json:"at"`
	Via     string    `json:"via"`
	Void    string    `json:"void,omitempty"` // why it does not count
}

// RequestExport says which requests to export.
type RequestExport struct {
	From, To time.Time // made at or after From and before To; zero: not bounded
	// Progress is called now and then with how many entries of the trail have been read, mostly before the first
	// request; nil: nobody asks.
	Progress func(read int)
}

// ExportRequests calls fn with every request that is to be exported, by workspace and in order, each compared with the
// trail, which is read first. It reads in pages, so that a long export holds up nobody. An error of fn ends it and is
// returned.
func ExportRequests(ctx context.Context, st Store, what RequestExport, fn func(*ExportedRequest) error) error {
	all, err := recordedWorkspaces(ctx, st) // also one whose trail was removed
	if err != nil {
		return err
	}
	read := &counter{tell: what.Progress}
	for _, ws := range all {
		x := &requestExport{store: st, ws: ws, trail: newTrail(), last: &AuditEntry{Workspace: ws}, count: read}
		query := RequestQuery{Workspace: ws, From: what.From, To: what.To, Limit: maxPage}
		if err := x.run(ctx, query, fn); err != nil {
			return fmt.Errorf("export requests of %s: %w", ws, err)
		}
	}
	return nil
}

// requestExport is the export of one workspace. It reads the trail once, and before each page of requests what was
// added to it since, in the transaction that reads the page.
type requestExport struct {
	store  Store
	ws     WorkspaceID
	trail  *trail // of the requests that are exported alone
	last   *AuditEntry
	broken string // why the chain proves nothing; empty: it holds
	count  *counter
}

func (x *requestExport) run(ctx context.Context, q RequestQuery, fn func(*ExportedRequest) error) error {
	ids, err := x.choose(ctx, q)
	if err != nil || len(ids) == 0 {
		return err
	}
	x.trail.only = make(map[RequestID]bool, len(ids))
	for _, id := range ids {
		x.trail.only[id] = true
	}
	for more := true; more; {
		err := x.store.View(ctx, func(tx Tx) (err error) {
			more, err = x.read(tx)
			return err
		})
		if err != nil {
			return err
		}
	}
	for len(ids) > 0 {
		n := min(len(ids), maxPage)
		page, err := x.page(ctx, ids[:n])
		if err != nil {
			return err
		}
		for _, r := range page {
			if err := fn(r); err != nil {
				return err
			}
		}
		ids = ids[n:]
	}
	return nil
}

// choose returns the ids of the requests, in order.
func (x *requestExport) choose(ctx context.Context, q RequestQuery) (ids []RequestID, err error) {
	for {
		var page []*RequestHead
		var next RequestID
		err := x.store.View(ctx, func(tx Tx) (err error) {
			page, next, err = tx.QueryRequests(q)
			return err
		})
		if err != nil {
			return nil, err
		}
		for _, r := range page {
			ids = append(ids, r.ID)
		}
		if next == "" {
			return ids, nil
		}
		q.After = next
	}
}

// read reads the next entries of the chain and reports whether there may be more.
func (x *requestExport) read(tx Tx) (more bool, err error) {
	page, err := tx.AuditEntries(x.ws, x.last.Seq+1, auditPage)
	if err != nil {
		return false, err
	}
	for _, e := range page {
		err := x.last.follow(e)
		if err == nil {
			err = x.trail.add(e)
		}
		if err != nil {
			x.broken = "the trail does not hold: " + err.Error()
			return false, nil
		}
		x.last = e
		x.count.add(1)
	}
	return len(page) == auditPage, nil
}

// page reads requests and compares them with the trail as it is in that moment.
func (x *requestExport) page(ctx context.Context, ids []RequestID) (page []*ExportedRequest, err error) {
	err = x.store.View(ctx, func(tx Tx) error {
		page = nil
		for more := x.broken == ""; more; {
			var err error
			if more, err = x.read(tx); err != nil {
				return err
			}
		}
		now, err := x.trail.with(tx, x.ws, ids)
		if err != nil {
			return err
		}
		whole, err := tx.Requests(x.ws, ids)
		if err != nil {
			return err
		}
		for _, r := range whole {
			reason, err := now.requestDiffers(tx, r)
			if err != nil {
				return err
			}
			page = append(page, exported(r, cmp.Or(x.broken, reason)))
		}
		return nil
	})
	return page, err
}

// with is the trail of some requests together with the entries that are not linked yet.
func (t *trail) with(tx Tx, ws WorkspaceID, ids []RequestID) (*trail, error) {
	some := newTrail()
	some.deleted, some.askers = t.deleted, t.askers
	some.only = make(map[RequestID]bool, len(ids))
	for _, id := range ids {
		some.only[id] = true
		if r, known := t.requests[id]; known {
			some.requests[id] = r
		}
	}
	entries, err := tx.UnsealedAudit(ws, maxUnsealed)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if err := some.add(e); err != nil {
			return nil, err
		}
	}
	return some, nil
}

func exported(r *Request, differs string) *ExportedRequest {
	out := &ExportedRequest{
		Workspace: r.Workspace, ID: r.ID, Run: r.Run, Channel: r.Place.Channel, Agent: r.Agent, Tool: r.Tool.Name,
		Kind: r.Kind, Requester: r.Requester, Created: r.Created, Arguments: exportedArguments(r), Status: r.Status,
		Settled: r.Settled, Expires: r.Expires, Outcome: r.Outcome, OutcomeAt: r.OutcomeAt,
		Policy: r.Requirement.Policy, Digest: r.Digest, Decisions: make([]ExportedDecision, len(r.Decisions)),
		Audit: cmp.Or(differs, AuditAgrees),
	}
	for i, d := range r.Decisions {
		out.Decisions[i] = ExportedDecision{
			By: d.By, For: d.For, Verdict: d.Verdict, At: d.At, Via: d.Via, Void: d.Void,
		}
	}
	return out
}

// exportedArguments are the arguments as they may leave the store.
func exportedArguments(r *Request) json.RawMessage { return r.Mask().Arguments }
