package storetest

import (
	"errors"
	"math"

	"countersign/approvals"
)

// A request is kept as two records: its head, and what it asks about ("content").

func (t *memoryTx) Request(ws approvals.WorkspaceID, id approvals.RequestID) (*approvals.Request, error) {
	head, err := t.RequestHead(ws, id)
	if err != nil {
		return nil, err
	}
	content, err := get[approvals.RequestContent](t, key("content", ws, string(id)))
	if err != nil {
		return nil, err
	}
	return &approvals.Request{RequestHead: *head, RequestContent: *content}, nil
}

func (t *memoryTx) Requests(ws approvals.WorkspaceID, ids []approvals.RequestID) ([]*approvals.Request, error) {
	if err := t.reading(); err != nil {
		return nil, err
	}
	var found []*approvals.Request
	for _, id := range ids {
		r, err := t.Request(ws, id)
		if errors.Is(err, approvals.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		found = append(found, r)
	}
	return found, nil
}

func (t *memoryTx) RequestHead(ws approvals.WorkspaceID, id approvals.RequestID) (*approvals.RequestHead, error) {
	return get[approvals.RequestHead](t, key("request", ws, string(id)))
}

func (t *memoryTx) PutRequest(r *approvals.Request) error {
	if err := identified(r.Workspace, string(r.ID)); err != nil {
		return err
	}
	err := t.put(key("request", r.Workspace, string(r.ID)), &r.RequestHead)
	if err != nil {
		return err
	}
	return t.put(key("content", r.Workspace, string(r.ID)), &r.RequestContent)
}

func (t *memoryTx) PutRequestHead(r *approvals.RequestHead) error {
	if err := identified(r.Workspace, string(r.ID)); err != nil {
		return err
	}
	data, err := marshal(r)
	if err != nil {
		return err
	}
	k := key("request", r.Workspace, string(r.ID))
	return t.change(func() error {
		if t.root.get(k) == nil {
			return approvals.ErrNotFound
		}
		t.set(k, data)
		return nil
	})
}

func (t *memoryTx) QueryRequests(q approvals.RequestQuery) ([]*approvals.RequestHead, approvals.RequestID, error) {
	if err := t.reading(); err != nil || q.Limit <= 0 {
		return nil, "", err
	}
	var page []*approvals.RequestHead
	var last approvals.RequestID
	looked := 0
	for v := range t.ordered("request", q.Workspace, string(q.After), q.Newest) {
		r := look[approvals.RequestHead](v)
		if q.Status == approvals.RequestPending && r.Status != approvals.RequestPending {
			continue // as an index would: decided requests cost nothing
		}
		if len(page) == q.Limit || looked == t.looks {
			return page, last, nil
		}
		looked++
		last = r.ID
		if !q.Matches(r) {
			continue
		}
		own, err := decode[approvals.RequestHead](v)
		if err != nil {
			return nil, "", err
		}
		page = append(page, own)
	}
	return page, "", nil
}

func (t *memoryTx) RequestsOfRun(ws approvals.WorkspaceID, run approvals.RunID) ([]*approvals.RequestHead, error) {
	return list(t, key("request", ws), math.MaxInt, func(r *approvals.RequestHead) bool { return r.Run == run })
}

func (t *memoryTx) RequestsOfRuns(
	ws approvals.WorkspaceID, runs []approvals.RunID,
) (list []*approvals.RequestHead, err error) {
	err = t.reading()
	for _, run := range runs {
		of, err := t.RequestsOfRun(ws, run)
		if err != nil {
			return nil, err
		}
		list = append(list, of...)
	}
	return list, err
}

func (t *memoryTx) PendingOf(ws approvals.WorkspaceID, requester approvals.UserID) (int, error) {
	n := 0
	err := t.reading()
	for range matching(t, key("request", ws), func(r *approvals.RequestHead) bool {
		return r.Status == approvals.RequestPending && r.Requester == requester
	}) {
		n++
	}
	return n, err
}

func (t *memoryTx) DeleteRequest(ws approvals.WorkspaceID, id approvals.RequestID) error {
	return t.change(func() error {
		t.remove(key("request", ws, string(id)))
		t.remove(key("content", ws, string(id)))
		t.remove(key("callback", ws, string(id)))
		return nil
	})
}

func (t *memoryTx) Effect(ws approvals.WorkspaceID, run approvals.RunID, id string) (*approvals.EffectRecord, error) {
	return get[approvals.EffectRecord](t, key("effect", ws, string(run), id))
}

func (t *memoryTx) PutEffect(e *approvals.EffectRecord) error {
	if err := identified(e.Workspace, string(e.Run), e.ID); err != nil {
		return err
	}
	return t.put(key("effect", e.Workspace, string(e.Run), e.ID), e)
}

func (t *memoryTx) EffectsOfRun(ws approvals.WorkspaceID, run approvals.RunID) ([]*approvals.EffectRecord, error) {
	return list(t, key("effect", ws, string(run)), math.MaxInt, anything[approvals.EffectRecord])
}

func (t *memoryTx) Callback(ws approvals.WorkspaceID, id approvals.RequestID) (*approvals.Callback, error) {
	return get[approvals.Callback](t, key("callback", ws, string(id)))
}

func (t *memoryTx) PutCallback(k *approvals.Callback) error {
	if err := identified(k.Workspace, string(k.Request)); err != nil {
		return err
	}
	return t.put(key("callback", k.Workspace, string(k.Request)), k)
}
