package storetest

import "countersign/approvals"

func (t *memoryTx) Installation(ws approvals.WorkspaceID) (*approvals.Installation, error) {
	return get[approvals.Installation](t, key("installation", ws))
}

func (t *memoryTx) Installations(after approvals.WorkspaceID, limit int) ([]*approvals.Installation, error) {
	return list(t, everywhere("installation"), limit, func(i *approvals.Installation) bool {
		return i.Workspace > after
	})
}

func (t *memoryTx) PutInstallation(i *approvals.Installation) error {
	if err := identified(i.Workspace); err != nil {
		return err
	}
	return t.put(key("installation", i.Workspace), i)
}
