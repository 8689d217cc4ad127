package boltstore

import (
	"errors"
	"fmt"
	"math"

	"countersign/approvals"
)

func (t *tx) Effect(ws approvals.WorkspaceID, run approvals.RunID, id string) (e *approvals.EffectRecord, err error) {
	defer t.end(t.begin(), &err)
	if err := t.usable(false); err != nil {
		return nil, err
	}
	e = new(approvals.EffectRecord)
	if err := t.get(bucketEffects, key(string(ws), string(run), id), e); err != nil {
		return nil, fmt.Errorf("effect %s of run %s: %w", id, run, err)
	}
	return e, nil
}

func (t *tx) PutEffect(e *approvals.EffectRecord) (err error) {
	defer t.end(t.begin(), &err)
	if err := errors.Join(t.usable(true), identified("effect", string(e.Workspace), string(e.Run), e.ID)); err != nil {
		return err
	}
	if err := t.put(bucketEffects, key(string(e.Workspace), string(e.Run), e.ID), e); err != nil {
		return fmt.Errorf("put effect %s of run %s: %w", e.ID, e.Run, err)
	}
	return nil
}

func (t *tx) EffectsOfRun(ws approvals.WorkspaceID, run approvals.RunID) (
	list []*approvals.EffectRecord, err error,
) {
	defer t.end(t.begin(), &err)
	if err := t.usable(false); err != nil {
		return nil, err
	}
	err = collect(t, &list, bucketEffects, key(string(ws), string(run)), nil, math.MaxInt)
	return list, err
}
