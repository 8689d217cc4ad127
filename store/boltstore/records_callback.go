package boltstore

import (
	"errors"
	"fmt"

	"countersign/approvals"
)

func (t *tx) Callback(ws approvals.WorkspaceID, id approvals.RequestID) (k *approvals.Callback, err error) {
	defer t.end(t.begin(), &err)
	if err := t.usable(false); err != nil {
		return nil, err
	}
	k = new(approvals.Callback)
	if err := t.get(bucketCallbacks, key(string(ws), string(id)), k); err != nil {
		return nil, fmt.Errorf("callback of request %s: %w", id, err)
	}
	return k, nil
}

func (t *tx) PutCallback(k *approvals.Callback) (err error) {
	defer t.end(t.begin(), &err)
	err = errors.Join(t.usable(true), identified("callback", string(k.Workspace), string(k.Request)))
	if err != nil {
		return err
	}
	if err := t.put(bucketCallbacks, key(string(k.Workspace), string(k.Request)), k); err != nil {
		return fmt.Errorf("put callback of request %s: %w", k.Request, err)
	}
	return nil
}
