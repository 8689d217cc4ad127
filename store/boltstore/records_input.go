package boltstore

import (
	"errors"
	"fmt"

	"countersign/approvals"
)

func inputKey(in *approvals.QueuedInput) []byte {
	return appendPart(placeKey(in.Workspace, in.Place), string(in.ID))
}

func (t *tx) PutInput(in *approvals.QueuedInput) (err error) {
	defer t.end(t.begin(), &err)
	if err := errors.Join(t.usable(true), identified("input", string(in.Workspace), string(in.ID))); err != nil {
		return err
	}
	if err := t.put(bucketInputs, inputKey(in), in); err != nil {
		return fmt.Errorf("put input %s: %w", in.ID, err)
	}
	return nil
}

func (t *tx) Inputs(ws approvals.WorkspaceID, p approvals.Place, limit int) (
	list []*approvals.QueuedInput, err error,
) {
	defer t.end(t.begin(), &err)
	if err := t.usable(false); err != nil {
		return nil, err
	}
	err = collect(t, &list, bucketInputs, placeKey(ws, p), nil, limit)
	return list, err
}

func (t *tx) DeleteInput(in *approvals.QueuedInput) (err error) {
	defer t.end(t.begin(), &err)
	if err := t.usable(true); err != nil {
		return err
	}
	return t.drop(bucketInputs, inputKey(in))
}
