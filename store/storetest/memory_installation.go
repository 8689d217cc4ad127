package storetest

import "countersign/approvals"

// installed is how the memory keeps an installation: its token does not show itself.
type installed struct {
	approvals.Installation
	Secret string
}

func (i *installed) record() *approvals.Installation {
	i.Token = approvals.BotToken(i.Secret)
	return &i.Installation
}

func (t *memoryTx) Installation(ws approvals.WorkspaceID) (*approvals.Installation, error) {
	i, err := get[installed](t, key("installation", ws))
	if err != nil {
		return nil, err
	}
	return i.record(), nil
}

func (t *memoryTx) Installations(after approvals.WorkspaceID, limit int) ([]*approvals.Installation, error) {
	page, err := list(t, everywhere("installation"), limit, func(i *installed) bool { return i.Workspace > after })
	var all []*approvals.Installation
	for _, i := range page {
		all = append(all, i.record())
	}
	return all, err
}

func (t *memoryTx) PutInstallation(i *approvals.Installation) error {
	if err := identified(i.Workspace); err != nil {
		return err
	}
	return t.put(key("installation", i.Workspace), installed{*i, i.Token.Reveal()})
}
