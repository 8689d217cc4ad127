package pgstore

import (
	"errors"
	"fmt"

	"countersign/approvals"
)

const kindEffect = "effect"

var (
	readEffect  = readBy("effect_records", "record", "", "workspace", "run", "id")
	readEffects = readBy("effect_records", "id, record", "id", "workspace", "run")
)

func (t *tx) Effect(ws approvals.WorkspaceID, run approvals.RunID, id string) (*approvals.EffectRecord, error) {
	e, err := read[approvals.EffectRecord](t, readEffect, kindEffect, []string{string(ws), string(run), id},
		text(ws), text(run), text(id))
	if err != nil {
		return nil, fmt.Errorf("effect %s of run %s: %w", id, run, err)
	}
	return e, nil
}

var putEffect = upsert("effect_records", 3, "workspace", "run", "id", "request", "by_grant", "agent", "tool",
	"attempt bigint", "outcome", "digest bytea", "intent timestamptz", "done timestamptz", "record bytea")

func (t *tx) PutEffect(e *approvals.EffectRecord) error {
	if err := errors.Join(t.usable(true), identified("effect", string(e.Workspace), string(e.Run), e.ID)); err != nil {
		return err
	}
	data, err := t.sealed(e, kindEffect, string(e.Workspace), string(e.Run), e.ID)
	if err != nil {
		return fmt.Errorf("put effect %s of run %s: %w", e.ID, e.Run, err)
	}
	t.changes(effectsOf(e.Workspace, e.Run))
	t.put(putEffect, nil, text(e.Workspace), text(e.Run), text(e.ID), text(e.Request), text(e.Grant), text(e.Agent),
		text(e.Tool), int64(e.Attempt), text(e.Outcome()), digest(e.Digest), e.Intent, e.Done, data)
	return nil
}

func (t *tx) EffectsOfRun(ws approvals.WorkspaceID, run approvals.RunID) ([]*approvals.EffectRecord, error) {
	of := []string{effectsOf(ws, run)}
	return listBy[approvals.EffectRecord](t, readEffects, of, kindEffect, []string{string(ws), string(run)},
		text(ws), text(run))
}
