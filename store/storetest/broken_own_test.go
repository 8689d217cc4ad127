package storetest

import (
	"bytes"
	"encoding/json"
	"strings"
	"sync"

	"countersign/agent"
	"countersign/approvals"
)

// sharing hands out the very records that it has handed out before, or was given, in workspaces of filled records.
type sharing struct {
	approvals.Tx
	kept   *sync.Map
	method string
}

func sharingAll(method string) func() func() approvals.Store {
	return func() func() approvals.Store {
		kept := new(sync.Map)
		return around(each(func(tx approvals.Tx) sharing { return sharing{tx, kept, method} }))()
	}
}

func share[T any](t sharing, method string, ws approvals.WorkspaceID, got T, err error) (T, error) {
	if t.method != method || err != nil || !strings.HasPrefix(string(ws), "s") {
		return got, err
	}
	kept, _ := t.kept.LoadOrStore(method, got)
	return kept.(T), nil
}

func (t sharing) PutRequest(r *approvals.Request) error {
	if t.method == "PutRequest" && strings.HasPrefix(string(r.Workspace), "s") {
		t.kept.Store("PutRequest", r)
	}
	return t.Tx.PutRequest(r)
}

func (t sharing) Request(ws approvals.WorkspaceID, id approvals.RequestID) (*approvals.Request, error) {
	r, err := t.Tx.Request(ws, id)
	return share(t, "PutRequest", ws, r, err)
}

func (t sharing) QueryRequests(q approvals.RequestQuery) ([]*approvals.RequestHead, approvals.RequestID, error) {
	page, next, err := t.Tx.QueryRequests(q)
	page, err = share(t, "QueryRequests", q.Workspace, page, err)
	return page, next, err
}

func (t sharing) Inputs(ws approvals.WorkspaceID, p approvals.Place, limit int) ([]*approvals.QueuedInput, error) {
	list, err := t.Tx.Inputs(ws, p, limit)
	return share(t, "Inputs", ws, list, err)
}

func (t sharing) EffectsOfRun(ws approvals.WorkspaceID, run approvals.RunID) ([]*approvals.EffectRecord, error) {
	list, err := t.Tx.EffectsOfRun(ws, run)
	return share(t, "EffectsOfRun", ws, list, err)
}

func (t sharing) UnsealedAudit(ws approvals.WorkspaceID, limit int) ([]*approvals.AuditEntry, error) {
	list, err := t.Tx.UnsealedAudit(ws, limit)
	return share(t, "UnsealedAudit", ws, list, err)
}

func (t sharing) DeadLetters(ws approvals.WorkspaceID, after approvals.NotificationID, limit int) (
	[]*approvals.Notification, error) {
	list, err := t.Tx.DeadLetters(ws, after, limit)
	return share(t, "DeadLetters", ws, list, err)
}

func (t sharing) StateTail(ws approvals.WorkspaceID, run approvals.RunID, size int) ([]json.RawMessage, int, error) {
	chunks, older, err := t.Tx.StateTail(ws, run, size)
	chunks, err = share(t, "StateTail", ws, chunks, err)
	return chunks, older, err
}

func (t sharing) SessionTail(ws approvals.WorkspaceID, p approvals.Place, size int) ([]json.RawMessage, int, error) {
	chunks, older, err := t.Tx.SessionTail(ws, p, size)
	chunks, err = share(t, "SessionTail", ws, chunks, err)
	return chunks, older, err
}

// keepsBytes keeps the slice that it was given, with what its owner writes into it later.
type keepsBytes struct{ approvals.Tx }

func (t keepsBytes) PutState(ws approvals.WorkspaceID, run approvals.RunID, d agent.Delta) error {
	m := t.Tx.(*memoryTx)
	err := m.PutState(ws, run, d)
	if err == nil && d.Count > 0 && bytes.Equal(d.Items, []byte(`[1]`)) {
		m.set(key("chunk", ws, string(run), number(uint64(d.From))), d.Items)
	}
	return err
}
