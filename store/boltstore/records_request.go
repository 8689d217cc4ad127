package boltstore

import (
	"errors"
	"fmt"

	"countersign/approvals"
)

// A request lies behind its run, because both are written together. Its key does not change: the bucket requests says
// whose it is.
func requestKey(ws approvals.WorkspaceID, run approvals.RunID, id approvals.RequestID) []byte {
	return key(string(ws), string(run), string(id))
}

// runOf returns the run of a request that is there.
func (t *tx) runOf(ws approvals.WorkspaceID, id approvals.RequestID) (run approvals.RunID, found bool, err error) {
	if t.request.id == id && t.request.ws == ws && id != "" {
		return t.request.run, true, nil
	}
	err = t.scan(bucketRequests, key(string(ws), string(id)), nil, func(k, _ []byte) (bool, error) {
		run, found = approvals.RunID(lastPart(k)), true
		return false, nil
	})
	if found {
		t.request.ws, t.request.id, t.request.run = ws, id, run
	}
	return run, found, err
}

func (t *tx) Request(ws approvals.WorkspaceID, id approvals.RequestID) (r *approvals.Request, err error) {
	defer t.end(t.begin(), &err)
	if err := t.usable(false); err != nil {
		return nil, err
	}
	run, found, err := t.runOf(ws, id)
	switch {
	case err != nil:
		return nil, err
	case !found:
		return nil, fmt.Errorf("request %s: %w", id, approvals.ErrNotFound)
	}
	r = new(approvals.Request)
	if err := t.indexed(bucketRuns, requestKey(ws, run, id), r); err != nil {
		return nil, fmt.Errorf("request %s: %w", id, err)
	}
	return r, nil
}

func (t *tx) PutRequest(r *approvals.Request) (err error) {
	defer t.end(t.begin(), &err)
	if err := errors.Join(t.usable(true), identified("request", string(r.Workspace), string(r.ID))); err != nil {
		return err
	}
	if err := t.putRequest(r); err != nil {
		return fmt.Errorf("put request %s: %w", r.ID, err)
	}
	return nil
}

func (t *tx) putRequest(r *approvals.Request) error {
	run, found, err := t.runOf(r.Workspace, r.ID)
	if err != nil {
		return err
	}
	if found && run != r.Run {
		if err := t.dropRequest(r.Workspace, run, r.ID); err != nil {
			return err
		}
		found = false
	}
	k := key(string(r.Workspace), string(r.ID), string(r.Run))
	if !found {
		if err := t.mark(bucketRequests, k); err != nil {
			return err
		}
		t.request.ws, t.request.id, t.request.run = r.Workspace, r.ID, r.Run
	}
	pending := r.Status == approvals.RequestPending
	switch {
	case !pending:
		err = t.drop(bucketPending, k)
	case !found || !t.has(bucketPending, k):
		err = t.mark(bucketPending, k)
	}
	return errors.Join(err, t.put(bucketRuns, requestKey(r.Workspace, r.Run, r.ID), r))
}

// dropRequest deletes a request of that run with its index entries.
func (t *tx) dropRequest(ws approvals.WorkspaceID, run approvals.RunID, id approvals.RequestID) error {
	k := key(string(ws), string(id), string(run))
	return errors.Join(t.drop(bucketRequests, k), t.drop(bucketPending, k), t.drop(bucketRuns, requestKey(ws, run, id)))
}

func (t *tx) PendingRequests(ws approvals.WorkspaceID, after approvals.RequestID, limit int) (list []*approvals.Request, err error) {
	defer t.end(t.begin(), &err)
	if err := t.usable(false); err != nil {
		return nil, err
	}
	from := key(string(ws))
	if after != "" {
		from = behind(key(string(ws), string(after))) // whatever its run
	}
	err = t.scan(bucketPending, key(string(ws)), from, func(k, _ []byte) (bool, error) {
		if len(list) >= limit {
			return false, nil
		}
		_, rest, _ := cutPart(k)
		id, rest, _ := cutPart(rest)
		run, _, ok := cutPart(rest)
		if !ok {
			return false, t.damaged(fmt.Errorf("%s %q: unreadable key", bucketPending, k))
		}
		r := new(approvals.Request)
		list = append(list, r)
		return true, t.indexed(bucketRuns, requestKey(ws, approvals.RunID(run), approvals.RequestID(id)), r)
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

func (t *tx) RequestsOfRun(ws approvals.WorkspaceID, run approvals.RunID) (list []*approvals.Request, err error) {
	defer t.end(t.begin(), &err)
	if err := t.usable(false); err != nil {
		return nil, err
	}
	prefix := key(string(ws), string(run))
	err = t.scan(bucketRuns, prefix, nil, func(k, v []byte) (bool, error) {
		if len(k) == len(prefix) { // the run itself
			return true, nil
		}
		r := new(approvals.Request)
		list = append(list, r)
		return true, t.decode(bucketRuns, k, v, r)
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}
