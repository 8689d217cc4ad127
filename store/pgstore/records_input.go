package pgstore

import (
	"errors"
	"fmt"

	"countersign/approvals"
)

const kindInput = "input"

var (
	putInput    = upsert("inputs", 5, "workspace", "surface", "channel", "thread", "id", "record bytea")
	removeInput = remove("inputs", "workspace", "surface", "channel", "thread", "id")
)

func (t *tx) PutInput(in *approvals.QueuedInput) error {
	if err := errors.Join(t.usable(true), identified("input", string(in.Workspace), string(in.ID))); err != nil {
		return err
	}
	data, err := t.sealed(in, kindInput, append(placeKey(in.Workspace, in.Place), string(in.ID))...)
	if err != nil {
		return fmt.Errorf("put input %s: %w", in.ID, err)
	}
	t.changes(inputsAt(in.Workspace, in.Place))
	t.put(putInput, nil, placeArgs(in.Workspace, in.Place, text(in.ID), data)...)
	return nil
}

// placeKey begins the key of what lies in a place. Direct is no part of it.
func placeKey(ws approvals.WorkspaceID, p approvals.Place) []string {
	return []string{string(ws), p.Surface, p.Channel, p.Thread}
}

func (t *tx) Inputs(ws approvals.WorkspaceID, p approvals.Place, limit int) ([]*approvals.QueuedInput, error) {
	if err := t.usable(false); err != nil || limit <= 0 {
		return nil, err
	}
	at := []string{inputsAt(ws, p)}
	return listOf[approvals.QueuedInput](t, at, kindInput, placeKey(ws, p), 1, `select id, record from inputs
		where workspace = $1 and surface = $2 and channel = $3 and thread = $4 order by id limit $5`,
		placeArgs(ws, p, limit)...)
}

func (t *tx) DeleteInput(in *approvals.QueuedInput) error {
	if err := t.usable(true); err != nil {
		return err
	}
	t.changes(inputsAt(in.Workspace, in.Place))
	t.put(removeInput, nil, placeArgs(in.Workspace, in.Place, text(in.ID))...)
	return nil
}
