package pgstore

import (
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"countersign/approvals"
)

const kindInstallation = "installation"

// installed is an installation with its token, which its own JSON leaves out.
type installed struct {
	approvals.Installation
	Token string `json:"token,omitempty"`
}

func (i *installed) record() *approvals.Installation {
	i.Installation.Token = approvals.BotToken(i.Token)
	return &i.Installation
}

var readInstallation = readBy("installations", "record", "", "workspace")

func (t *tx) Installation(ws approvals.WorkspaceID) (*approvals.Installation, error) {
	i, err := read[installed](t, readInstallation, kindInstallation, []string{string(ws)}, text(ws))
	if err != nil {
		return nil, fmt.Errorf("installation in %s: %w", ws, err)
	}
	return i.record(), nil
}

func (t *tx) Installations(after approvals.WorkspaceID, limit int) (page []*approvals.Installation, err error) {
	if err := t.usable(false); err != nil || limit <= 0 {
		return nil, err
	}
	err = t.query(func(rows pgx.Rows) error {
		i := new(installed)
		err := t.scanRecord(rows, i, kindInstallation, nil, 1)
		page = append(page, i.record())
		return err
	}, "select workspace, record from installations where workspace > $1 order by workspace limit $2",
		text(after), limit)
	if err != nil {
		return nil, err
	}
	return page, nil
}

var putInstallation = upsert("installations", 1, "workspace", "record bytea")

func (t *tx) PutInstallation(i *approvals.Installation) error {
	if err := errors.Join(t.usable(true), identified("installation", string(i.Workspace))); err != nil {
		return err
	}
	data, err := t.sealed(installed{*i, i.Token.Reveal()}, kindInstallation, string(i.Workspace))
	if err != nil {
		return fmt.Errorf("put installation in %s: %w", i.Workspace, err)
	}
	t.put(putInstallation, nil, text(i.Workspace), data)
	return nil
}
