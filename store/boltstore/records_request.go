package boltstore

import (
	"bytes"
	"errors"
	"fmt"

	"countersign/approvals"
)

// A request is kept as two records under the same key: its head lies behind its run, because both are written together,
// and what it asks about is written once and lies in a bucket of its own. The bucket requests says whose a request is.
func requestKey(ws approvals.WorkspaceID, run approvals.RunID, id approvals.RequestID) []byte {
	return key(string(ws), string(run), string(id))
}

// runOf returns the run of a request that is there.
func (t *tx) runOf(ws approvals.WorkspaceID, id approvals.RequestID) (run approvals.RunID, found bool, err error) {
	if t.write && t.request.id == id && t.request.ws == ws && id != "" {
		return t.request.run, true, nil
	}
	prefix := key(string(ws), string(id))
	k := t.seek(bucketRequests, prefix)
	if !bytes.HasPrefix(k, prefix) {
		return "", false, t.cancelled()
	}
	run = approvals.RunID(lastPart(k))
	if t.write {
		t.request.ws, t.request.id, t.request.run = ws, id, run
	}
	return run, true, nil
}

// find is runOf with approvals.ErrNotFound for a request that is not there.
func (t *tx) find(ws approvals.WorkspaceID, id approvals.RequestID) (approvals.RunID, error) {
	run, found, err := t.runOf(ws, id)
	if err == nil && !found {
		err = approvals.ErrNotFound
	}
	return run, err
}

func (t *tx) Request(ws approvals.WorkspaceID, id approvals.RequestID) (r *approvals.Request, err error) {
	defer t.end(t.begin(), &err)
	if err := t.usable(false); err != nil {
		return nil, err
	}
	if r, err = t.readRequest(ws, id); err != nil {
		return nil, fmt.Errorf("request %s: %w", id, err)
	}
	return r, nil
}

func (t *tx) readRequest(ws approvals.WorkspaceID, id approvals.RequestID) (*approvals.Request, error) {
	run, err := t.find(ws, id)
	if err != nil {
		return nil, err
	}
	r, k := new(approvals.Request), requestKey(ws, run, id)
	err = errors.Join(t.indexed(bucketRuns, k, &r.RequestHead), t.indexed(bucketContents, k, &r.RequestContent))
	return r, err
}

func (t *tx) Requests(ws approvals.WorkspaceID, ids []approvals.RequestID) (list []*approvals.Request, err error) {
	defer t.end(t.begin(), &err)
	if err := t.usable(false); err != nil {
		return nil, err
	}
	for _, id := range ids {
		r, err := t.readRequest(ws, id)
		if errors.Is(err, approvals.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("request %s: %w", id, err)
		}
		list = append(list, r)
	}
	return list, nil
}

func (t *tx) RequestHead(ws approvals.WorkspaceID, id approvals.RequestID) (r *approvals.RequestHead, err error) {
	defer t.end(t.begin(), &err)
	if err := t.usable(false); err != nil {
		return nil, err
	}
	run, err := t.find(ws, id)
	var raw []byte
	if err == nil {
		r = new(approvals.RequestHead)
		raw, err = t.readIndexed(bucketRuns, requestKey(ws, run, id), r)
	}
	if err != nil {
		return nil, fmt.Errorf("request %s: %w", id, err)
	}
	if t.write {
		t.pending, t.pendingRaw = pendingOf(r), raw
	}
	return r, nil
}

func (t *tx) PutRequest(r *approvals.Request) (err error) {
	defer t.end(t.begin(), &err)
	if err := errors.Join(t.usable(true), identified("request", string(r.Workspace), string(r.ID))); err != nil {
		return err
	}
	run, found, err := t.runOf(r.Workspace, r.ID)
	if err == nil {
		err = t.putHead(&r.RequestHead, run, found)
	}
	if err == nil {
		err = t.put(bucketContents, requestKey(r.Workspace, r.Run, r.ID), &r.RequestContent)
	}
	if err != nil {
		return fmt.Errorf("put request %s: %w", r.ID, err)
	}
	return nil
}

func (t *tx) PutRequestHead(r *approvals.RequestHead) (err error) {
	defer t.end(t.begin(), &err)
	if err := errors.Join(t.usable(true), identified("request", string(r.Workspace), string(r.ID))); err != nil {
		return err
	}
	run, err := t.find(r.Workspace, r.ID)
	if err == nil {
		err = t.putHead(r, run, true)
	}
	if err != nil {
		return fmt.Errorf("put head of request %s: %w", r.ID, err)
	}
	return nil
}

// putHead writes the head of a request with its index entries. found says that the request is there, as one of that
// run.
func (t *tx) putHead(r *approvals.RequestHead, run approvals.RunID, found bool) error {
	if found && run != r.Run {
		if err := t.moveRequest(r, run); err != nil {
			return err
		}
		found = false
	}
	k := requestKey(r.Workspace, r.Run, r.ID)
	was, is := pendingFacts{}, pendingOf(r)
	var old []byte
	if found {
		var err error
		if was, old, err = t.pendingBefore(k, r); err != nil {
			return err
		}
	} else {
		if err := t.add(bucketRequests, key(string(r.Workspace), string(r.ID), string(r.Run))); err != nil {
			return err
		}
		t.request.ws, t.request.id, t.request.run = r.Workspace, r.ID, r.Run
	}
	raw := t.encode(bucketRuns, k, r)
	if err := t.replace(t.bucket(bucketRuns), k, old, raw); err != nil {
		return err
	}
	t.pending, t.pendingRaw = is, raw
	return t.reindexPending(was, is)
}

// pendingBefore returns what the pending indexes say of the request, and its head as it is stored.
func (t *tx) pendingBefore(k []byte, r *approvals.RequestHead) (was pendingFacts, raw []byte, err error) {
	if t.pending.ws == r.Workspace && t.pending.id == r.ID && t.pending.run == r.Run {
		return t.pending, t.pendingRaw, nil
	}
	head := new(approvals.RequestHead)
	raw, err = t.readIndexed(bucketRuns, k, head)
	return pendingOf(head), raw, err
}

// moveRequest takes a request away from a run that it is no longer of; what it asks about goes to its new run.
func (t *tx) moveRequest(r *approvals.RequestHead, from approvals.RunID) error {
	old := new(approvals.RequestHead)
	content := new(approvals.RequestContent)
	k := requestKey(r.Workspace, from, r.ID)
	if err := errors.Join(t.indexed(bucketRuns, k, old), t.indexed(bucketContents, k, content)); err != nil {
		return err
	}
	if err := t.dropRequest(old); err != nil {
		return err
	}
	return t.put(bucketContents, requestKey(r.Workspace, r.Run, r.ID), content)
}

func (t *tx) DeleteRequest(ws approvals.WorkspaceID, id approvals.RequestID) (err error) {
	defer t.end(t.begin(), &err)
	if err := t.usable(true); err != nil {
		return err
	}
	if err := t.deleteRequest(ws, id); err != nil {
		return fmt.Errorf("delete request %s: %w", id, err)
	}
	return nil
}

func (t *tx) deleteRequest(ws approvals.WorkspaceID, id approvals.RequestID) error {
	if err := t.drop(bucketCallbacks, key(string(ws), string(id))); err != nil {
		return err
	}
	run, found, err := t.runOf(ws, id)
	if err != nil || !found {
		return err
	}
	head := new(approvals.RequestHead)
	if err := t.indexed(bucketRuns, requestKey(ws, run, id), head); err != nil {
		return err
	}
	return t.dropRequest(head)
}

// dropRequest deletes a request with its index entries.
func (t *tx) dropRequest(r *approvals.RequestHead) error {
	t.request.id, t.pending, t.pendingRaw = "", pendingFacts{}, nil
	k := requestKey(r.Workspace, r.Run, r.ID)
	return errors.Join(t.reindexPending(pendingOf(r), pendingFacts{}),
		t.drop(bucketRequests, key(string(r.Workspace), string(r.ID), string(r.Run))),
		t.drop(bucketContents, k), t.drop(bucketRuns, k))
}
