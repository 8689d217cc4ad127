package storetest

import "countersign/approvals"

// keepsInstalled keeps the first token of a workspace.
type keepsInstalled struct{ approvals.Tx }

func (t keepsInstalled) PutInstallation(i *approvals.Installation) error {
	kept := *i
	if old, err := t.Installation(i.Workspace); err == nil {
		kept.Token = old.Token
	}
	return t.Tx.PutInstallation(&kept)
}

// sharesInstallations gives every workspace the installation of the first.
type sharesInstallations struct{ approvals.Tx }

func (t sharesInstallations) Installation(ws approvals.WorkspaceID) (*approvals.Installation, error) {
	if all, err := t.Tx.Installations("", 1); err == nil && len(all) == 1 {
		return all[0], nil
	}
	return t.Tx.Installation(ws)
}

// listsInstallationsAgain begins every page with the one that it is to go on behind.
type listsInstallationsAgain struct{ approvals.Tx }

func (t listsInstallationsAgain) Installations(
	after approvals.WorkspaceID, limit int,
) ([]*approvals.Installation, error) {
	page, err := t.Tx.Installations(after, limit)
	if again, missing := t.Tx.Installation(after); missing == nil && len(page) > 0 {
		page = append([]*approvals.Installation{again}, page...)[:limit]
	}
	return page, err
}
