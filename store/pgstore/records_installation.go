package pgstore

import (
	"errors"
	"fmt"

	"countersign/approvals"
)

const kindInstallation = "installation"

func (t *tx) Installation(ws approvals.WorkspaceID) (*approvals.Installation, error) {
	i, err := read[approvals.Installation](t, kindInstallation, []string{string(ws)},
		"select record from installations where workspace = $1", text(ws))
	if err != nil {
		return nil, fmt.Errorf("installation in %s: %w", ws, err)
	}
	return i, nil
}

func (t *tx) Installations(after approvals.WorkspaceID, limit int) ([]*approvals.Installation, error) {
	if err := t.usable(false); err != nil || limit <= 0 {
		return nil, err
	}
	return list[approvals.Installation](t, kindInstallation, nil, 1,
		"select workspace, record from installations where workspace > $1 order by workspace limit $2",
		text(after), limit)
}

var putInstallation = upsert("installations", 1, "workspace", "record")

func (t *tx) PutInstallation(i *approvals.Installation) error {
	if err := errors.Join(t.usable(true), identified("installation", string(i.Workspace))); err != nil {
		return err
	}
	data, err := t.sealed(i, kindInstallation, string(i.Workspace))
	if err != nil {
		return fmt.Errorf("put installation in %s: %w", i.Workspace, err)
	}
	t.later(putInstallation, text(i.Workspace), data)
	return nil
}
