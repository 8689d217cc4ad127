package control

import (
	"context"
	"errors"
	"slices"
	"strings"

	"countersign/approvals"
)

// Recorded is the word for a query that asks for calls under "approval: audit". They began at once, so that nobody was
// asked about them and there are no requests: each is listed as one all the same, with this status, and an id made of
// those of its run and its effect.
const Recorded approvals.RequestStatus = recorded

const recorded = "audit"

// runsLooked is how many runs are looked through for such calls in one transaction.
const runsLooked = 100

// recordedCalls reads calls of a workspace that were recorded for review, by run and effect. Where it goes on is the id
// of a call, or of a run of which all was read.
func (l *Local) recordedCalls(ctx context.Context, q *Query, ws approvals.WorkspaceID, behind string, limit int) (
	found []*approvals.RequestHead, next string, err error,
) {
	err = l.Store.View(ctx, func(tx approvals.Tx) error {
		p := recordedPage{tx: tx, query: q, ws: ws, behind: behind, limit: limit}
		err := p.fill()
		found, next = p.found, p.next
		return err
	})
	return found, next, err
}

// recordedPage is a page of such calls.
type recordedPage struct {
	tx     approvals.Tx
	query  *Query
	ws     approvals.WorkspaceID
	behind string
	limit  int

	found []*approvals.RequestHead
	next  string // empty: there are no more
}

func (p *recordedPage) fill() error {
	id, _, within := strings.Cut(p.behind, "/")
	run := approvals.RunID(id)
	if p.query.Run != "" {
		return p.addRun(p.query.Run)
	}
	if within {
		if err := p.addRun(run); err != nil || p.next != "" {
			return err
		}
	}
	runs, after, err := p.tx.QueryRuns(approvals.RunQuery{
		Workspace: p.ws, Channel: p.query.Channel, To: p.query.Until, After: run, Limit: runsLooked,
	})
	if err != nil {
		return err
	}
	for _, r := range runs {
		if err := p.add(r); err != nil || p.next != "" {
			return err
		}
	}
	p.next = string(after)
	return nil
}

// addRun is add for a run that may be gone.
func (p *recordedPage) addRun(id approvals.RunID) error {
	r, err := p.tx.Run(p.ws, id)
	if errors.Is(err, approvals.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return p.add(r)
}

// add adds the calls of the run that the query selects, as many as fit.
func (p *recordedPage) add(r *approvals.Run) error {
	effects, err := p.tx.EffectsOfRun(p.ws, r.ID)
	if err != nil {
		return err
	}
	var requests []*approvals.RequestHead
	if slices.ContainsFunc(effects, func(e *approvals.EffectRecord) bool { return e.Review && e.Done.IsZero() }) {
		if requests, err = p.tx.RequestsOfRun(p.ws, r.ID); err != nil {
			return err
		}
	}
	for _, e := range effects {
		call := recordedCall(r, e, requests)
		read := strings.HasPrefix(p.behind, string(r.ID)+"/") && string(call.ID) <= p.behind
		if !e.Review || read || !p.selects(call) {
			continue
		}
		if len(p.found) == p.limit {
			p.next = string(p.found[p.limit-1].ID)
			return nil
		}
		p.found = append(p.found, call)
	}
	return nil
}

func (p *recordedPage) selects(call *approvals.RequestHead) bool {
	one := p.query.in(p.ws)
	return one.Matches(call)
}

// recordedCall is a call as lists show it. requests are those of the run.
func recordedCall(
	r *approvals.Run, e *approvals.EffectRecord, requests []*approvals.RequestHead,
) *approvals.RequestHead {
	return &approvals.RequestHead{
		Workspace: e.Workspace, ID: approvals.RequestID(string(r.ID) + "/" + e.ID), Run: r.ID, Place: r.Place,
		Requester: r.Requester, Kind: recorded, Agent: e.Agent,
		Tool: approvals.ToolSnapshot{Name: e.Tool, Kind: e.Kind}, Digest: e.Digest, Status: Recorded,
		Created: e.Intent, Outcome: e.Known(requests), OutcomeAt: e.Done,
	}
}
