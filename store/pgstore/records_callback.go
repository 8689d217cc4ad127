package pgstore

import (
	"errors"
	"fmt"

	"countersign/approvals"
)

const kindCallback = "callback"

func (t *tx) Callback(ws approvals.WorkspaceID, id approvals.RequestID) (*approvals.Callback, error) {
	k, err := read[approvals.Callback](t, readCallback, kindCallback, []string{string(ws), string(id)}, text(ws),
		text(id))
	if err != nil {
		return nil, fmt.Errorf("callback of request %s: %w", id, err)
	}
	return k, nil
}

var (
	putCallback  = upsert("callbacks", 2, "workspace", "request", "record bytea")
	readCallback = readBy("callbacks", "record", "", "workspace", "request")
)

func (t *tx) PutCallback(k *approvals.Callback) error {
	err := errors.Join(t.usable(true), identified("callback", string(k.Workspace), string(k.Request)))
	if err != nil {
		return err
	}
	data, err := t.sealed(k, kindCallback, string(k.Workspace), string(k.Request))
	if err != nil {
		return fmt.Errorf("put callback of request %s: %w", k.Request, err)
	}
	t.put(putCallback, nil, text(k.Workspace), text(k.Request), data)
	return nil
}
