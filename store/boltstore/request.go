package boltstore

import (
	"errors"
	"fmt"

	"countersign/approvals"
)

func (t *tx) Request(ws approvals.WorkspaceID, id approvals.RequestID) (r *approvals.Request, err error) {
	defer t.end(t.begin(), &err)
	if err := t.usable(false); err != nil {
		return nil, err
	}
	r = new(approvals.Request)
	if err := t.get(bucketRequests, key(string(ws), string(id)), r); err != nil {
		return nil, fmt.Errorf("request %s: %w", id, err)
	}
	return r, nil
}

func (t *tx) PutRequest(r *approvals.Request) (err error) {
	defer t.end(t.begin(), &err)
	if err := errors.Join(t.usable(true), identified("request", string(r.Workspace), string(r.ID))); err != nil {
		return err
	}
	k := key(string(r.Workspace), string(r.ID))
	var old []indexEntry
	var was requestIndex
	switch err := t.get(bucketRequests, k, &was); {
	case err == nil:
		old = was.entries(r.Workspace, r.ID)
	case !errors.Is(err, approvals.ErrNotFound):
		return fmt.Errorf("put request %s: %w", r.ID, err)
	}
	if err := t.put(bucketRequests, k, r); err != nil {
		return fmt.Errorf("put request %s: %w", r.ID, err)
	}
	is := requestIndex{Run: r.Run, Status: r.Status}
	return t.reindex(old, is.entries(r.Workspace, r.ID))
}

func (t *tx) PendingRequests(ws approvals.WorkspaceID, after approvals.RequestID, limit int) (list []*approvals.Request, err error) {
	defer t.end(t.begin(), &err)
	prefix := key(string(ws))
	from := prefix
	if after != "" {
		from = append(key(string(ws), string(after)), 0) // right behind it
	}
	return t.requests(ws, bucketPending, prefix, from, max(limit, 0))
}

func (t *tx) RequestsOfRun(ws approvals.WorkspaceID, run approvals.RunID) (list []*approvals.Request, err error) {
	defer t.end(t.begin(), &err)
	return t.requests(ws, bucketOfRun, key(string(ws), string(run)), nil, -1)
}

// requests reads the requests that the index names, at most limit unless that is negative.
func (t *tx) requests(ws approvals.WorkspaceID, index, prefix, from []byte, limit int) ([]*approvals.Request, error) {
	if err := t.usable(false); err != nil {
		return nil, err
	}
	var list []*approvals.Request
	err := t.scan(index, prefix, from, func(k, _ []byte) (bool, error) {
		if len(list) == limit {
			return false, nil
		}
		r := new(approvals.Request)
		list = append(list, r)
		return true, t.indexed(bucketRequests, key(string(ws), lastPart(k)), r)
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}
