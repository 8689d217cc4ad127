package invariant

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"time"

	"countersign/approvals"
)

const (
	page = 500
	most = 1 << 30 // bytes, or records
)

// history is the world together with the records of all workspaces.
type history struct {
	*World
	runs       map[approvals.RunID]*approvals.Run
	requests   map[approvals.RequestID]*approvals.Request
	effects    map[string]*approvals.EffectRecord // by id
	sent       map[string]*approvals.Request      // by the id of the effect: calls that another system carries out
	grants     map[approvals.GrantID]*approvals.Grant
	trail      []*approvals.AuditEntry
	workspaces []approvals.WorkspaceID // of the trail
	waiting    []approvals.CopyKey     // notifications that wait
	unread     []*approvals.QueuedInput
	dead       []*approvals.Notification
	kept       map[string]string // by what it is: saved states and the memory of threads, as they are stored
	found      []Violation
}

// read takes all records in one look, so that nothing changes in between.
func (h *history) read(ctx context.Context, st approvals.Store) error {
	err := st.View(ctx, func(tx approvals.Tx) error {
		h.runs, h.requests = map[approvals.RunID]*approvals.Run{}, map[approvals.RequestID]*approvals.Request{}
		h.effects, h.grants = map[string]*approvals.EffectRecord{}, map[approvals.GrantID]*approvals.Grant{}
		h.sent, h.unread, h.dead = map[string]*approvals.Request{}, nil, nil
		h.kept = map[string]string{}
		var err error
		if h.workspaces, err = tx.AuditWorkspaces(); err != nil {
			return err
		}
		for _, ws := range h.workspaces {
			if err := errors.Join(h.readRuns(tx, ws), h.readRequests(tx, ws), h.readDead(tx, ws)); err != nil {
				return err
			}
		}
		ever := tx.Now().Add(24 * 365 * time.Hour)
		h.waiting, err = tx.UndeliveredPlaces(ever, ever, page)
		return err
	})
	if err != nil {
		return err
	}
	return approvals.ExportAudit(ctx, st, "", func(e *approvals.AuditEntry) error {
		h.trail = append(h.trail, e)
		return h.readGrant(ctx, st, e)
	})
}

func (h *history) readRuns(tx approvals.Tx, ws approvals.WorkspaceID) error {
	for after := approvals.RunID(""); ; {
		list, next, err := tx.QueryRuns(approvals.RunQuery{Workspace: ws, After: after, Limit: page})
		if err != nil {
			return err
		}
		for _, r := range list {
			h.runs[r.ID] = r
			effects, err := tx.EffectsOfRun(ws, r.ID)
			if err != nil {
				return err
			}
			for _, e := range effects {
				h.effects[e.ID] = e
			}
			if err := h.readKept(tx, r); err != nil {
				return err
			}
			if !r.Status.Ended() {
				continue
			}
			if _, err := tx.ActiveRun(ws, r.Place); errors.Is(err, approvals.ErrNotFound) {
				left, err := tx.Inputs(ws, r.Place, page)
				if err != nil {
					return err
				}
				h.unread = append(h.unread, left...)
			} else if err != nil {
				return err
			}
		}
		if after = next; next == "" {
			return nil
		}
	}
}

// readKept reads the saved state of the run, and what is remembered of its place.
func (h *history) readKept(tx approvals.Tx, r *approvals.Run) error {
	head, chunks, err := tx.State(r.Workspace, r.ID)
	if err != nil && !errors.Is(err, approvals.ErrNotFound) {
		return err
	}
	h.kept["the state of run "+string(r.ID)] = string(bytes.Join(append(raws(chunks), head), []byte(" ")))
	chunks, _, err = tx.SessionTail(r.Workspace, r.Place, most)
	h.kept["the memory of "+r.Place.Key()] = string(bytes.Join(raws(chunks), []byte(" ")))
	return err
}

func raws(chunks []json.RawMessage) (all [][]byte) {
	for _, c := range chunks {
		all = append(all, c)
	}
	return all
}

func (h *history) readDead(tx approvals.Tx, ws approvals.WorkspaceID) (err error) {
	h.dead, err = tx.DeadLetters(ws, "", most)
	return err
}

func (h *history) readRequests(tx approvals.Tx, ws approvals.WorkspaceID) error {
	for after := approvals.RequestID(""); ; {
		list, next, err := tx.QueryRequests(approvals.RequestQuery{Workspace: ws, After: after, Limit: page})
		if err != nil {
			return err
		}
		var ids []approvals.RequestID
		for _, r := range list {
			ids = append(ids, r.ID)
		}
		all, err := tx.Requests(ws, ids)
		if err != nil {
			return err
		}
		for _, r := range all {
			h.requests[r.ID] = r
			if r.Trigger != nil && r.Trigger.Attempt > 0 {
				h.sent[r.Trigger.Effect] = r
			}
		}
		if after = next; next == "" {
			return nil
		}
	}
}

// readGrant reads the grant that the entry names, once.
func (h *history) readGrant(ctx context.Context, st approvals.Store, e *approvals.AuditEntry) error {
	id := approvals.GrantID(fact(e).Grant)
	if id == "" || h.grants[id] != nil {
		return nil
	}
	return st.View(ctx, func(tx approvals.Tx) error {
		g, err := tx.Grant(e.Workspace, id)
		if errors.Is(err, approvals.ErrNotFound) {
			return nil
		}
		h.grants[id] = g
		return err
	})
}

// facts is what the invariants rest on of the data of an audit entry.
type facts struct {
	Decision approvals.DecisionID
	Digest   string
	Effect   string
	Epoch    int64
	Grant    string
	Kind     string
	Standing approvals.RequestID
	Tool     string
	Why      string
}

func fact(e *approvals.AuditEntry) (f facts) {
	if len(e.Data) > 0 {
		_ = json.Unmarshal(e.Data, &f) // what cannot be read says nothing, and VerifyAudit tells of it
	}
	return f
}

// entries returns the entries of an action.
func (h *history) entries(a approvals.AuditAction) (all []*approvals.AuditEntry) {
	for _, e := range h.trail {
		if e.Action == a {
			all = append(all, e)
		}
	}
	return all
}
