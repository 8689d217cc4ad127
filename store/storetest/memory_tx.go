package storetest

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"time"

	"countersign/agent"
	"countersign/approvals"
)

// anything is the match that takes everything.
func anything[T any](*T) bool { return true }

func of(ws approvals.WorkspaceID) func(row) bool { return func(r row) bool { return r.ws == ws } }

func placeRow(ws approvals.WorkspaceID, p approvals.Place) row {
	return row{ws: ws, a: p.Surface, b: p.Channel, c: p.Thread}
}

// within returns the keys that place starts.
func within(place row) func(row) bool {
	return func(r row) bool { return r.ws == place.ws && r.a == place.a && r.b == place.b && r.c == place.c }
}

func (t *memoryTx) Run(ws approvals.WorkspaceID, id approvals.RunID) (*approvals.Run, error) {
	r := new(approvals.Run)
	return r, t.get("run", row{ws: ws, a: string(id)}, r)
}

func (t *memoryTx) PutRun(r *approvals.Run) error {
	return t.put("run", row{ws: r.Workspace, a: string(r.ID)}, r, string(r.ID))
}

func (t *memoryTx) ActiveRun(ws approvals.WorkspaceID, p approvals.Place) (*approvals.Run, error) {
	runs, err := list(t, "run", 1, of(ws), func(r *approvals.Run) bool {
		return !r.Status.Ended() && placeRow(ws, r.Place) == placeRow(ws, p)
	})
	if err == nil && len(runs) == 0 {
		err = approvals.ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	return runs[0], nil
}

func (t *memoryTx) ActiveRuns(ws approvals.WorkspaceID, requester approvals.UserID, channel string) (int, error) {
	runs, err := list(t, "run", math.MaxInt, of(ws), func(r *approvals.Run) bool {
		return !r.Status.Ended() && (requester == "" || r.Requester == requester) &&
			(channel == "" && requester != "" || r.Place.Channel == channel)
	})
	return len(runs), err
}

func (t *memoryTx) Once(ws approvals.WorkspaceID, key string, now time.Time) (bool, error) {
	at := row{ws: ws, a: key}
	if _, seen := t.tables["once"][at]; seen {
		return false, t.usable(true)
	}
	err := t.put("once", at, now, key)
	return err == nil, err
}

func (t *memoryTx) State(ws approvals.WorkspaceID, run approvals.RunID) (json.RawMessage, []json.RawMessage, error) {
	if err := t.usable(false); err != nil {
		return nil, nil, err
	}
	at := row{ws: ws, a: string(run)}
	head, ok := t.tables["state"][at]
	if !ok {
		return nil, nil, approvals.ErrNotFound
	}
	return bytes.Clone(head), t.chunks("chunk", within(at)), nil
}

func (t *memoryTx) chunks(kind string, match func(row) bool) []json.RawMessage {
	var chunks []json.RawMessage
	for _, r := range t.rows(kind, match) {
		chunks = append(chunks, bytes.Clone(t.tables[kind][r]))
	}
	return chunks
}

func (t *memoryTx) PutState(ws approvals.WorkspaceID, run approvals.RunID, d agent.Delta) error {
	if d.From < 0 || d.Count < 0 {
		return approvals.ErrInvalid
	}
	at := row{ws: ws, a: string(run)}
	if err := t.putRaw("state", at, d.Head, string(run)); err != nil || d.Count == 0 {
		return err
	}
	t.deleteChunks(at, uint64(d.From))
	at.n = uint64(d.From)
	return t.putRaw("chunk", at, d.Items)
}

func (t *memoryTx) deleteChunks(at row, from uint64) {
	for _, r := range t.rows("chunk", within(at)) {
		if r.n >= from {
			delete(t.tables["chunk"], r)
		}
	}
}

func (t *memoryTx) DeleteState(ws approvals.WorkspaceID, run approvals.RunID) error {
	if err := t.usable(true); err != nil {
		return err
	}
	at := row{ws: ws, a: string(run)}
	delete(t.tables["state"], at)
	t.deleteChunks(at, 0)
	return nil
}

func (t *memoryTx) Request(ws approvals.WorkspaceID, id approvals.RequestID) (*approvals.Request, error) {
	r := new(approvals.Request)
	return r, t.get("request", row{ws: ws, a: string(id)}, r)
}

func (t *memoryTx) PutRequest(r *approvals.Request) error {
	return t.put("request", row{ws: r.Workspace, a: string(r.ID)}, r, string(r.ID))
}

func (t *memoryTx) PendingRequests(ws approvals.WorkspaceID, after approvals.RequestID, limit int) ([]*approvals.Request, error) {
	behind := func(r row) bool { return r.ws == ws && r.a > string(after) }
	return list(t, "request", limit, behind, func(r *approvals.Request) bool { return r.Status == approvals.RequestPending })
}

func (t *memoryTx) RequestsOfRun(ws approvals.WorkspaceID, run approvals.RunID) ([]*approvals.Request, error) {
	return list(t, "request", math.MaxInt, of(ws), func(r *approvals.Request) bool { return r.Run == run })
}

func (t *memoryTx) Effect(ws approvals.WorkspaceID, run approvals.RunID, id string) (*approvals.EffectRecord, error) {
	e := new(approvals.EffectRecord)
	return e, t.get("effect", row{ws: ws, a: string(run), b: id}, e)
}

func (t *memoryTx) PutEffect(e *approvals.EffectRecord) error {
	return t.put("effect", row{ws: e.Workspace, a: string(e.Run), b: e.ID}, e, string(e.Run), e.ID)
}

func (t *memoryTx) AuditHead(ws approvals.WorkspaceID) (*approvals.AuditEntry, error) {
	if err := t.usable(false); err != nil {
		return nil, err
	}
	newest := row{ws: ws, n: 1} // there are no gaps
	for r := range t.tables["audit"] {
		if r.ws == ws && r.n > newest.n {
			newest = r
		}
	}
	e := new(approvals.AuditEntry)
	return e, t.get("audit", newest, e)
}

func (t *memoryTx) PutAudit(e *approvals.AuditEntry) error {
	head, err := t.AuditHead(e.Workspace)
	switch {
	case errors.Is(err, approvals.ErrNotFound):
		head = new(approvals.AuditEntry)
	case err != nil:
		return err
	}
	if e.Seq != head.Seq+1 {
		return approvals.ErrInvalid
	}
	return t.put("audit", row{ws: e.Workspace, n: e.Seq}, e)
}

func (t *memoryTx) AuditEntries(ws approvals.WorkspaceID, seq uint64, limit int) ([]*approvals.AuditEntry, error) {
	return list(t, "audit", limit, func(r row) bool { return r.ws == ws && r.n >= seq }, anything[approvals.AuditEntry])
}

func (t *memoryTx) AuditWorkspaces() ([]approvals.WorkspaceID, error) {
	var workspaces []approvals.WorkspaceID
	for _, r := range t.rows("audit", func(r row) bool { return r.n == 1 }) {
		workspaces = append(workspaces, r.ws)
	}
	return workspaces, t.usable(false)
}

func notificationRow(n *approvals.Notification) row {
	r := placeRow(n.Workspace, n.Place)
	r.d = string(n.ID)
	return r
}

func (t *memoryTx) PutNotification(n *approvals.Notification) error {
	return t.put("notification", notificationRow(n), n, string(n.ID))
}

func (t *memoryTx) Notifications(ws approvals.WorkspaceID, p approvals.Place, limit int) ([]*approvals.Notification, error) {
	return list(t, "notification", limit, within(placeRow(ws, p)), anything[approvals.Notification])
}

func (t *memoryTx) DeleteNotification(n *approvals.Notification) error {
	delete(t.tables["notification"], notificationRow(n))
	return t.usable(true)
}

func (t *memoryTx) Session(ws approvals.WorkspaceID, p approvals.Place) ([]json.RawMessage, error) {
	return t.chunks("session", within(placeRow(ws, p))), t.usable(false)
}

func (t *memoryTx) AppendSession(ws approvals.WorkspaceID, p approvals.Place, key string, items json.RawMessage) error {
	at := placeRow(ws, p)
	seen := at
	seen.d = key
	if _, again := t.tables["session key"][seen]; again {
		return t.usable(true)
	}
	if err := t.putRaw("session key", seen, nil, key); err != nil {
		return err
	}
	at.n = uint64(len(t.rows("session", within(at))))
	return t.putRaw("session", at, items)
}
