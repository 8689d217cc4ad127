package boltstore

import (
	"errors"
	"fmt"

	"countersign/approvals"
)

func (t *tx) Installation(ws approvals.WorkspaceID) (i *approvals.Installation, err error) {
	defer t.end(t.begin(), &err)
	if err := t.usable(false); err != nil {
		return nil, err
	}
	i = new(approvals.Installation)
	if err := t.get(bucketInstallations, key(string(ws)), i); err != nil {
		return nil, fmt.Errorf("installation in %s: %w", ws, err)
	}
	return i, nil
}

func (t *tx) Installations(after approvals.WorkspaceID, limit int) (page []*approvals.Installation, err error) {
	defer t.end(t.begin(), &err)
	if err := t.usable(false); err != nil {
		return nil, err
	}
	var from []byte
	if after != "" {
		from = behind(key(string(after)))
	}
	err = collect(t, &page, bucketInstallations, nil, from, limit)
	return page, err
}

func (t *tx) PutInstallation(i *approvals.Installation) (err error) {
	defer t.end(t.begin(), &err)
	if err := errors.Join(t.usable(true), identified("installation", string(i.Workspace))); err != nil {
		return err
	}
	if err := t.put(bucketInstallations, key(string(i.Workspace)), i); err != nil {
		return fmt.Errorf("put installation in %s: %w", i.Workspace, err)
	}
	return nil
}
